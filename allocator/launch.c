#include "allocator/private/launch.h"
#include "allocator/private/heap.h"
#include "allocator/private/state.h"

/* A launch on its way.  Everything that can fail comes first; donations are carried out last,
 * because they alone cannot be undone. */
struct launching {
    struct hbm *hbm;
    const struct hbm_launch *launch;
    uint32_t *numbers;  /* [output_count]: block of each output; donated ones: of their input */
    uint32_t *shapes;   /* [output_count]: interned shape of each donated output */
    size_t ready_count; /* outputs allocated, or prepared for donation */
    size_t held_count;  /* inputs held */
};

static size_t find_donated_input(const struct hbm_launch *launch, size_t output)
{
    return launch->donations == NULL ? HBM_NOT_DONATED : launch->donations[output];
}

/* A donated input must appear once: what else it is read for would see the output. */
static bool is_donation_single(const struct hbm_launch *launch, size_t output)
{
    const size_t input = find_donated_input(launch, output);
    for (size_t i = 0; i < output; i++) {
        if (find_donated_input(launch, i) == input) {
            return false;
        }
    }
    for (size_t i = 0; i < launch->input_count; i++) {
        if (i != input && launch->inputs[i] == launch->inputs[input]) {
            return false;
        }
    }
    return true;
}

static enum hbm_result check_outputs(const struct hbm *hbm, const struct hbm_launch *launch)
{
    for (size_t i = 0; i < launch->output_count; i++) {
        const enum hbm_result result = hbm_request_check(hbm, &launch->outputs[i]);
        if (result != HBM_OK) {
            return result;
        }
        const size_t input = find_donated_input(launch, i);
        if (input == HBM_NOT_DONATED) {
            continue;
        }
        if (input >= launch->input_count || !is_donation_single(launch, i)) {
            return hbm_fail_invalid(hbm, "a donation names no input, or one that is used twice");
        }
    }
    return HBM_OK;
}

static enum hbm_result check_donations(const struct launching *launching)
{
    const struct hbm_launch *launch = launching->launch;
    for (size_t i = 0; i < launch->output_count; i++) {
        const size_t input = find_donated_input(launch, i);
        if (input == HBM_NOT_DONATED) {
            continue;
        }
        const enum hbm_result result = hbm_donation_check(
            launching->hbm, hbm_block_of(launch->inputs[input]), &launch->outputs[i]);
        if (result != HBM_OK) {
            return result;
        }
    }
    return HBM_OK;
}

static enum hbm_result hold_inputs(struct launching *launching)
{
    HBM_CHECK(launching->held_count == 0);
    const struct hbm_launch *launch = launching->launch;
    for (; launching->held_count < launch->input_count; launching->held_count++) {
        struct hbm_block *block = hbm_block_of(launch->inputs[launching->held_count]);
        if (block->dying || block->hold_count == UINT32_MAX) {
            return hbm_fail_invalid(launching->hbm,
                                    "an input is freed, or has too many references");
        }
        if (hbm_block_is_stranded(block)) {
            return hbm_fail_unavailable(launching->hbm,
                                        "the contents of an input are stranded on the host");
        }
        block->hold_count++;
    }
    HBM_CHECK(launching->held_count == launch->input_count);
    return HBM_OK;
}

static void release_inputs(struct launching *launching)
{
    HBM_CHECK(launching->held_count <= launching->launch->input_count);
    struct hbm *hbm = launching->hbm;
    while (launching->held_count != 0) {
        struct hbm_block *block = hbm_block_of(launching->launch->inputs[--launching->held_count]);
        block->hold_count--;
        hbm_block_settle(hbm, hbm_heap_number(&hbm->heap, block));
    }
    HBM_CHECK(launching->held_count == 0);
}

/* Outputs are held until the event is theirs, so that making room for the next does not move them.
 */
static enum hbm_result prepare_output(struct launching *launching, size_t output)
{
    HBM_CHECK(output < launching->launch->output_count);
    struct hbm *hbm = launching->hbm;
    const struct hbm_request *request = &launching->launch->outputs[output];
    const size_t input = find_donated_input(launching->launch, output);
    launching->shapes[output] = HBM_POOL_NONE;
    if (input == HBM_NOT_DONATED) {
        const enum hbm_result result = hbm_buffer_take(hbm, request, &launching->numbers[output]);
        HBM_CHECK(result != HBM_OK || launching->numbers[output] != HBM_POOL_NONE);
        if (result == HBM_OK) {
            hbm_heap_at(&hbm->heap, launching->numbers[output])->hold_count = 1;
        }
        return result;
    }
    launching->numbers[output] = hbm_heap_number(&hbm->heap,
                                                 hbm_block_of(launching->launch->inputs[input]));
    if (request->shape == NULL) {
        return HBM_OK;
    }
    launching->shapes[output] = hbm_shapes_take(&hbm->shapes, request->shape);
    return launching->shapes[output] != HBM_POOL_NONE
               ? HBM_OK
               : hbm_fail_unavailable(hbm, "no host memory for a shape");
}

