/* Memory that is kept for other streams and recordings than those of a request: to the request it
 * is a queued free, or one that is held. */
#include "harness/oracle/oom.h"

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/device/span_map.h"

#include <stdlib.h>

static void add_block(struct oom *oom, const struct oom_block *like, uint64_t start, uint64_t end)
{
    if (start < end) {
        oom->blocks = array_grown(oom->blocks, oom->block_count, &oom->block_capacity,
                                  sizeof *oom->blocks);
        struct oom_block *block = &oom->blocks[oom->block_count++];
        *block = *like;
        block->address = start;
        block->size_bytes = end - start;
    }
}

/* Adds those parts of the whole that nothing covers; from then on it covers them. */
static void add_pieces(struct oom *oom, struct span_map *covered, const struct oom_block *whole)
{
    const size_t first = oom->block_count;
    const uint64_t end = whole->address + whole->size_bytes;
    uint64_t at = whole->address;
    struct span span;
    EACH_SPAN_BETWEEN(covered, at, end, &span) {
        add_block(oom, whole, at, span.start);
        at = span.end;
    }
    add_block(oom, whole, at, end);
    for (size_t i = first; i < oom->block_count; i++) {
        const struct oom_block *piece = &oom->blocks[i];
        span_map_insert(covered, &(struct span){.start = piece->address,
                                                .end = piece->address + piece->size_bytes});
    }
}

/* The last to be free comes first: where two meet, the memory is free with the later one.  What is
 * kept for a recording is held. */
static int compare_times(const void *a, const void *b)
{
    const struct oom_block *left = a;
    const struct oom_block *right = b;
    return compare_then(compare_numbers(right->hold_count, left->hold_count),
                        compare_then(compare_numbers(right->freed_at_ns, left->freed_at_ns),
                                     compare_numbers(left->op, right->op)));
}

static int compare_addresses(const void *a, const void *b)
{
    const struct oom_block *left = a;
    const struct oom_block *right = b;
    return compare_numbers(left->address, right->address);
}

/* Lists what is kept, in the order of compare_times. */
static size_t list_kept(struct oom *oom, const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model_kept_count(model); i++) {
        const struct block *block = model_kept(model, i);
        const enum kept_for why = model_kept_for(model, block, oom->request.stream);
        if (why == KEPT_FOR_NONE) {
            continue;
        }
        oom->kept = array_grown(oom->kept, count, &oom->kept_capacity, sizeof *oom->kept);
        oom->kept[count++] = (struct oom_block){
            .address = oom->placement == PLACEMENT_RANGES ? block->address : 0,
            .size_bytes = block->size_bytes,
            .align_bytes = oom->granule_bytes,
            .freed_at_ns = oom->due_times_ns[model_kept_slot(model, i)],
            .op = block->op,
            .hold_count = why == KEPT_FOR_RECORDING,
            .kind = block->kind,
            .state = BLOCK_DYING,
            .is_kept = true,
        };
    }
    if (count > 0) {
        qsort(oom->kept, count, sizeof *oom->kept, compare_times);
    }
    return count;
}

static void add_placed(struct oom *oom, size_t count)
{
    struct span_map covered;
    span_map_init(&covered);
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        span_map_insert(&covered, &(struct span){.start = block->address,
                                                 .end = block->address + block->size_bytes +
                                                        block->surplus_bytes});
    }
    for (size_t i = 0; i < count; i++) {
        add_pieces(oom, &covered, &oom->kept[i]);
    }
    span_map_deinit(&covered);
    qsort(oom->blocks, oom->block_count, sizeof *oom->blocks, compare_addresses);
}

bool oom_add_kept(struct oom *oom, const struct model *model)
{
    const size_t count = list_kept(oom, model);
    if (count > 0 && oom->placement == PLACEMENT_RANGES) {
        add_placed(oom, count);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        add_block(oom, &oom->kept[i], 0, oom->kept[i].size_bytes);
    }
    return count > 0;
}
