/* What an allocator gives back asleep, and what it has again awake. */
#include "infer/private/experiments.h"

/* A full device but for one block, with a program where there are programs, and a held block. */
static void fill_for_sleep(struct lab *lab)
{
    if (lab->trace->contract.programs) {
        (void)lab_load(lab, lab->unit_bytes, 0);
    }
    lab_fill(lab);
    const size_t row = lab_find_row(lab, 0, 2);
    if (!lab_is_over(lab)) {
        (void)lab_name(lab, OP_HOLD, lab->blocks[row].op);
        (void)lab_name(lab, OP_FREE, lab->blocks[row + 1].op);
    }
}

static uint32_t step_kind(struct lab *lab, enum op_kind kind)
{
    const struct op op = op_make(kind);
    return lab_step(lab, &op);
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
        (void)step_kind(lab, OP_SLEEP);
        lab->trace->asked = step_kind(lab, OP_WAKE);
    }
    look_at_all(lab);
    (void)step_kind(lab, OP_SLEEP);
    lab_report(lab);
    (void)step_kind(lab, OP_WAKE);
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
    lab->trace->asked = step_kind(lab, kind);
    lab_disarm(lab, fault);
    (void)step_kind(lab, kind);
}

void experiment_refused_sleep(struct lab *lab)
{
    enum { REFUSED_COUNT = 4 };
    fill_for_sleep(lab);
    step_under(lab, OP_SLEEP, FAULT_HOST_MEMORY, 1);
    (void)step_kind(lab, OP_WAKE);
    step_under(lab, OP_SLEEP, FAULT_COPY, 1);
    (void)step_kind(lab, OP_WAKE);
    look_at_all(lab);
    for (uint64_t nth = 1; nth <= REFUSED_COUNT; nth++) {
        (void)step_kind(lab, OP_SLEEP);
        step_under(lab, OP_WAKE, FAULT_COPY, nth);
        look_at_all(lab);
    }
}