static enum hbm_result prepare_outputs(struct launching *launching)
{
    HBM_CHECK(launching->ready_count == 0);
    for (; launching->ready_count < launching->launch->output_count; launching->ready_count++) {
        const enum hbm_result result = prepare_output(launching, launching->ready_count);
        if (result != HBM_OK) {
            return result;
        }
    }
    HBM_CHECK(launching->ready_count == launching->launch->output_count);
    return HBM_OK;
}

static void undo_launch(struct launching *launching)
{
    HBM_CHECK(launching->ready_count <= launching->launch->output_count);
    while (launching->ready_count != 0) {
        const size_t output = --launching->ready_count;
        if (find_donated_input(launching->launch, output) == HBM_NOT_DONATED) {
            hbm_buffer_untake(launching->hbm, launching->numbers[output]);
        } else {
            hbm_shapes_give(&launching->hbm->shapes, launching->shapes[output]);
        }
    }
    release_inputs(launching);
    HBM_CHECK(launching->held_count == 0);
}

static void start_block_use(struct hbm *hbm, uint32_t number, uint64_t event, bool done)
{
    HBM_CHECK(number != HBM_POOL_NONE);
    if (done) {
        return;
    }
    hbm_pending_add(&hbm->pending, event, number);
    hbm_block_use(&hbm->heap, number);
}

static void commit_launch(struct launching *launching, struct hbm_buffer **outputs)
{
    HBM_CHECK(launching->ready_count == launching->launch->output_count);
    HBM_CHECK(launching->held_count == launching->launch->input_count);
    struct hbm *hbm = launching->hbm;
    const struct hbm_launch *launch = launching->launch;
    const struct hbm_services *services = &hbm->host.services;
    const bool done = services->event_done(services->context, launch->event);
    for (size_t i = 0; i < launch->input_count; i++) {
        start_block_use(hbm, hbm_heap_number(&hbm->heap, hbm_block_of(launch->inputs[i])),
                        launch->event, done);
    }
    release_inputs(launching);
    for (size_t i = 0; i < launch->output_count; i++) {
        struct hbm_block *block = hbm_heap_at(&hbm->heap, launching->numbers[i]);
        outputs[i] = (struct hbm_buffer *)block;
        if (find_donated_input(launch, i) != HBM_NOT_DONATED) {
            hbm_buffer_become(hbm, launching->numbers[i], &launch->outputs[i],
                              launching->shapes[i]);
            continue;
        }
        block->hold_count = 0;
        start_block_use(hbm, launching->numbers[i], launch->event, done);
        hbm_largest_note(hbm, block->size_bytes);
    }
    hbm_program_start(hbm, launch->program, launch->event);
}

/* While the outputs are made, the program must not be evicted for them: it would only be loaded
 * again. */
static enum hbm_result run_launch(struct launching *launching, struct hbm_buffer **outputs)
{
    HBM_CHECK(launching->held_count == 0);
    const struct hbm_launch *launch = launching->launch;
    enum hbm_result result = check_donations(launching);
    if (result != HBM_OK) {
        return result;
    }
    launch->program->pin_count++;
    result = hold_inputs(launching);
    if (result == HBM_OK) {
        result = prepare_outputs(launching);
    }
    if (result == HBM_OK) {
        result = hbm_program_prepare(launching->hbm, launch->program,
                                     (uint32_t)(launch->input_count + launch->output_count + 1));
    }
    HBM_CHECK(launch->program->pin_count != 0);
    launch->program->pin_count--;
    launching->hbm->room_count++;
    if (result == HBM_OK) {
        commit_launch(launching, outputs);
    } else {
        undo_launch(launching);
    }
    return result;
}

static enum hbm_result launch_with_lock(struct hbm *hbm, const struct hbm_launch *launch,
                                        struct hbm_buffer **outputs)
{
    struct launching launching = {.hbm = hbm, .launch = launch};
    const size_t count = launch->output_count;
    if (count != 0) {
        launching.numbers = hbm_host_array(&hbm->host, count, 2 * sizeof(uint32_t));
        if (launching.numbers == NULL) {
            return hbm_fail_unavailable(hbm, "no host memory for a launch");
        }
        launching.shapes = launching.numbers + count;
    }
    const enum hbm_result result = run_launch(&launching, outputs);
    HBM_CHECK(launching.held_count == 0);
    HBM_CHECK((launching.numbers == NULL) == (count == 0));
    hbm_host_free(&hbm->host, launching.numbers, count, 2 * sizeof(uint32_t));
    return result;
}

enum hbm_result hbm_launch(struct hbm *hbm, const struct hbm_launch *launch,
                           struct hbm_buffer **outputs)
{
    if (launch->program == NULL) {
        return hbm_fail_invalid(hbm, "a launch needs a program");
    }
    if (launch->input_count >= UINT32_MAX / 4 || launch->output_count >= UINT32_MAX / 4) {
        return hbm_fail_invalid(hbm, "too many inputs or outputs");
    }
    enum hbm_result result = check_outputs(hbm, launch);
    if (result != HBM_OK) {
        return result;
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    result = launch_with_lock(hbm, launch, outputs);
    hbm_lock_give(&hbm->lock);
    return result;
}
