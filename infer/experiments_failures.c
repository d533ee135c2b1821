/* What survives a call that failed, and a device that refuses. */
#include "infer/experiment.h"

#include "harness/op/rounding.h"

/* --- words --- */

/* The text has a number for the largest hole. */
static void try_fragmented(struct lab *lab)
{
    for (size_t i = 0; i < lab->block_count; i++) {
        (void)lab_name(lab, i % 2 == 0 ? OP_HOLD : OP_FREE, lab->blocks[i].op);
    }
    (void)lab_alloc(lab, lab->capacity_bytes);
}

void experiment_error_texts(struct lab *lab)
{
    (void)lab_alloc(lab, 0);
    (void)lab_ask(lab, 2 * lab->capacity_bytes);
    lab_fill(lab);
    (void)lab_alloc(lab, lab->unit_bytes);
    if (lab->trace->contract.documented_messages) {
        try_fragmented(lab);
    }
    if (lab->trace->contract.programs) {
        (void)lab_load(lab, lab->capacity_bytes, 0);
        (void)lab_load(lab, lab->granule_bytes, 2 * lab->capacity_bytes);
    }
}

static void free_every_second(struct lab *lab)
{
    for (size_t i = 0; i < lab->block_count; i += 2) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
}

void experiment_invalid_requests(struct lab *lab)
{
    if (lab->trace->contract.defrag != DEFRAG_NONE) {
        free_every_second(lab); /* there is something to move */
    }
    (void)lab_ask(lab, 0);
    (void)lab_alloc(lab, ROUNDING_BYTES_MAX + 1);
    (void)lab_alloc(lab, UINT64_MAX);
    if (lab->trace->contract.programs) {
        (void)lab_load(lab, 0, 0);
        (void)lab_load(lab, UINT64_MAX, 0);
    }
    lab_touch_all(lab);
    lab_report(lab);
}

/* --- refusals --- */

/* The request under the fault, what is left, and the request again without it. */
static void ask_under(struct lab *lab, enum fault_kind kind, uint64_t size_bytes)
{
    lab_fault(lab, kind, true);
    (void)lab_ask_elsewhere(lab, size_bytes);
    lab_disarm(lab, kind);
    lab_touch_all(lab);
    lab_report(lab);
    const struct lab_sight *asked = trace_sight(lab->trace, lab->trace->asked);
    if (asked != NULL && asked->seen.result != TARGET_OK) {
        (void)lab_alloc(lab, size_bytes);
    }
}

void experiment_refused_copy(struct lab *lab)
{
    (void)lab_make_slide(lab);
    ask_under(lab, FAULT_COPY, 2 * lab->unit_bytes);
}

void experiment_refused_wait(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 1);
    (void)lab_until(lab, OP_FREE_AFTER, lab_op(lab, row), EXPERIMENT_DELAY_NS);
    ask_under(lab, FAULT_WAIT, lab->unit_bytes);
}

void experiment_refused_unload(struct lab *lab)
{
    lab_load_and_fill(lab, 1);
    ask_under(lab, FAULT_UNLOAD, lab->unit_bytes);
}

void experiment_refused_host_memory(struct lab *lab)
{
    if (lab->block_count < 6) {
        lab_give_up(lab, "fewer than six blocks fill the device");
        return;
    }
    free_every_second(lab);
    const uint32_t block = lab->blocks[1].op, other = lab->blocks[3].op;
    lab_fault(lab, FAULT_HOST_MEMORY, true);
    (void)lab_ask(lab, lab->unit_bytes);
    (void)lab_name(lab, OP_HOLD, block);
    (void)lab_until(lab, OP_USE, block, EXPERIMENT_DELAY_NS);
    (void)lab_until(lab, OP_FREE_AFTER, other, EXPERIMENT_DELAY_NS);
    if (lab->trace->contract.programs) {
        (void)lab_load(lab, lab->unit_bytes, 0);
    }
    lab_disarm(lab, FAULT_HOST_MEMORY);
    lab_fault(lab, FAULT_HOST_MEMORY, false);
    (void)lab_until(lab, OP_FREE_AFTER, lab->blocks[5].op, EXPERIMENT_DELAY_NS);
    lab_disarm(lab, FAULT_HOST_MEMORY);
    lab_touch_all(lab);
    lab_report(lab);
    (void)lab_alloc(lab, lab->unit_bytes);
}

/* --- in part --- */

void experiment_partial_copy(struct lab *lab)
{
    (void)lab_make_slide(lab);
    lab_fault(lab, FAULT_COPY_HALF, false);
    (void)lab_ask(lab, 2 * lab->unit_bytes);
    lab_touch_all(lab);
}

void experiment_partial_unload(struct lab *lab)
{
    lab_load_and_fill(lab, 1);
    lab_fault(lab, FAULT_UNLOAD_HALF, false);
    (void)lab_ask(lab, lab->unit_bytes);
    lab_touch_all(lab);
}
