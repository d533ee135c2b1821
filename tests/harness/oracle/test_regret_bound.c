/* Where the model knows that nothing is regretted, the cheapest plan says so, too: that of a look
 * at every block. */
#include "harness/base/random.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/oracle/regret.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { G = 512, BLOCK_COUNT_MAX = 300, STATE_COUNT = 60, REQUEST_COUNT = 12 };

struct heap {
    struct random random;
    struct timeline *timeline;
    struct model *model;
    uint32_t slots[BLOCK_COUNT_MAX], count;
    uint32_t op;
};

static uint64_t draw_size(struct random *random)
{
    return random_log_uniform(random, 1, 256) * G;
}

static uint64_t draw_align(struct random *random, bool has_alignments)
{
    const bool is_aligned = has_alignments && random_below(random, 8) == 0;
    return (uint64_t)G << (is_aligned ? random_between(random, 1, 4) : 0);
}

/* At an address; nothing where a block lies there. */
static void add_block(struct heap *heap, uint64_t address, uint64_t size_bytes,
                      uint64_t align_bytes)
{
    const struct model_new what = {.requested_bytes = size_bytes, .align_bytes = align_bytes};
    const struct target_block at = {heap->op + 1, address, size_bytes};
    uint32_t other = SLOT_NONE;
    model_begin_op(heap->model, heap->op++);
    heap->count += model_add(heap->model, &what, &at, &heap->slots[heap->count], &other);
    model_end_op(heap->model, TARGET_OK, false);
}

/* Blocks from the bottom up, of which a few are held, and then some end. */
static void begin_heap(struct heap *heap, uint64_t seed, enum defrag_contract defrag)
{
    random_init(&heap->random, seed);
    const bool has_alignments = random_below(&heap->random, 3) == 0;
    const uint32_t block_count = (uint32_t)random_between(&heap->random, 20, BLOCK_COUNT_MAX);
    const uint64_t gone_percent = random_between(&heap->random, 1, 20);
    const struct target_contract contract = {
        .granule_bytes = G, .defrag = defrag, .queues_frees = true};
    heap->timeline = timeline_create();
    heap->model = model_create((uint64_t)BLOCK_COUNT_MAX * 256 * G, &contract, heap->timeline);
    heap->op = heap->count = 0;
    uint64_t at = 0;
    for (uint32_t i = 0; i < block_count; i++) {
        const uint64_t align = draw_align(&heap->random, has_alignments);
        const uint64_t size = draw_size(&heap->random);
        at = (at + align - 1) / align * align;
        add_block(heap, at, size, align);
        at += size;
    }
    /* What lies above all others takes the rest of the device. */
    add_block(heap, at, model_capacity_bytes(heap->model) - at, G);
    const uint32_t held_count = (uint32_t)random_below(&heap->random, 4);
    for (uint32_t i = 0; i < held_count; i++) {
        model_hold(heap->model, heap->slots[random_below(&heap->random, heap->count)]);
    }
    for (uint32_t i = heap->count - 1; i-- > 0;) {
        if (random_below(&heap->random, 100) < gone_percent &&
            model_end_plain(heap->model, heap->slots[i])) {
            heap->slots[i] = heap->slots[--heap->count];
        }
    }
}

static void end_heap(struct heap *heap)
{
    model_destroy(heap->model);
    timeline_destroy(heap->timeline);
}

/* It leaves the device, and comes back: to another place where there is room. */
static void strand_block(struct heap *heap, uint32_t slot)
{
    const struct block block = *model_block(heap->model, slot);
    const uint64_t last = model_capacity_bytes(heap->model) - block.size_bytes;
    const uint64_t to = random_below(&heap->random, last / block.align_bytes + 1) *
                        block.align_bytes;
    uint32_t other = SLOT_NONE;
    model_strand(heap->model, slot);
    ck_assert(model_return(heap->model, slot, to, &other) ||
              model_return(heap->model, slot, block.address, &other));
}

/* The same range under another handle, of an alignment that its address has. */
static void donate_block(struct heap *heap, uint32_t slot)
{
    const struct block block = *model_block(heap->model, slot);
    const uint64_t align = draw_align(&heap->random, true);
    const struct model_new what = {.requested_bytes = block.requested_bytes,
                                   .align_bytes = block.address % align == 0 ? align : G};
    const struct target_block at = {heap->op + 1, block.address, block.size_bytes};
    model_begin_op(heap->model, heap->op++);
    (void)model_donate(heap->model, slot, &what, &at);
    model_end_op(heap->model, TARGET_OK, false);
}

