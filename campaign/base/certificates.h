/* Certificates of a run's out-of-memories: given to the independent checker, and written
 * to files that are there whole or not at all. */
#ifndef CAMPAIGN_BASE_CERTIFICATES_H
#define CAMPAIGN_BASE_CERTIFICATES_H

#include "checker/certificate_check.h"
#include "harness/base/writing.h"
#include "harness/run/run.h"

/* 512: for a certificate the OOM is judged anew, printed and read back, which costs far more than
 * most verdicts; so it stays a few hundredths of a run, and a run of a minute still checks
 * thousands. */
enum { CERTIFICATE_CHECK_PERIOD = 512 };

/* True if the certificate of this OOM must be checked: every CERTIFICATE_CHECK_PERIOD-th, and
 * each that is premature or unknown.  The caller numbers the OOMs, from 0 or from any other
 * start. */
bool certificate_is_due(uint64_t number, enum verdict_kind kind);

/* True if the independent checker accepts the `length` bytes at text.  reason becomes one line that
 * says what the checker found. */
bool certificate_is_accepted(const char *text, size_t length,
                             char reason[CERTIFICATE_REASON_BYTES]);

/* Makes a verdict whose certificate the checker does not accept, for that reason, a disputed one.
 */
void certificate_dispute(const char *reason, struct verdict *verdict);

/* Writes a file, by way of partial (partial_create) in the same directory, which is gone
 * afterwards.  False: errno says why, and there is no such file, or the one from before.  The bytes
 * are not forced to the disk: the list of ops gives them again. */
bool certificate_write(const char *path, const char *partial, const void *bytes, size_t length);

#endif
