/* The allocator that is fuzzed: libhbm, or the one that the environment names in
 * HBMSTRESS_FUZZ_TARGET, a registered target or the path of a plug-in.  So a planted defect, or an
 * allocator of one's own, takes the place of libhbm in every fuzz target without a build of its
 * own. */
#ifndef FUZZ_SUBJECT_H
#define FUZZ_SUBJECT_H

#include "harness/target.h"

/* Looked up once.  Where there is no such target the process says so and exits with 2. */
const struct target *subject(void);

/* Returns the name as it was given, which a repro names. */
const char *subject_name(void);

#endif
