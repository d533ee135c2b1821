/* Each edit does what its name says, to whatever list. */
#include "fuzz/player.h"
#include "harness/op/fit.h"
#include "targets/targets.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <string.h>

/* --- lists --- */

static void check_inserted(void)
{
    ck_assert_uint_gt(after.ops.count, before.ops.count);
    ck_assert_uint_le(after.ops.count, before.ops.count + 6);
    ck_assert(known_are_in_order(&before.ops, &after.ops));
    ck_assert(known_references_hold(&after.ops));
}

static void check_deleted(void)
{
    ck_assert_uint_lt(after.ops.count, before.ops.count);
    ck_assert(known_are_in_order(&after.ops, &before.ops));
    ck_assert(known_references_hold(&after.ops));
    for (size_t i = 0; i < after.ops.count; i++) {
        ck_assert(after.ops.ops[i].kind == OP_ALLOC || after.ops.ops[i].ref != OP_NONE);
    }
}

static void check_same_ops(void)
{
    ck_assert_uint_eq(after.ops.count, before.ops.count);
    uint64_t sums[2] = {0};
    for (size_t i = 0; i < after.ops.count; i++) {
        sums[0] += (uint64_t)known_op(&before.ops.ops[i]) * known_op(&before.ops.ops[i]);
        sums[1] += (uint64_t)known_op(&after.ops.ops[i]) * known_op(&after.ops.ops[i]);
    }
    ck_assert_uint_eq(sums[0], sums[1]);
    ck_assert(known_references_hold(&after.ops));
}

static void check_swapped(void)
{
    size_t moved = 0;
    check_same_ops();
    for (size_t i = 0; i < after.ops.count; i++) {
        moved += known_op(&before.ops.ops[i]) != known_op(&after.ops.ops[i]);
    }
    ck_assert_uint_eq(moved, 2);
}

static void check_grown(void)
{
    ck_assert_uint_gt(after.ops.count, before.ops.count);
    ck_assert_uint_eq(known_count(&after.ops), after.ops.count);
    ck_assert(known_are_in_order(&before.ops, &after.ops));
    ck_assert(known_references_hold(&after.ops));
}

/* Whether what came in repeats what stands before it, count ops long. */
static bool is_repeated(size_t count)
{
    const size_t added = after.ops.count - before.ops.count;
    for (size_t start = 0; start + count <= before.ops.count; start++) {
        size_t i = start;
        while (i < start + added &&
               known_op(&after.ops.ops[i]) == known_op(&after.ops.ops[i + count])) {
            i++;
        }
        if (i == start + added) {
            return true;
        }
    }
    return false;
}

/* Of blocks that are known as the same one, a free in a copy names the one in that copy, and the
 * others the first. */
static bool names_the_nearest_or_first(size_t i)
{
    const struct op *ops = after.ops.ops;
    size_t first = 0;
    size_t nearest = i - 1;
    while (known_op(&ops[first]) != known_op(&ops[i]) >> 8) {
        first++;
    }
    while (known_op(&ops[nearest]) != known_op(&ops[i]) >> 8) {
        nearest--;
    }
    return ops[i].ref == nearest || ops[i].ref == first;
}

static void check_repeated(void)
{
    check_grown();
    for (size_t i = 0; i < after.ops.count; i++) {
        ck_assert(after.ops.ops[i].kind != OP_FREE_AFTER || names_the_nearest_or_first(i));
    }
    size_t count = 1;
    while (count < before.ops.count && !is_repeated(count)) {
        count++;
    }
    ck_assert(is_repeated(count));
}

static void check_spliced(void)
{
    check_grown();
    ck_assert_uint_lt(after.ops.count, before.ops.count + other.ops.count + 1);
}

EVERY_TEST(.setup = known_set_up, .teardown = known_tear_down);

TEST(splice_needs_another_list)
{
    ck_assert(!edit_copy("splice", &before, NULL, 1, &after));
}

static void check_joined(void)
{
    size_t i = 0;
    while (i < after.ops.count && known_op(&after.ops.ops[i]) == known_op(&before.ops.ops[i])) {
        i++;
    }
    const size_t back = after.ops.count - i;
    for (size_t k = 0; k < back; k++) {
        ck_assert_uint_eq(known_op(&after.ops.ops[i + k]),
                          known_op(&other.ops.ops[other.ops.count - back + k]));
    }
    ck_assert_uint_gt(back, 0);
    ck_assert(known_references_hold(&after.ops));
}

static void check_loosened(void)
{
    size_t at = 0;
    ck_assert_uint_gt(differing_ops(&before.ops, &after.ops, &at), 0);
    for (size_t i = 0; i < after.ops.count; i++) {
        struct op op = after.ops.ops[i];
        op.flags &= (uint8_t)~OP_RELATIVE;
        ck_assert(op_equal(&op, &before.ops.ops[i]));
    }
}

