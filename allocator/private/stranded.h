/* Blocks whose contents are on the host because a move could not be finished. */
#ifndef ALLOCATOR_PRIVATE_STRANDED_H
#define ALLOCATOR_PRIVATE_STRANDED_H

#include "allocator/private/check.h"
#include "allocator/private/state.h"

/* Tries to bring stranded blocks back, by way of moves if there is no hole. */
HBM_RARE void hbm_stranded_retry(struct hbm *hbm);

/* Forgets the contents of a stranded block, which ends. */
void hbm_stranded_drop(struct hbm *hbm, uint32_t number);

/* Does the same for all stranded blocks: the device is destroyed. */
void hbm_stranded_drop_all(struct hbm *hbm);

/* The next stranded block that has no range, from `stranded` on; NULL: there is none. */
const struct hbm_stranded *hbm_stranded_absent(const struct hbm *hbm,
                                               const struct hbm_stranded *stranded);

#endif
