/* The model, and what the oracle makes of sliding with alignments.  What it makes of other states
 * that are hard to reach by chance is in tests/cases/model/model.case. */
#include "harness/base/random.h"
#include "harness/device/span_map.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/oracle/oracle.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { G = 512, CAPACITY = 32 };

static struct timeline *timeline;
static struct model *model;
static struct oracle *oracle;
static uint32_t op;

static void set_up_model(enum defrag_contract defrag, bool drains)
{
    const struct target_contract contract = {.granule_bytes = G,
                                             .defrag = defrag,
                                             .queues_frees = true,
                                             .drains = drains,
                                             .programs = true,
                                             .evicts = true};
    timeline = timeline_create();
    model = model_create(CAPACITY * G, &contract, timeline);
    oracle = oracle_create();
    op = 0;
}

static void tear_down_model(void)
{
    oracle_destroy(oracle);
    model_destroy(model);
    timeline_destroy(timeline);
}

/* What is counted of all blocks, and that it is sound. */
static void show_model(void)
{
    const struct model_counters *counters = model_counters(model);
    SHOW(model_live_count(model), model_program_count(model), model_dying_count(model),
         model_absent_count(model), model_map(model)->count);
    SHOW(counters->block_count, counters->largest_block_bytes / G, model_in_use_bytes(model) / G,
         model_tag_bytes(model)[0] / G, model_retired_bytes(model) / G, model_retired_count(model));
    SHOW(counters->peak_low_bytes / G, counters->peak_high_bytes / G);
    ck_assert(model_invariants_hold(model));
}

static void show_block(uint32_t slot)
{
    const struct block *block = model_block(model, slot);
    SHOW(block->address / G, block->hold_count, block->is_absent, block_is_movable(block),
         block->is_known);
}

/* Places a block; sizes, place and alignment in granules.  SLOT_NONE: something is in the way. */
static uint32_t add_block(enum block_kind kind, uint64_t at, uint64_t size, uint64_t align,
                          uint64_t stack)
{
    const struct model_new what = {.requested_bytes = size * G,
                                   .align_bytes = align * G,
                                   .stack_bytes = stack * G,
                                   .stack_requested_bytes = stack * G,
                                   .kind = kind};
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    model_begin_op(model, op);
    const struct target_block block = {op + 1, at * G, size * G};
    const bool is_added = model_add(model, &what, &block, &slot, &other);
    model_end_op(model, TARGET_OK, false);
    op++;
    return is_added ? slot : SLOT_NONE;
}

static uint64_t event_after(uint64_t delay_ns)
{
    const uint64_t event = ++op;
    timeline_add(timeline, event, delay_ns);
    return event;
}

static void end_event(uint64_t event)
{
    timeline_complete(timeline, event);
    model_complete(model, event);
}

static enum verdict_kind judge_request(enum request_class class, uint64_t size, uint64_t align,
                                       uint64_t stack)
{
    const struct oom_request request = {.class = class,
                                        .size_bytes = size * G,
                                        .align_bytes = align * G,
                                        .stack_bytes = stack * G,
                                        .own_op = OP_NONE};
    struct verdict verdict = {0};
    struct oom oom = {0};
    oom_take(&oom, model, &request, 0);
    oracle_judge(oracle, &oom, 0, &verdict);
    oom_deinit(&oom);
    return verdict.kind;
}

EVERY_TEST(.timeout_s = 120, .teardown = snap_rest);

TEST(a_block_goes_when_the_last_of_its_events_ends)
{
    for (unsigned order = 0; order < 6; order++) {
        set_up_model(DEFRAG_SLIDE, true);
        const uint32_t slot = add_block(BLOCK_BUFFER, 0, 4, 1, 0);
        const uint64_t events[] = {event_after(10), event_after(20), event_after(30)};
        model_use(model, slot, events[0]);
        model_use(model, slot, events[1]);
        model_use(model, slot, events[1]); /* the same one twice */
        model_free(model, slot, events[2]);
        for (unsigned i = 0; i < 3; i++) {
            ck_assert_uint_eq(model_dying_count(model), 1);
            end_event(events[(order % 3 + (order < 3 ? i : 2 * i)) % 3]);
            ck_assert(model_invariants_hold(model));
        }
        ck_assert_uint_eq(model_dying_count(model), 0);
        ck_assert_uint_eq(model_in_use_bytes(model), 0);
        tear_down_model();
    }
}

TEST(the_peak_lies_between_what_was_there_and_what_may_have_been)
{
    set_up_model(DEFRAG_NONE, true);
    const uint32_t first = add_block(BLOCK_BUFFER, 0, 4, 1, 0);
    const uint64_t event = event_after(10);
    model_free(model, first, event);
    model_begin_op(model, op);
    model_end_op(model, TARGET_OK, false);
    end_event(event); /* during another host's op */
    (void)add_block(BLOCK_BUFFER, 4, 3, 1, 0);
    show_model();
    (void)add_block(BLOCK_BUFFER, 8, 2, 1, 0); /* by now the target has counted */
    show_model();
    tear_down_model();
}