static void check_changed(void)
{
    size_t at = 0;
    ck_assert_uint_eq(differing_ops(&before.ops, &after.ops, &at), 1);
}

/* --- sizes --- */

static const struct op *changed_op(size_t *at)
{
    ck_assert_uint_eq(differing_ops(&before.ops, &after.ops, at), 1);
    return &after.ops.ops[*at];
}

static void check_fitted(void)
{
    size_t at = 0;
    const struct op *op = changed_op(&at);
    ck_assert_uint_eq(op->kind, OP_ALLOC);
    ck_assert((op->flags & OP_FITTED) != 0);
}

static bool is_of_size(const struct op *op, const struct op *changed)
{
    return op->kind == OP_ALLOC && op->size_bytes == changed->size_bytes;
}

/* One op is changed, and now two are alike. */
static void check_pair(bool (*is_alike)(const struct op *op, const struct op *changed))
{
    size_t at = 0;
    const struct op *changed = changed_op(&at);
    size_t count = 0;
    for (size_t i = 0; i < after.ops.count; i++) {
        count += is_alike(&after.ops.ops[i], changed);
    }
    ck_assert_uint_eq(count, 2);
}

static void check_same_size(void)
{
    check_pair(is_of_size);
}

static void check_nudged(void)
{
    size_t at = 0;
    struct op op = *changed_op(&at);
    ck_assert_uint_ne(op.size_bytes, before.ops.ops[at].size_bytes);
    op.size_bytes = before.ops.ops[at].size_bytes;
    ck_assert(op_equal(&op, &before.ops.ops[at]));
}

static size_t requests_of(const struct op_list *ops, uint64_t size_bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        count += op_kind_info((enum op_kind)op->kind)->can_be_fitted &&
                 (op->flags & OP_FITTED) == 0 && op->size_bytes == size_bytes;
    }
    return count;
}

/* Of a device of 128 KiB in granules of 512. */
static const uint64_t edge_sizes[] = {
    0,
    1,
    511,
    513,
    (128 << 10) - 512,
    128 << 10,
    (128 << 10) + 1,
    UINT64_C(1) << 63,
    (UINT64_C(1) << 63) + 1,
    UINT64_MAX - 511,
    UINT64_MAX,
};

TEST(nudges_and_swarms_ask_for_every_edge_of_what_a_size_can_be,
     .to = sizeof edge_sizes / sizeof edge_sizes[0])
{
    static const char *const names[] = {"nudge", "swarm"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        size_t more = 0;
        for (uint64_t seed = 1; seed <= 5 * EDIT_SEEDS; seed++) {
            if (edit_copy(names[k], &before, &other, seed, &after)) {
                more += requests_of(&after.ops, edge_sizes[_i]) >
                        requests_of(&before.ops, edge_sizes[_i]);
            }
        }
        ck_assert_msg(more > 0, "%s never asks for %" PRIu64, names[k], edge_sizes[_i]);
    }
}

static void check_aligned(void)
{
    size_t at = 0;
    const struct op *op = changed_op(&at);
    ck_assert_uint_ge(op->align_log2, 9);
    ck_assert_uint_le(op->align_log2, 17);
}

/* The op that came in, alone. */
static size_t only_new_op(void)
{
    size_t at = SIZE_MAX;
    ck_assert_uint_eq(after.ops.count, before.ops.count + 1);
    for (size_t i = 0; i < after.ops.count; i++) {
        at = known_op(&after.ops.ops[i]) == 0 ? i : at;
    }
    ck_assert_uint_ne(at, SIZE_MAX);
    ck_assert(known_references_hold(&after.ops));
    return at;
}

static void check_asked(void)
{
    const struct op *op = &after.ops.ops[only_new_op()];
    ck_assert(op->kind == OP_ALLOC || op->kind == OP_OUTPUT);
    ck_assert((op->flags & OP_FITTED) != 0);
}

/* --- states --- */

static void check_complete_before(void)
{
    const size_t at = only_new_op();
    ck_assert_uint_eq(after.ops.ops[at].kind, OP_COMPLETE);
    ck_assert_uint_eq(after.ops.ops[at + 1].kind, OP_ALLOC);
}

static void check_complete_after(void)
{
    const size_t at = only_new_op();
    ck_assert_uint_eq(after.ops.ops[at].kind, OP_COMPLETE);
    ck_assert_uint_gt(at, 0);
    ck_assert_uint_eq(after.ops.ops[at - 1].kind, OP_ALLOC);
}

static uint64_t drains_of(const struct input *input)
{
    struct op_player *player = player_create(&target_hbm);
    const struct run *run = player_play(player, input, NULL, NULL);
    ck_assert_ptr_nonnull(run);
    const uint64_t drains = run_totals(run)->drains;
    player_destroy(player);
    return drains;
}

