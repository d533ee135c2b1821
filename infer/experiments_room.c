/* What an allocator finds by itself: holes, what becomes of free neighbours, and regions. */
#include "infer/experiment.h"

#include "harness/model/model.h"

enum { HOLE_COUNT = 8 };

static uint64_t largest_request(const struct lab *lab)
{
    return lab->limits.largest_request_bytes != 0 ? lab->limits.largest_request_bytes
                                                  : lab->capacity_bytes;
}

/* The last request again, with time pinned. */
static void ask_pinned(struct lab *lab)
{
    struct op op = op_make(OP_ALLOC);
    op.flags = OP_RETRY;
    (void)lab_step(lab, &op);
}

void experiment_fill(struct lab *lab)
{
    (void)lab_ask(lab, lab->unit_bytes);
    ask_pinned(lab);
    lab_ask_again(lab, EXPERIMENT_REFUSAL_COUNT);
    lab_touch_all(lab);
    lab_report(lab);
}

/* Frees a row of `count` and asks for its size; then all of that is free again, but for one. */
static void try_hole(struct lab *lab, size_t count)
{
    lab_fill(lab);
    const size_t first = lab_find_row(lab, 0, count);
    if (lab_is_over(lab)) {
        return;
    }
    size_t indices[HOLE_COUNT];
    uint64_t size_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        indices[i] = first + i;
        size_bytes += lab->blocks[first + i].size_bytes;
    }
    lab_hold_others(lab, indices, count);
    for (size_t i = 0; i < count; i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[first + i].op);
    }
    const uint32_t op = lab_ask(lab, size_bytes);
    if (lab_was_granted(lab)) {
        (void)lab_name(lab, OP_FREE, op);
    } else {
        ask_pinned(lab);
    }
    for (size_t i = 0; i < lab->block_count; i++) {
        if (model_find(run_model(lab->run, 0), lab->blocks[i].op) != NULL) {
            (void)lab_name(lab, OP_RELEASE, lab->blocks[i].op);
            (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
        }
    }
}

void experiment_holes(struct lab *lab)
{
    for (size_t count = 1; count <= HOLE_COUNT && count * lab->unit_bytes <= largest_request(lab);
         count++) {
        try_hole(lab, count);
    }
}

/* Three blocks of so many granules, and all else in use: the middle one goes and is asked for. */
static void try_small_hole(struct lab *lab, uint64_t size_bytes)
{
    const struct model *model = run_model(lab->run, 0);
    uint32_t ops[3], rest[HOLE_COUNT * HOLE_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        ops[i] = lab_alloc(lab, size_bytes);
        (void)lab_name(lab, OP_HOLD, ops[i]);
    }
    while (!lab_is_over(lab) && count < sizeof rest / sizeof *rest &&
           model_largest_hole_bytes(model) >= lab->granule_bytes) {
        const uint64_t hole = model_largest_hole_bytes(model);
        rest[count] = lab_alloc(lab, hole < largest_request(lab) ? hole : largest_request(lab));
        if (!lab_was_granted(lab)) {
            break;
        }
        (void)lab_name(lab, OP_HOLD, rest[count++]);
    }
    (void)lab_name(lab, OP_RELEASE, ops[1]);
    (void)lab_name(lab, OP_FREE, ops[1]);
    ops[1] = lab_ask(lab, size_bytes);
    (void)lab_name(lab, OP_HOLD, ops[1]);
    for (size_t i = 0; i < count + 3; i++) {
        const uint32_t op = i < 3 ? ops[i] : rest[i - 3];
        if (op != OP_NONE) {
            (void)lab_name(lab, OP_RELEASE, op);
            (void)lab_name(lab, OP_FREE, op);
        }
    }
}

void experiment_small_holes(struct lab *lab)
{
    for (uint64_t i = 1; i <= HOLE_COUNT && i * lab->granule_bytes <= largest_request(lab); i++) {
        try_small_hole(lab, i * lab->granule_bytes);
    }
}

