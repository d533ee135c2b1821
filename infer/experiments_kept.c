/* What is kept after a free, for the stream behind whose work it was freed and for the recording
 * that writes to it; and what an allocator gives back asleep, and has again awake. */
#include "infer/experiment.h"

enum { STREAM_OWN = 1, STREAM_OTHER = 2 };

/* In a full device: a hole of one unit, all else held. */
static void make_hole(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 1);
    lab_hold_others(lab, &row, 1);
    (void)lab_name(lab, OP_FREE, lab_op(lab, row));
}

void experiment_streams(struct lab *lab)
{
    make_hole(lab);
    const uint32_t block = lab_alloc_on(lab, lab->unit_bytes, STREAM_OWN);
    const uint32_t first = lab_until_on(lab, OP_FREE_AFTER, block, DELAY_NEVER, STREAM_OWN);
    (void)lab_alloc_on(lab, lab->unit_bytes, STREAM_OTHER);
    const uint32_t again = lab_alloc_on(lab, lab->unit_bytes, STREAM_OWN);
    lab->trace->asked = again;
    const uint32_t second = lab_until_on(lab, OP_FREE_AFTER, again, DELAY_NEVER, STREAM_OWN);
    lab_complete(lab, first);
    lab_complete(lab, second);
    (void)lab_alloc_on(lab, lab->unit_bytes, STREAM_OTHER);
}

void experiment_stream_uses(struct lab *lab)
{
    make_hole(lab);
    const uint32_t block = lab_alloc_on(lab, lab->unit_bytes, STREAM_OWN);
    const uint32_t use = lab_until_on(lab, OP_USE, block, DELAY_NEVER, STREAM_OTHER);
    (void)lab_name(lab, OP_FREE, block);
    lab->trace->asked = lab_alloc_on(lab, lab->unit_bytes, STREAM_OWN);
    lab_complete(lab, use);
    (void)lab_alloc_on(lab, lab->unit_bytes, STREAM_OWN);
}

/* A recording takes the hole and frees it, in itself or after its end.  Nobody else may have it,
 * and after the drop it is the hole again. */
static void try_recording(struct lab *lab, bool frees_inside)
{
    const uint32_t recording = lab_name(lab, OP_RECORD, OP_NONE);
    uint32_t block = lab_alloc(lab, lab->unit_bytes);
    if (frees_inside) {
        (void)lab_name(lab, OP_FREE, block);
        block = lab_alloc(lab, lab->unit_bytes);
        (void)lab_name(lab, OP_FREE, block);
    }
    (void)lab_name(lab, OP_RECORD_END, OP_NONE);
    if (!frees_inside) {
        (void)lab_name(lab, OP_FREE, block);
    }
    (void)lab_ask(lab, lab->unit_bytes);
    (void)lab_name(lab, OP_RECORD_DROP, recording);
    (void)lab_name(lab, OP_FREE, lab_alloc(lab, lab->unit_bytes));
}

void experiment_recordings(struct lab *lab)
{
    make_hole(lab);
    try_recording(lab, true);
    try_recording(lab, false);
}

/* --- asleep --- */

/* A full device but for one block, with a program where there are programs, and a held block. */
static void fill_for_sleep(struct lab *lab)
{
    if (lab->trace->contract.programs) {
        (void)lab_load(lab, lab->unit_bytes, 0);
    }
    lab_fill(lab);
    const size_t row = lab_find_row(lab, 0, 2);
    (void)lab_name(lab, OP_HOLD, lab_op(lab, row));
    (void)lab_name(lab, OP_FREE, lab_op(lab, row + 1));
}

static void look_at_all(struct lab *lab)
{
    lab_touch_all(lab);
    lab_report(lab);
}

/* Host memory is compared only between cycles that follow each other at once. */
void experiment_sleep(struct lab *lab)
{
    enum { CYCLE_COUNT = 2 };
    fill_for_sleep(lab);
    for (size_t i = 0; i < CYCLE_COUNT; i++) {
        (void)lab_name(lab, OP_SLEEP, OP_NONE);
        lab->trace->asked = lab_name(lab, OP_WAKE, OP_NONE);
    }
    look_at_all(lab);
    (void)lab_name(lab, OP_SLEEP, OP_NONE);
    lab_report(lab);
    (void)lab_name(lab, OP_WAKE, OP_NONE);
    look_at_all(lab);
    (void)lab_alloc(lab, lab->unit_bytes);
}

/* The fault strikes its nth call of a sleep or wake, which is made again without it. */
static void step_under(struct lab *lab, enum op_kind kind, enum fault_kind fault, uint64_t nth)
{
    struct op arm = op_make(OP_FAULT);
    arm.tag = (uint8_t)fault;
    arm.size_bytes = nth;
    (void)lab_step(lab, &arm);
    lab->trace->asked = lab_name(lab, kind, OP_NONE);
    lab_disarm(lab, fault);
    (void)lab_name(lab, kind, OP_NONE);
}

void experiment_refused_sleep(struct lab *lab)
{
    enum { REFUSED_COUNT = 4 };
    fill_for_sleep(lab);
    step_under(lab, OP_SLEEP, FAULT_HOST_MEMORY, 1);
    (void)lab_name(lab, OP_WAKE, OP_NONE);
    step_under(lab, OP_SLEEP, FAULT_COPY, 1);
    (void)lab_name(lab, OP_WAKE, OP_NONE);
    look_at_all(lab);
    for (uint64_t nth = 1; nth <= REFUSED_COUNT; nth++) {
        (void)lab_name(lab, OP_SLEEP, OP_NONE);
        step_under(lab, OP_WAKE, FAULT_COPY, nth);
        look_at_all(lab);
    }
}
