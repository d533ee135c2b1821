#include "allocator/private/stranded.h"

#include "allocator/private/check.h"
#include "allocator/private/heap.h"
#include "allocator/private/resume.h"
#include "allocator/private/room.h"

const struct hbm_stranded *hbm_stranded_absent(const struct hbm *hbm,
                                               const struct hbm_stranded *stranded)
{
    while (stranded != NULL &&
           hbm_heap_at(&hbm->heap, stranded->block)->address != HBM_ADDRESS_NONE) {
        stranded = stranded->next;
    }
    return stranded;
}

void hbm_stranded_drop(struct hbm *hbm, uint32_t number)
{
    HBM_CHECK(hbm->stranded != NULL);
    struct hbm_stranded **link = &hbm->stranded;
    while ((*link)->block != number) {
        HBM_CHECK((*link)->next != NULL);
        link = &(*link)->next;
    }
    struct hbm_stranded *found = *link;
    *link = found->next;
    hbm->return_refused = hbm->return_refused && hbm->stranded != NULL;
    hbm->host.services.stage_drop(hbm->host.services.context, found->token);
    hbm_host_free(&hbm->host, found, 1, sizeof *found);
}

/* Brings all back that have a range and are granted.  The block number of the first that has none;
 * 0: each has. */
static uint32_t return_all_stranded(struct hbm *hbm)
{
    uint32_t lacking = HBM_POOL_NONE;
    for (struct hbm_stranded **link = &hbm->stranded; *link != NULL;) {
        struct hbm_stranded *stranded = *link;
        struct hbm_block *block = hbm_heap_at(&hbm->heap, stranded->block);
        HBM_CHECK(hbm_block_is_stranded(block));
        const bool has_range = block->address != HBM_ADDRESS_NONE ||
                               hbm_heap_return(&hbm->heap, stranded->block);
        if (has_range && hbm_resume_stage_in(&hbm->host.services, stranded->token, block->address,
                                             block->size_bytes)) {
            HBM_CHECK(block->address != HBM_ADDRESS_NONE);
            block->place = HBM_PLACE_DEVICE;
            *link = stranded->next;
            hbm_host_free(&hbm->host, stranded, 1, sizeof *stranded);
            continue;
        }
        hbm->return_refused |= has_range;
        if (!has_range && lacking == HBM_POOL_NONE) {
            lacking = stranded->block;
        }
        link = &stranded->next;
    }
    return lacking;
}

void hbm_stranded_retry(struct hbm *hbm)
{
    HBM_CHECK(hbm->stranded != NULL);
    hbm->return_refused = false;
    const uint32_t lacking = return_all_stranded(hbm);
    if (lacking == HBM_POOL_NONE) {
        return;
    }
    HBM_CHECK(hbm_heap_at(&hbm->heap, lacking)->address == HBM_ADDRESS_NONE);
    const enum hbm_result result = hbm_room_make(hbm, lacking);
    hbm->return_refused |= result == HBM_UNAVAILABLE;
    if (result == HBM_OK) {
        (void)return_all_stranded(hbm);
    }
}

void hbm_stranded_drop_all(struct hbm *hbm)
{
    const struct hbm_services *services = &hbm->host.services;
    while (hbm->stranded != NULL) {
        struct hbm_stranded *stranded = hbm->stranded;
        HBM_CHECK(stranded->block != HBM_POOL_NONE);
        HBM_CHECK(hbm_block_is_stranded(hbm_heap_at(&hbm->heap, stranded->block)));
        hbm->stranded = stranded->next;
        services->stage_drop(services->context, stranded->token);
        hbm_host_free(&hbm->host, stranded, 1, sizeof *stranded);
    }
}
