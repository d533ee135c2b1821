/* The whole way of an input in one lane: decoded, played on the subject, and ended in its finding.
 */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include "harness/run/run.h"
#include "harness/run/trial.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any bytes.  slips_faults: faults come in between the ops, those that the header names or else all
 * kinds; false: none do, whatever the header says.  A broken promise does not return; fuzz_target
 * is who found it. */
void play_input(const char *fuzz_target, const uint8_t *bytes, size_t length, bool slips_faults);

/* Kinds of regret (harness/oracle/regret.h) that the subject must not have: those that the
 * environment names in HBMSTRESS_FUZZ_REGRETS, "evicted_needlessly,in_vain".  Regret breaks no
 * promise of an allocator in general, so an input cannot ask for it, and without that variable all
 * kinds are allowed.
 * A bit for each kind, read once; 0 = none.  A name that is no kind: the process says so and exits
 * with 2. */
uint32_t regrets_forbidden(void);

/* run broke no promise.  True: under the documented order of mitigations a request of it was
 * regretted in one of the kinds.  *trial is then its list up to there, with a regret_max in its
 * setup that this request exceeds, so that a replay breaks the rule, and is the caller's to deinit.
 * As with a premature verdict, the subject has all the nodes of its own search then. */
bool regrets_find(const struct target *target, const struct run *run, uint32_t kinds,
                  struct trial *trial);

#endif