void experiment_two_holes(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 2), other = lab_find_row(lab, row + 3, 1);
    const size_t holes[] = {row, row + 1, other};
    lab_hold_others(lab, holes, 3);
    for (size_t i = 0; i < 3; i++) {
        (void)lab_name(lab, OP_FREE, lab_op(lab, holes[i]));
    }
    for (size_t i = 0; i < EXPERIMENT_REFUSAL_COUNT && !lab_is_over(lab); i++) {
        (void)lab_name(lab, OP_FREE, lab_ask(lab, 2 * lab->unit_bytes));
    }
}

/* The lowest of three neighbours, at a multiple of two units. */
static size_t find_aligned_row(struct lab *lab)
{
    size_t row = lab_find_row(lab, 0, 3);
    while (!lab_is_over(lab) && lab->blocks[row].address % (2 * lab->unit_bytes) != 0) {
        row = lab_find_row(lab, row + 1, 3);
    }
    return row;
}

/* Where the contract has no addresses, all are 0, and there is no such row. */
void experiment_unaligned_hole(struct lab *lab)
{
    const size_t row = find_aligned_row(lab);
    const size_t blocks[] = {row, row + 1, row + 2};
    lab_hold_others(lab, blocks, 3);
    (void)lab_name(lab, OP_FREE, lab_op(lab, row + 1));
    (void)lab_name(lab, OP_FREE, lab_op(lab, row + 2));
    (void)lab_ask(lab, 2 * lab->unit_bytes);
    if (!lab_was_granted(lab)) {
        (void)lab_name(lab, OP_FREE, lab_op(lab, row));
        (void)lab_alloc(lab, 2 * lab->unit_bytes);
    }
}

void experiment_coalesce(struct lab *lab)
{
    if (largest_request(lab) <= lab->unit_bytes) {
        lab_give_up(lab, "no request is larger than one block");
    }
    for (size_t parity = 0; parity < 2; parity++) {
        for (size_t i = parity; i < lab->block_count; i += 2) {
            (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
        }
    }
    (void)lab_ask(lab, largest_request(lab));
    if (!lab_was_granted(lab)) {
        (void)lab_name(lab, OP_DEFRAGMENT, OP_NONE);
        (void)lab_alloc(lab, largest_request(lab));
    }
}

void experiment_donation(struct lab *lab)
{
    struct op op = op_make(OP_DONATE);
    op.ref = lab_alloc(lab, lab->unit_bytes);
    op.size_bytes = lab->unit_bytes;
    lab->trace->asked = lab_step(lab, &op);
    op.ref = lab->trace->asked;
    op.size_bytes = lab->unit_bytes / 2 == 0 ? 1 : lab->unit_bytes / 2;
    if (lab_was_granted(lab)) {
        (void)lab_step(lab, &op);
    }
}

/* --- regions --- */

void experiment_grow(struct lab *lab)
{
    (void)lab_ask(lab, lab->granule_bytes);
    lab_fill(lab);
    lab_touch_all(lab);
    lab_report(lab);
}

/* All that an empty device grants, and free again. */
static void ask_for_all(struct lab *lab)
{
    (void)lab_ask(lab, largest_request(lab));
    if (lab_was_granted(lab)) {
        (void)lab_name(lab, OP_FREE, lab->trace->asked);
    }
}

void experiment_trim(struct lab *lab)
{
    (void)lab_name(lab, OP_FREE, lab_alloc(lab, lab->granule_bytes));
    ask_for_all(lab);
    const uint32_t lower = lab_alloc(lab, lab->granule_bytes);
    const uint32_t upper = lab_alloc(lab, lab->granule_bytes);
    (void)lab_name(lab, OP_FREE, lower);
    ask_for_all(lab);
    (void)lab_name(lab, OP_TOUCH, upper);
    (void)lab_name(lab, OP_FREE, upper);
    ask_for_all(lab);
}
