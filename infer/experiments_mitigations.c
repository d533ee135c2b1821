/* What an allocator does before an out-of-memory: it waits, moves, evicts, and in which order. */
#include "infer/experiment.h"

#include "harness/op/rounding.h"

/* How often an experiment is repeated that could be kept once and then no more. */
enum { REPEAT_COUNT = 2 };

/* --- waiting --- */

void experiment_drain(struct lab *lab)
{
    for (size_t i = 0; i < REPEAT_COUNT; i++) {
        const size_t row = lab_find_row(lab, 0, 1);
        if (lab_is_over(lab)) {
            return;
        }
        (void)lab_until(lab, OP_FREE_AFTER, lab->blocks[row].op, EXPERIMENT_DELAY_NS);
        (void)lab_ask_elsewhere(lab, lab->unit_bytes);
        lab_look(lab);
    }
    (void)lab_alloc(lab, lab->unit_bytes);
}

void experiment_drain_several(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 3);
    lab_hold_others(lab, (const size_t[]){row, row + 1, row + 2}, 3);
    for (size_t i = 0; i < 3; i++) {
        (void)lab_until(lab, OP_FREE_AFTER, lab_op(lab, row + i), EXPERIMENT_DELAY_NS * (i + 1));
    }
    (void)lab_ask_elsewhere(lab, 3 * lab->unit_bytes);
}

void experiment_dying_blocks(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 1);
    const uint32_t event = lab_until(lab, OP_FREE_AFTER, lab_op(lab, row), DELAY_NEVER);
    (void)lab_ask_elsewhere(lab, lab->unit_bytes);
    lab_complete(lab, event);
    (void)lab_alloc(lab, lab->unit_bytes);
}

void experiment_other_holes(struct lab *lab)
{
    size_t count = 0;
    if (lab_is_over(lab) || lab->block_count < 4) {
        lab_give_up(lab, "fewer than four blocks fill the device");
        return;
    }
    (void)lab_until(lab, OP_FREE_AFTER, lab->blocks[0].op, DELAY_NEVER);
    for (size_t i = 2; i < lab->block_count; i += 2) {
        count += lab->blocks[i].is_unit;
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    for (size_t i = 0; i < count; i++) {
        (void)lab_ask_elsewhere(lab, lab->unit_bytes);
    }
}

/* --- moving --- */

void experiment_slide(struct lab *lab)
{
    for (size_t i = 0; i < REPEAT_COUNT && !lab_is_over(lab); i++) {
        (void)lab_make_slide(lab);
        (void)lab_ask(lab, 2 * lab->unit_bytes);
        lab_look(lab);
        for (size_t j = 0; j < lab->block_count; j++) {
            (void)lab_name(lab, OP_RELEASE, lab->blocks[j].op);
        }
    }
}

void experiment_repack(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 2), other = lab_find_row(lab, row + 3, 1);
    lab_hold_others(lab, (const size_t[]){row, row + 1, other}, 3);
    (void)lab_name(lab, OP_FREE, lab_op(lab, row));
    (void)lab_name(lab, OP_FREE, lab_op(lab, other));
    (void)lab_ask(lab, 2 * lab->unit_bytes);
    lab_touch_all(lab);
}

enum { SMALL = 4 }; /* small units in a unit */

/* Fills the device with blocks of a quarter of the usual size.  False: it gave up. */
static bool fill_small(struct lab *lab)
{
    lab->unit_bytes /= SMALL;
    if (lab->unit_bytes < lab->granule_bytes) {
        lab_give_up(lab, "a sixteenth of the device is less than four granules");
    }
    if (!lab_is_over(lab)) {
        lab_fill(lab);
    }
    return !lab_is_over(lab);
}

/* The blocks of count small units from index first on become one; it lies where they lay, because
 * the device is full. */
static void join_row(struct lab *lab, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    (void)lab_alloc(lab, count * lab->unit_bytes);
}

/* Each span is filled exactly by 4 3 3 alone, so a 4 and a 3 change places. */
void experiment_exchange(struct lab *lab)
{
    enum { SPAN = 10, ROW = 2 * SPAN + 1 };
    static const size_t sizes[] = {4, 4, 2, 1, 3, 3, 3, 1}; /* from the bottom up */
    if (!lab_may_ask(lab, 1) || !fill_small(lab)) {
        return;
    }
    const size_t row = lab_find_row(lab, 0, ROW);
    size_t movable[ROW];
    for (size_t i = 0; i < ROW; i++) {
        movable[i] = row + i + (i >= SPAN);
    }
    lab_hold_others(lab, movable, ROW - 1);
    for (size_t i = 0, at = row; i < sizeof sizes / sizeof *sizes && !lab_is_over(lab); i++) {
        if (sizes[i] >= 3) {
            join_row(lab, at, sizes[i]);
        }
        at += sizes[i];
    }
    const size_t holes[] = {row + 8, row + 9, row + ROW - 1};
    for (size_t i = 0; i < 3 && !lab_is_over(lab); i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[holes[i]].op);
    }
    (void)lab_ask(lab, 3 * lab->unit_bytes);
    lab_touch_all(lab);
}

/* The block of 17 leaves an aligned place for the request only if it goes to one end of the span,
 * and that of 19 to the only other place that its alignment allows. */