TEST(complete_during_makes_a_request_wait_for_an_event)
{
    size_t count = 0;
    before.ops.count = KNOWN_PAIRS; /* nothing is freed: nobody waits */
    ck_assert_uint_eq(drains_of(&before), 0);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        count += edit_copy("complete_during", &before, NULL, seed, &after) && drains_of(&after) > 0;
    }
    ck_assert_uint_gt(count, EDIT_SEEDS / 2);
}

static void check_lost(void)
{
    size_t at = 0;
    const struct op *op = changed_op(&at);
    ck_assert_uint_eq(op->kind, OP_FREE_AFTER);
    ck_assert(op->delay_ns == DELAY_NEVER);
}

static bool is_due_with(const struct op *op, const struct op *changed)
{
    return op->kind == OP_FREE_AFTER && op->delay_ns == changed->delay_ns;
}

static void check_same_delay(void)
{
    check_pair(is_due_with);
}

static void check_held(void)
{
    size_t hold = SIZE_MAX;
    size_t release = SIZE_MAX;
    for (size_t i = 0; i < after.ops.count; i++) {
        hold = after.ops.ops[i].kind == OP_HOLD ? i : hold;
        release = after.ops.ops[i].kind == OP_RELEASE ? i : release;
    }
    ck_assert_uint_ne(hold, SIZE_MAX);
    const struct op *op = &after.ops.ops[hold];
    ck_assert((op->flags & OP_RELATIVE) != 0 || after.ops.ops[op->ref].kind == OP_ALLOC);
    ck_assert(release == SIZE_MAX || (release > hold && after.ops.ops[release].ref == op->ref));
    ck_assert(known_references_hold(&after.ops));
}

static void check_busy(void)
{
    size_t at = 0;
    while (after.ops.ops[at].kind != OP_EXECUTE) {
        ck_assert_uint_lt(++at, after.ops.count);
    }
    ck_assert_uint_eq(after.ops.ops[after.ops.ops[at].ref].kind, OP_LOAD);
    ck_assert_uint_ge(after.ops.ops[at].delay_ns, 1000000);
    ck_assert_uint_eq(after.ops.ops[at + 1].kind, OP_ALLOC);
}

static void check_used(void)
{
    const size_t at = only_new_op();
    ck_assert_uint_eq(after.ops.ops[at].kind, OP_USE);
    ck_assert_uint_ge(after.ops.ops[at].delay_ns, 1000000);
}

static void check_fault(void)
{
    const size_t at = only_new_op();
    ck_assert_uint_eq(after.ops.ops[at].kind, OP_FAULT);
    ck_assert_uint_ge(after.ops.ops[at].size_bytes, 1);
    ck_assert_uint_eq(after.ops.ops[at + 1].kind, OP_ALLOC);
}

static void check_retired(void)
{
    const struct op *op = &after.ops.ops[only_new_op()];
    ck_assert_uint_eq(op->kind, OP_RETIRE);
    ck_assert((op->flags & OP_RELATIVE) != 0);
}

/* --- each edit --- */

static const struct {
    const char *promise, *edit;
    void (*check)(void);
} rows[] = {
    {"insert adds ops between the others", "insert", check_inserted},
    {"delete takes ops out and what named them still acts", "delete", check_deleted},
    {"move keeps all ops and what they name", "move", check_same_ops},
    {"swap changes the places of two ops", "swap", check_swapped},
    {"duplicate copies a run with what it names", "duplicate", check_grown},
    {"repeat puts copies of a run behind it", "repeat", check_repeated},
    {"splice takes a run of the other list", "splice", check_spliced},
    {"join is the front of one and the back of the other", "join", check_joined},
    {"loosen makes references relative and changes nothing else", "loosen", check_loosened},
    {"change changes one op", "change", check_changed},
    {"fit lets a request ask for what fits", "fit", check_fitted},
    {"same size makes two requests equal", "same_size", check_same_size},
    {"nudge changes a size alone", "nudge", check_nudged},
    {"align asks for an alignment between granule and device", "align", check_aligned},
    {"ask fit adds a request for what fits", "ask_fit", check_asked},
    {"complete before and after stand next to a request", "complete_before", check_complete_before},
    {"complete before and after stand next to a request", "complete_after", check_complete_after},
    {"lose takes an event away", "lose", check_lost},
    {"same delay makes two events due at once", "same_delay", check_same_delay},
    {"hold holds a block and gives it back later if ever", "hold", check_held},
    {"busy runs a program for long before a request", "busy", check_busy},
    {"use fault and retire add the op that they say", "use", check_used},
    {"use fault and retire add the op that they say", "fault", check_fault},
    {"use fault and retire add the op that they say", "retire", check_retired},
};

/* After each seed for which it applies, which most seeds must be. */
TEST(each_edit_does_what_it_promises, .to = sizeof rows / sizeof rows[0])
{
    size_t count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        if (edit_copy(rows[_i].edit, &before, &other, seed, &after)) {
            rows[_i].check();
            count++;
        }
    }
    ck_assert_msg(count >= EDIT_SEEDS / 4, "%s: applied %zu times", rows[_i].promise, count);
}
