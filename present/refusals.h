/* What every form says of a run's refusals: the share of premature ones, and the largest request
 * that would have been served. */
#ifndef PRESENT_REFUSALS_H
#define PRESENT_REFUSALS_H

#include "harness/base/writing.h"
#include "harness/oracle/largest.h"
#include "harness/run/totals.h"

/* Those that were judged: justified or premature.  Unknown ones and those not judged are left out.
 */
uint64_t refusals_judged(const struct run_totals *totals);

/* "12 of 3400 judged were premature (0.35 %)". */
void refusals_append_share(struct writing *text, const struct run_totals *totals);
/* "storm: refusals: 12 of 3400 judged were premature (0.35 %)" and the end of the line; nothing
 * when none was premature.  name NULL: of the whole run. */
void refusals_append_line(struct writing *text, const char *name, const struct run_totals *totals);
/* The member premature_share. */
void refusals_add_share(struct writing *text, const struct run_totals *totals);

/* "63.00M (66060288 bytes) would have been served", and what is said of a bound or of nothing. */
void refusals_append_largest(struct writing *text, const struct oracle_largest *largest);
/* The member largest_served_bytes, and largest_served_at_least when it is a bound; NULL: neither.
 */
void refusals_add_largest(struct writing *text, const struct oracle_largest *largest);

#endif
