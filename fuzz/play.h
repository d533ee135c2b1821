/* The whole way of an input in one lane: decoded, played on the subject, and ended in its finding.
 */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any bytes.  slips_faults: faults come in between the ops, those that the header names or else all
 * kinds; false: none do, whatever the header says.  A broken promise does not return; fuzz_target
 * is who found it. */
void play_input(const char *fuzz_target, const uint8_t *bytes, size_t length, bool slips_faults);

#endif
