/* Carries out a plan: copies block by block, by way of a hole or the host where places overlap. */
#ifndef ALLOCATOR_PRIVATE_MOVES_H
#define ALLOCATOR_PRIVATE_MOVES_H

#include "allocator/hbm.h"
#include "allocator/private/plan.h"
#include "allocator/private/state.h"

/* Carries out a plan: copies block by block, by way of a hole or the host where places overlap. */

/* True: every block is at its target.  False: a service refused; each block is where it was, at its
 * target, or stranded. */
bool hbm_moves_run(struct hbm *hbm, const struct hbm_plan *plan);

/* Device calls that may be done in part: each is made again until it is done or refused. */

/* The calls of the same name in struct hbm_services.  True: done.  False: refused, and nothing
 * changed. */
bool hbm_resume_copy(const struct hbm_services *services, uint64_t from, uint64_t to,
                     uint64_t bytes);
bool hbm_resume_stage_in(const struct hbm_services *services, uint64_t token, uint64_t to,
                         uint64_t bytes);
bool hbm_resume_unload(const struct hbm_services *services, uint64_t program_id);

#endif