static void change_places(struct heap *heap)
{
    const uint32_t slot = heap->slots[random_below(&heap->random, heap->count)];
    const struct block *block = model_block(heap->model, slot);
    if (block->hold_count == 0 && block->size_bytes <= 256 * G) {
        (random_below(&heap->random, 2) == 0 ? strand_block : donate_block)(heap, slot);
    }
}

/* Between requests a block ends, and one may come where it was. */
static void change_heap(struct heap *heap)
{
    const uint32_t i = (uint32_t)random_below(&heap->random, heap->count);
    const struct block block = *model_block(heap->model, heap->slots[i]);
    if (block.size_bytes <= 256 * G && model_end_plain(heap->model, heap->slots[i])) {
        heap->slots[i] = heap->slots[--heap->count];
        if (random_below(&heap->random, 2) == 0) {
            const uint64_t size = draw_size(&heap->random);
            add_block(heap, block.address, size < block.size_bytes ? size : block.size_bytes, G);
        }
    }
}

struct tally {
    uint32_t excluded, regretted,
        kept; /* kept: nothing is regretted, and the model does not know */
};

static void check_spent(struct planner *planner, const struct heap *heap, const struct oom *oom,
                        uint64_t moved_bytes, struct tally *tally)
{
    const struct regret regret = regret_judge(
        planner, oom, &(struct regret_spent){.moved_bytes = moved_bytes, .is_met = true});
    const bool has_none = regret_has_none(heap->model, &oom->request, moved_bytes);
    if (has_none) {
        ck_assert(!regret.is_unknown);
        ck_assert_uint_eq(regret.kinds, 0);
        ck_assert_uint_eq(regret.moved_bytes, 0);
    }
    tally->excluded += has_none;
    tally->regretted += regret.kinds != 0;
    tally->kept += !has_none && regret.kinds == 0;
}

/* What is spent: at most the cheapest plan's bytes, a little more, or anything. */
static void check_request(struct planner *planner, struct heap *heap, struct oom *oom,
                          struct tally *tally)
{
    struct proof_plan plan;
    const struct oom_request request = {.class = REQUEST_BUFFER,
                                        .size_bytes = random_log_uniform(&heap->random, 64, 512) *
                                                      G,
                                        .align_bytes = draw_align(&heap->random, true),
                                        .own_op = OP_NONE};
    oom_take(oom, heap->model, &request, 0);
    const uint64_t least = planner_price(planner, oom, REGRET_NODES_MAX, &plan) == PLAN_FOUND
                               ? plan.moved_bytes
                               : 0;
    check_spent(planner, heap, oom, least + G, tally);
    check_spent(planner, heap, oom, draw_size(&heap->random), tally);
    if (least > 0) {
        check_spent(planner, heap, oom, least, tally);
        check_spent(planner, heap, oom, random_between(&heap->random, 1, least / G) * G, tally);
    }
}

static struct tally check_states(uint64_t seed, enum defrag_contract defrag)
{
    struct tally tally = {0};
    struct oom oom = {0};
    struct planner *planner = planner_create();
    for (uint64_t i = 0; i < STATE_COUNT; i++) {
        struct heap heap;
        begin_heap(&heap, seed * STATE_COUNT + i, defrag);
        for (int request = 0; request < REQUEST_COUNT; request++) {
            check_request(planner, &heap, &oom, &tally);
            (random_below(&heap.random, 4) == 0 ? change_places : change_heap)(&heap);
        }
        end_heap(&heap);
    }
    planner_destroy(planner);
    oom_deinit(&oom);
    return tally;
}

EVERY_TEST(.timeout_s = 240);

TEST(what_the_model_excludes_no_plan_does, .from = 1, .to = 5)
{
    static const enum defrag_contract contracts[] = {DEFRAG_SLIDE, DEFRAG_REPACK};
    for (size_t i = 0; i < 2; i++) {
        const struct tally tally = check_states((uint64_t)_i, contracts[i]);
        /* It would be of no use if it knew little. */
        ck_assert_msg(2 * tally.excluded > tally.kept && tally.regretted > 0,
                      "%u excluded, %u regretted, %u kept", tally.excluded, tally.regretted,
                      tally.kept);
    }
}
