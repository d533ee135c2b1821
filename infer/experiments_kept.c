/* What is kept after a free: for the stream behind whose work it was freed, and for the recording
 * that writes to it. */
#include "infer/private/experiments.h"

enum { STREAM_OWN = 1, STREAM_OTHER = 2 };

/* A full device in which all else is held, and a hole of one unit.  False: it gave up. */
static bool make_hole(struct lab *lab)
{
    lab_fill(lab);
    const size_t row = lab_find_row(lab, 0, 1);
    if (lab_is_over(lab)) {
        return false;
    }
    lab_hold_others(lab, &row, 1);
    (void)lab_name(lab, OP_FREE, lab->blocks[row].op);
    return true;
}

void experiment_streams(struct lab *lab)
{
    if (!make_hole(lab)) {
        return;
    }
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
    if (!make_hole(lab)) {
        return;
    }
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
    const struct op begin = op_make(OP_RECORD), end = op_make(OP_RECORD_END);
    const uint32_t recording = lab_step(lab, &begin);
    uint32_t block = lab_alloc(lab, lab->unit_bytes);
    if (frees_inside) {
        (void)lab_name(lab, OP_FREE, block);
        block = lab_alloc(lab, lab->unit_bytes);
        (void)lab_name(lab, OP_FREE, block);
    }
    (void)lab_step(lab, &end);
    if (!frees_inside) {
        (void)lab_name(lab, OP_FREE, block);
    }
    (void)lab_ask(lab, lab->unit_bytes);
    (void)lab_name(lab, OP_RECORD_DROP, recording);
    (void)lab_name(lab, OP_FREE, lab_alloc(lab, lab->unit_bytes));
}

void experiment_recordings(struct lab *lab)
{
    if (make_hole(lab)) {
        try_recording(lab, true);
        try_recording(lab, false);
    }
}
