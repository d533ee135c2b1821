/* The end of blocks: freed at once, or when the events and references that keep them are gone. */
#ifndef ALLOCATOR_PRIVATE_LIFE_H
#define ALLOCATOR_PRIVATE_LIFE_H

#include "allocator/private/stranded.h"

HBM_APART void hbm_collect_completed(struct hbm *hbm);

/* Collects completed events; called first in every public call that only reads, with the lock held.
 */
static inline void hbm_collect_events(struct hbm *hbm)
{
    if (hbm->pending.first != HBM_POOL_NONE) {
        hbm_collect_completed(hbm);
    }
}

/* Does the same in every other public call, and brings stranded blocks back, too. */
static inline void hbm_collect(struct hbm *hbm)
{
    hbm_collect_events(hbm);
    if (__builtin_expect(hbm->stranded != NULL, 0)) {
        hbm_stranded_retry(hbm);
    }
}

/* Returns true for a live buffer or output whose end is that of its range, and nothing else.  It
 * has no references, unfinished uses or shape, and its contents are on the device. */
static inline bool hbm_block_ends_plainly(const struct hbm_block *block)
{
    static_assert((HBM_ROLE_BUFFER | 1) == HBM_ROLE_OUTPUT, "the two differ in one bit");
    const uint64_t asked = (struct hbm_block){.role = HBM_ROLE_MAX & ~1u,
                                              .dying = 1,
                                              .place = HBM_PLACE_MAX,
                                              .in_use = 1}
                               .links;
    const uint64_t plain = (struct hbm_block){.role = HBM_ROLE_BUFFER, .place = HBM_PLACE_DEVICE}
                               .links;
    const uint64_t none_of = (struct hbm_block){.hold_count = UINT32_MAX, .shaped = 1}.holds;
    return (block->links & asked) == plain && (block->holds & none_of) == 0;
}

/* Frees a live block: at once, or when it is no longer held. */
void hbm_block_free(struct hbm *hbm, uint32_t number);

/* Ends a dying block that nothing holds any more. */
void hbm_block_settle(struct hbm *hbm, uint32_t number);

#endif