/* --- memory that went bad --- */

TEST(a_retired_block_is_held_for_ever_and_nobody_names_it)
{
    set_up_model(DEFRAG_REPACK, true);
    const uint32_t slot = add_block(BLOCK_RETIRED, 10, 4, 1, 0);
    show_block(slot);
    ck_assert_uint_eq(model_slot_of_op(model, op - 1), SLOT_NONE);
    ck_assert_ptr_null(model_find(model, op - 1));
    show_model();
    ck_assert_uint_eq(add_block(BLOCK_RETIRED, 13, 1, 1, 0), SLOT_NONE);
    (void)add_block(BLOCK_BUFFER, 0, 2, 1, 0);
    show_model();
    tear_down_model();
}

TEST(an_unseen_op_ends_without_a_trace_but_in_the_peak)
{
    set_up_model(DEFRAG_NONE, true);
    const uint32_t slot = add_block(BLOCK_BUFFER, 0, 4, 1, 0);
    const uint32_t seen = model_last_op(model);
    const uint64_t event = event_after(10);
    model_free(model, slot, event);
    end_event(event);
    model_begin_op(model, op++);
    model_end_unseen_op(model, false);
    ck_assert_uint_eq(model_last_op(model), seen);
    (void)add_block(BLOCK_BUFFER, 4, 5, 1, 0); /* the target has counted meanwhile */
    show_model();
    tear_down_model();
}

/* --- alignments --- */

struct laid {
    uint64_t at, size, align;
    bool is_fixed;
};

/* Whether blocks[i...], order kept, and a request between any two fit from `from` on: tries every
 * place. */
static bool can_slide(const struct laid *blocks, int count, int i, uint64_t from,
                      const struct laid *request)
{
    if (request != NULL) {
        for (uint64_t at = from; at + request->size <= CAPACITY; at++) {
            if (at % request->align == 0 && can_slide(blocks, count, i, at + request->size, NULL)) {
                return true;
            }
        }
    }
    if (i == count) {
        return request == NULL;
    }
    const struct laid *block = &blocks[i];
    for (uint64_t at = block->is_fixed ? block->at : from; at + block->size <= CAPACITY; at++) {
        if (at >= from && at % block->align == 0 &&
            can_slide(blocks, count, i + 1, at + block->size, request)) {
            return true;
        }
        if (block->is_fixed) {
            break;
        }
    }
    return false;
}

/* Blocks of 1 to 7 granules with alignments 1 to 8, at random legal places. */
static int draw_heap(struct random *random, struct laid *blocks, int count_max)
{
    uint64_t at = 0;
    int count = 0;
    while (count < count_max) {
        const uint64_t align = (uint64_t)1 << random_below(random, 4);
        const uint64_t size = random_between(random, 1, 7);
        at = (at + random_below(random, 6) + align - 1) & ~(align - 1);
        if (at + size > CAPACITY) {
            break;
        }
        blocks[count++] = (struct laid){at, size, align, random_chance(random, 1, 4)};
        at += size;
    }
    return count;
}

TEST(sliding_with_mixed_alignments_is_judged_as_by_trying_every_place)
{
    struct random random;
    uint64_t premature = 0;
    random_init(&random, 1);
    for (int i = 0; i < 20000; i++) {
        struct laid blocks[5];
        const int count = draw_heap(&random, blocks, 5);
        set_up_model(DEFRAG_SLIDE, true);
        for (int k = 0; k < count; k++) {
            const uint32_t slot = add_block(BLOCK_BUFFER, blocks[k].at, blocks[k].size,
                                            blocks[k].align, 0);
            if (blocks[k].is_fixed) {
                model_hold(model, slot);
            }
        }
        const struct laid request = {0, random_between(&random, 1, 12),
                                     (uint64_t)1 << random_below(&random, 4), false};
        const uint64_t stack = random_chance(&random, 1, 2) ? random_between(&random, 1, 16) : 0;
        const bool is_stack_alone = stack > 0 && random_chance(&random, 1, 3);
        const bool truth = can_slide(blocks, count, 0, stack, is_stack_alone ? NULL : &request);
        const enum request_class class = stack > 0 ? REQUEST_PROGRAM : REQUEST_BUFFER;
        const enum verdict_kind kind = judge_request(class, is_stack_alone ? 0 : request.size,
                                                     is_stack_alone ? 1 : request.align, stack);
        ck_assert_int_eq(kind, truth ? VERDICT_PREMATURE : VERDICT_JUSTIFIED);
        premature += truth;
        /* The largest stack that fits alone is what an exact message prints; high does not count
         * alignment. */
        uint64_t most = 0;
        while (most < CAPACITY && can_slide(blocks, count, 0, most + 1, NULL)) {
            most++;
        }
        struct oom oom = {0};
        oom_take(&oom, model, &(struct oom_request){.own_op = OP_NONE}, 0);
        const struct oom_bounds bounds = oom_reservable(&oom);
        oom_deinit(&oom);
        ck_assert_uint_eq(bounds.low_bytes, most * G);
        ck_assert_uint_ge(bounds.high_bytes, bounds.low_bytes);
        tear_down_model();
    }
    ck_assert_uint_gt(premature, 2000);
    ck_assert_uint_lt(premature, 18000);
}