void experiment_aligned_repack(struct lab *lab)
{
    enum { ROW = 61, ALIGN_LOG2 = 5 };
    const uint64_t small = lab->unit_bytes / SMALL;
    const unsigned log2 = small == 0 ? 0 : 63U - (unsigned)__builtin_clzll(small);
    const uint64_t largest = lab->limits.largest_align_bytes;
    if (log2 + ALIGN_LOG2 > OP_ALIGN_LOG2_MAX || (largest != 0 && small << ALIGN_LOG2 > largest)) {
        lab_give_up(lab, "half of the device is no alignment that is granted");
    }
    if (!lab_may_ask(lab, 5) || !fill_small(lab)) {
        return;
    }
    for (size_t i = ROW; i < lab->block_count; i++) {
        (void)lab_name(lab, OP_HOLD, lab->blocks[i].op);
    }
    for (size_t i = 0; i < ROW && i < lab->block_count; i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    (void)lab_alloc(lab, 17 * small);
    (void)lab_alloc_aligned(lab, 19 * small, log2 + ALIGN_LOG2);
    lab->trace->asked = lab_alloc_aligned(lab, 15 * small, log2 + ALIGN_LOG2 - 1);
    lab_touch_all(lab);
}

void experiment_compact(struct lab *lab)
{
    const size_t half = lab->block_count / 2;
    if (!lab_may_ask(lab, half)) {
        return;
    }
    for (size_t i = 0; i < lab->block_count; i += 2) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    (void)lab_ask(lab, half * lab->unit_bytes);
    lab_touch_all(lab);
    lab_report(lab);
}

/* Every second block goes; the others may not move. */
static void try_pinned(struct lab *lab, enum op_kind kind, uint64_t delay_ns)
{
    for (size_t i = 0; i < lab->block_count; i++) {
        if (i % 2 == 0) {
            (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
        } else if (kind == OP_HOLD) {
            (void)lab_name(lab, OP_HOLD, lab->blocks[i].op);
        } else {
            (void)lab_until(lab, kind, lab->blocks[i].op, delay_ns);
        }
    }
    (void)lab_ask(lab, 2 * lab->unit_bytes);
    lab_touch_all(lab);
}

void experiment_held_blocks(struct lab *lab)
{
    try_pinned(lab, OP_HOLD, 0);
}

void experiment_used_blocks(struct lab *lab)
{
    try_pinned(lab, OP_USE, DELAY_NEVER);
}

/* --- evicting --- */

void experiment_evict(struct lab *lab)
{
    lab_load_and_fill(lab, 1);
    (void)lab_ask(lab, lab->unit_bytes);
    lab_ask_again(lab, EXPERIMENT_REFUSAL_COUNT);
}

void experiment_evict_several(struct lab *lab)
{
    lab_load_and_fill(lab, 3);
    (void)lab_ask(lab, 3 * lab->unit_bytes);
}

void experiment_evict_for_program(struct lab *lab)
{
    lab_load_and_fill(lab, 1);
    lab->trace->asked = lab_load(lab, lab->unit_bytes, 0);
}

void experiment_busy_program(struct lab *lab)
{
    const uint32_t program = lab_load(lab, lab->unit_bytes, 0);
    lab_fill(lab);
    (void)lab_until(lab, OP_EXECUTE, program, EXPERIMENT_DELAY_NS);
    lab_hold_others(lab, NULL, 0);
    (void)lab_ask(lab, lab->unit_bytes);
    lab_ask_again(lab, REPEAT_COUNT);
}

/* --- the order --- */

/* A request of two units, whose block has no more than that: so that what makes two units free
 * makes room for it, for certain. */
static bool is_exact(struct lab *lab)
{
    const uint64_t asked = 2 * lab->unit_bytes;
    (void)lab_may_ask(lab, 2);
    if (rounding_bytes_needed(&lab->trace->contract.rounding, lab->granule_bytes, asked) != asked) {
        lab_give_up(lab, "its blocks may be larger than the request: which mitigation is enough is "
                         "not certain");
    }
    return !lab_is_over(lab);
}

void experiment_order_drain_move(struct lab *lab)
{
    if (!is_exact(lab)) {
        return;
    }
    const uint32_t pair = lab_alloc(lab, 2 * lab->unit_bytes);
    lab_fill(lab);
    if (lab_make_slide(lab) < lab->block_count) {
        (void)lab_name(lab, OP_RELEASE, pair);
        (void)lab_until(lab, OP_FREE_AFTER, pair, EXPERIMENT_DELAY_NS);
        (void)lab_ask(lab, 2 * lab->unit_bytes);
    }
}

void experiment_order_drain_evict(struct lab *lab)
{
    if (!is_exact(lab)) {
        return;
    }
    const uint32_t pair = lab_alloc(lab, 2 * lab->unit_bytes);
    (void)lab_load(lab, 2 * lab->unit_bytes, 0);
    lab_fill(lab);
    lab_hold_others(lab, NULL, 0);
    (void)lab_name(lab, OP_RELEASE, pair);
    (void)lab_until(lab, OP_FREE_AFTER, pair, EXPERIMENT_DELAY_NS);
    (void)lab_ask(lab, 2 * lab->unit_bytes);
}

void experiment_order_move_evict(struct lab *lab)
{
    if (!is_exact(lab)) {
        return;
    }
    (void)lab_load(lab, 2 * lab->unit_bytes, 0);
    lab_fill(lab);
    if (lab_make_slide(lab) < lab->block_count) {
        (void)lab_ask(lab, 2 * lab->unit_bytes);
    }
}
