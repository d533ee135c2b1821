/* Device calls that may be done in part: each is made again until it is done or refused. */
#ifndef ALLOCATOR_PRIVATE_RESUME_H
#define ALLOCATOR_PRIVATE_RESUME_H

#include "allocator/hbm.h"

/* The calls of the same name in struct hbm_services.  True: done.  False: refused, and nothing
 * changed. */
bool hbm_resume_copy(const struct hbm_services *services, uint64_t from, uint64_t to,
                     uint64_t bytes);
bool hbm_resume_stage_in(const struct hbm_services *services, uint64_t token, uint64_t to,
                         uint64_t bytes);
bool hbm_resume_unload(const struct hbm_services *services, uint64_t program_id);

#endif