/* --- absent blocks --- */

TEST(an_absent_block_counts_but_takes_no_range)
{
    set_up_model(DEFRAG_REPACK, true);
    const uint32_t slot = add_block(BLOCK_BUFFER, 0, 4, 1, 0);
    ck_assert_uint_ne(add_block(BLOCK_BUFFER, 8, 2, 1, 0), SLOT_NONE);
    model_strand(model, slot);
    ck_assert_uint_eq(model_absent_slot(model, 0), slot);
    show_block(slot);
    show_model();
    const uint32_t squatter = add_block(BLOCK_BUFFER, 0, 4, 1, 0);
    uint32_t other = SLOT_NONE;
    ck_assert(!model_return(model, slot, 2 * G, &other));
    ck_assert_uint_eq(other, squatter);
    show_block(slot);
    ck_assert(model_return(model, slot, 4 * G, &other));
    show_block(slot);
    ck_assert_uint_eq(add_block(BLOCK_BUFFER, 7, 1, 1, 0), SLOT_NONE);
    show_model();
    tear_down_model();
}

TEST(an_absent_block_ends_without_touching_the_ranges_of_others)
{
    set_up_model(DEFRAG_REPACK, true);
    uint32_t slots[4]; /* to be freed, to die, a program, to be donated */
    for (unsigned i = 0; i < 4; i++) {
        slots[i] = add_block(i == 2 ? BLOCK_PROGRAM : BLOCK_BUFFER, 4 * i, 4, 1, 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        model_strand(model, slots[i]);
    }
    ck_assert_uint_ne(add_block(BLOCK_BUFFER, 0, 16, 1, 0), SLOT_NONE); /* where all of them were */
    model_free(model, slots[0], 0);
    const uint64_t event = event_after(10);
    model_free(model, slots[1], event);
    show_model();
    end_event(event);
    model_evict(model, slots[2]);
    model_free(model, slots[3], 0);
    show_model();
    uint32_t other = SLOT_NONE;
    ck_assert(model_reload(model, slots[2], &(struct target_block){1, 20 * G, 4 * G}, &other));
    show_block(slots[2]);
    show_model();
    tear_down_model();
}

/* --- everything at random --- */

static void act_at_random(struct random *random)
{
    const size_t live = model_live_count(model);
    const uint32_t slot = live == 0
                              ? SLOT_NONE
                              : model_slot_of_op(
                                    model,
                                    model_live(model, (size_t)random_below(random, live))->op);
    switch (random_below(random, live == 0 ? 2 : 8)) {
    case 0:
        (void)add_block(BLOCK_BUFFER, random_below(random, CAPACITY - 4),
                        random_between(random, 1, 4), 1, 0);
        return;
    case 1: {
        const size_t pending = timeline_pending_count(timeline);
        if (pending > 0) {
            end_event(timeline_pending_at(timeline, (size_t)random_below(random, pending)));
        }
        return;
    }
    case 2:
        model_use(model, slot, event_after(random_between(random, 1, 100)));
        return;
    case 3:
        model_hold(model, slot);
        return;
    case 4:
        if (model_block(model, slot)->hold_count > 0) {
            model_release(model, slot);
        }
        return;
    case 5:
        model_free(model, slot, event_after(random_between(random, 1, 100)));
        return;
    case 6: {
        uint32_t other;
        if (!model_block(model, slot)->is_absent) {
            model_strand(model, slot);
        } else {
            (void)model_return(model, slot, random_below(random, CAPACITY - 4) * G, &other);
        }
        return;
    }
    default:
        if (model_block(model, slot)->hold_count == 0) {
            const struct block *block = model_block(model, slot);
            const struct model_new what = {.requested_bytes = G,
                                           .align_bytes = G,
                                           .kind = BLOCK_OUTPUT,
                                           .tag = (uint8_t)random_below(random, 4)};
            const struct target_block at = {op + 1, block->address, block->size_bytes};
            model_begin_op(model, op++);
            (void)model_donate(model, slot, &what, &at);
        }
    }
}

TEST(the_model_is_sound_after_every_op)
{
    struct random random;
    random_init(&random, 2);
    set_up_model(DEFRAG_REPACK, true);
    for (int i = 0; i < 20000; i++) {
        act_at_random(&random);
        ck_assert(model_invariants_hold(model));
        model_forget_gone(model);
        uint64_t of_tags = 0;
        for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
            of_tags += model_tag_bytes(model)[tag];
        }
        ck_assert_uint_eq(of_tags, model_in_use_bytes(model));
        ck_assert_uint_le(model_counters(model)->peak_low_bytes,
                          model_counters(model)->peak_high_bytes);
    }
    tear_down_model();
}
