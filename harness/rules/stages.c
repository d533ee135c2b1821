#include "harness/base/array.h"
#include "harness/rules/private/pass.h"

#include <stdlib.h>

void overlap_stages_deinit(struct overlap_stages *stages)
{
    free(stages->staged);
    *stages = (struct overlap_stages){0};
}

/* A slot is another block's once the first is gone. */
static bool is_stage_of(const struct staged *staged, const struct host *host, uint32_t slot)
{
    return staged->host == host && staged->slot == slot &&
           staged->op == model_block(host->model, slot)->op;
}

void overlap_stages_stamp(const struct overlap_stages *stages, const struct host *host,
                          uint32_t slot)
{
    for (size_t i = 0; i < stages->count; i++) {
        if (is_stage_of(&stages->staged[i], host, slot)) {
            const uint64_t bytes = model_block(host->model, slot)->requested_bytes;
            device_stamp_stage(host->device, stages->staged[i].stage, bytes, slot);
        }
    }
}

struct staged *overlap_stages_find(const struct overlap_stages *stages, const struct host *host,
                                   uint64_t stage)
{
    for (size_t i = 0; i < stages->count; i++) {
        struct staged *staged = &stages->staged[i];
        if (staged->stage == stage && is_stage_of(staged, host, staged->slot)) {
            return staged;
        }
    }
    return NULL;
}

bool overlap_stages_hold(const struct overlap_stages *stages, const struct host *host,
                         uint32_t slot, bool is_alone)
{
    size_t i = 0;
    while (i < stages->count && ((is_alone && !stages->staged[i].may_stay) ||
                                 !is_stage_of(&stages->staged[i], host, slot))) {
        i++;
    }
    return i < stages->count;
}

/* --- the log --- */

/* Unless somebody keeps the block in place, it may be in host memory alone from here on. */
static void lose_place(const struct overlap_stages *stages, const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    const bool may = block->state == BLOCK_LIVE && block->hold_count == 0 && block->use_count == 0;
    for (size_t i = 0; may && i < stages->count; i++) {
        struct staged *staged = &stages->staged[i];
        staged->may_stay = staged->may_stay ||
                           (!staged->is_back && is_stage_of(staged, host, slot));
    }
}

static void add_stage(struct overlap_stages *stages, const struct staged *staged)
{
    stages->staged = array_grown(stages->staged, stages->count, &stages->capacity,
                                 sizeof *stages->staged);
    stages->staged[stages->count] = *staged;
    stages->staged[stages->count++].op = model_block(staged->host->model, staged->slot)->op;
}

void overlap_stages_take_out(struct overlap_stages *stages, const struct host *host,
                             const struct device_call *made)
{
    struct span span;
    if (span_map_intersects(model_map(host->model), made->from, made->from + 1, &span) &&
        span.start == made->from) {
        add_stage(stages,
                  &(struct staged){.host = host, .stage = made->to, .slot = (uint32_t)span.owner});
    }
}

void overlap_stages_take_in(struct overlap_stages *stages, const struct host *host,
                            const struct device_call *made)
{
    if (made->owner != UINT32_MAX && overlap_stages_find(stages, host, made->from) == NULL &&
        model_block(host->model, made->owner)->is_absent) {
        add_stage(stages,
                  &(struct staged){
                      .host = host, .stage = made->from, .slot = made->owner, .may_stay = true});
    }
}

void overlap_stages_take_refused(const struct overlap_stages *stages, const struct host *host,
                                 const struct device_call *made)
{
    for (size_t i = 0; made->result == DEVICE_REFUSED && i < stages->count;
         i++) { /* in part: it goes on */
        const struct staged *staged = &stages->staged[i];
        if (is_stage_of(staged, host, staged->slot)) {
            lose_place(stages, host, staged->slot);
        }
    }
}

/* --- without a place --- */

void overlap_stages_strand(const struct overlap_stages *stages, struct host *host, uint32_t slot)
{
    lose_place(stages, host, slot);
    model_strand(host->model, slot);
}

void overlap_stages_strand_in(const struct overlap_stages *stages, struct host *host,
                              uint64_t start, uint64_t end)
{
    struct span span;
    EACH_SPAN_IN(model_map(host->model), start, end, &span) {
        if (overlap_stages_hold(stages, host, (uint32_t)span.owner, false)) {
            overlap_stages_strand(stages, host, (uint32_t)span.owner);
        }
    }
}

/* True if the block may have no address.  A freed one cannot be asked for.  The client has the
 * handles of live ones but not of retired memory, which stays; who repacks has locate(). */
static bool may_have_no_address(const struct host *host, const struct block *block)
{
    struct target_block at = {0};
    return block->state == BLOCK_DYING ||
           host->target->locate(host->instance, block->handle, &at) != TARGET_OK;
}

static bool is_in_host_memory(const struct staged *staged, const struct host *host)
{
    const struct block *block = model_block(host->model, staged->slot);
    return block->state != BLOCK_GONE && is_stage_of(staged, host, staged->slot) &&
           !block->is_absent && may_have_no_address(host, block) &&
           device_has_staged(host->device, staged->slot, block->requested_bytes);
}

void overlap_stages_strand_refused(const struct overlap_stages *stages, struct host *host)
{
    for (size_t i = 0; i < stages->count; i++) {
        const struct staged *staged = &stages->staged[i];
        if (staged->host == host && staged->may_stay && host->contract.defrag == DEFRAG_REPACK &&
            is_in_host_memory(staged, host)) {
            model_strand(host->model, staged->slot);
        }
    }
}
