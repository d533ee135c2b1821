/* The subjects of this build: ours, and the peers whose sources it was given. */
#ifndef BENCH_PEERS_SUBJECTS_H
#define BENCH_PEERS_SUBJECTS_H

#include "bench/peers/subject.h"

/* The loop without a call, libhbm by its own interface, and then what the harness makes of the null
 * target and of libhbm, raw and checked. */
extern const struct peer_subject subject_loop, subject_libhbm, subject_null, subject_null_checked,
    subject_hbm, subject_hbm_checked;

/* Fit policies, simulated (policies.c): NULL at the end. */
extern const struct peer_subject policies[];

/* The other subjects; NULL at the end. */
extern const struct peer_subject *const subjects[];
/* NULL: there is none of that name. */
const struct peer_subject *subject_find(const char *name);

#endif
