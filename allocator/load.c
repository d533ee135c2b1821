#include "allocator/private/launch.h"

#include "allocator/private/call.h"
#include "allocator/private/heap.h"
#include "allocator/private/state.h"

#include <string.h>

#define NAME_BYTES_MAX 511u
/* Each place after the first is looked for because events completed: the bound is a guard against
 * other threads. */
#define PLACES_MAX 1000

static void describe_image(struct hbm *hbm, struct hbm_program *program, uint32_t number)
{
    HBM_CHECK(program->block == HBM_POOL_NONE);
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(block->size_bytes >= program->image_bytes);
    block->described = true;
    struct hbm_block_cold *cold = hbm_heap_cold(&hbm->heap, number);
    cold->used.unpadded_bytes = program->image_bytes;
    cold->used.program = program;
    cold->used.shape = HBM_POOL_NONE;
    cold->used.tag = 0;
    program->block = number;
}

/* Could the image alone have been placed?  Without a stack nothing but the image is asked for. */
static bool can_image_fit_alone(struct hbm_call *call)
{
    HBM_CHECK(call->program != NULL);
    HBM_CHECK(!call->image_only);
    if (call->program->block != HBM_POOL_NONE) {
        return true;
    }
    if (call->program->stack_bytes == 0) {
        return false;
    }
    call->image_only = true;
    const bool fits = hbm_call_could_fit(call, call->hbm->options.program_evicts_program);
    call->image_only = false;
    return fits;
}

/* Fails with the stack's text when the image fits, otherwise with the image's. */
static enum hbm_result fail_to_place(const struct hbm_call *call, bool image_fits)
{
    struct hbm *hbm = call->hbm;
    const struct hbm_program *program = call->program;
    if (image_fits) {
        return hbm_fail_memory(hbm, HBM_FAILURE_PROGRAM_STACK, program->stack_bytes, program->name);
    }
    return hbm_fail_memory(hbm, HBM_FAILURE_PROGRAM_IMAGE, program->image_bytes, program->name);
}

static bool is_within_capacity(const struct hbm *hbm, uint64_t image_bytes, uint64_t stack_bytes)
{
    const uint64_t capacity_bytes = hbm->options.capacity_bytes;
    const uint64_t image = hbm_align_up(image_bytes, hbm->heap.granule_shift);
    const uint64_t stack = hbm_align_up(stack_bytes, hbm->heap.granule_shift);
    return image <= capacity_bytes && stack <= capacity_bytes - image;
}

static enum hbm_result place_program(struct hbm *hbm, struct hbm_program *program)
{
    uint32_t number;
    if (!is_within_capacity(hbm, program->image_bytes, 0)) {
        return hbm_fail_memory(hbm, HBM_FAILURE_PROGRAM_IMAGE, program->image_bytes, program->name);
    }
    if (!is_within_capacity(hbm, program->image_bytes, program->stack_bytes)) {
        return hbm_fail_memory(hbm, HBM_FAILURE_PROGRAM_STACK, program->stack_bytes, program->name);
    }
    struct hbm_call call = hbm_call_begin(hbm, program);
    enum hbm_result result = hbm_place(&call, &number);
    for (int i = 0; i < PLACES_MAX && result == HBM_NO_MEMORY; i++) {
        const uint64_t seen = hbm->pending.completed_seen;
        const bool image_fits = can_image_fit_alone(&call);
        if (!hbm_completed_since(hbm, seen) && !call.refused) {
            return fail_to_place(&call, image_fits);
        }
        result = call.refused ? HBM_UNAVAILABLE : hbm_place(&call, &number);
    }
    if (result != HBM_OK) {
        return hbm_fail_unavailable(hbm, "a service refused what the program needed");
    }
    if (number != HBM_POOL_NONE) {
        describe_image(hbm, program, number);
    }
    HBM_CHECK(program->block != HBM_POOL_NONE);
    return HBM_OK;
}

/* After a success: counters, and the program is the most recently used. */
static void note_program(struct hbm *hbm, struct hbm_program *program)
{
    HBM_CHECK(program->block != HBM_POOL_NONE);
    const uint64_t size_bytes = hbm_heap_at(&hbm->heap, program->block)->size_bytes;
    HBM_CHECK(size_bytes >= program->image_bytes);
    hbm_largest_note(hbm, size_bytes);
    hbm_peaks_note(hbm);
    hbm_stack_settle(hbm);
    hbm->totals.bytes_reservable_limit = hbm_reservable(hbm);
    hbm_program_touch(hbm, program);
}

static enum hbm_result check_program_request(const struct hbm *hbm,
                                             const struct hbm_program_request *request)
{
    if (request->image_bytes - 1 >= HBM_SIZE_BYTES_MAX ||
        request->stack_bytes > HBM_SIZE_BYTES_MAX) {
        return hbm_fail_invalid(hbm, "an image must be 1 to 2^63 bytes, a stack up to 2^63");
    }
    if (request->name != NULL && strnlen(request->name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX) {
        return hbm_fail_invalid(hbm, "a program's name must not be longer than 511 bytes");
    }
    return HBM_OK;
}

static enum hbm_result load_with_lock(struct hbm *hbm, const struct hbm_program_request *request,
                                      struct hbm_program **out)
{
    struct hbm_program *program = hbm_program_create(hbm, request);
    if (program == NULL) {
        return hbm_fail_unavailable(hbm, "no host memory for a program");
    }
    program->pin_count = 1;
    const enum hbm_result result = place_program(hbm, program);
    HBM_CHECK(program->pin_count == 1);
    program->pin_count = 0;
    hbm->room_count++;
    if (result != HBM_OK) {
        hbm_program_destroy(hbm, program);
        return result;
    }
    HBM_CHECK(program->block != HBM_POOL_NONE);
    note_program(hbm, program);
    *out = program;
    return HBM_OK;
}

enum hbm_result hbm_program_load(struct hbm *hbm, const struct hbm_program_request *request,
                                 struct hbm_program **out)
{
    enum hbm_result result = check_program_request(hbm, request);
    if (result != HBM_OK) {
        return result;
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    result = load_with_lock(hbm, request, out);
    hbm_lock_give(&hbm->lock);
    return result;
}

void hbm_program_unload(struct hbm *hbm, struct hbm_program *program)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    HBM_CHECK(!program->unloading);
    HBM_CHECK(hbm->program_first != NULL);
    program->unloading = true;
    if (program->block == HBM_POOL_NONE) {
        hbm_program_destroy(hbm, program);
    } else {
        hbm_block_free(hbm, program->block);
    }
    hbm_lock_give(&hbm->lock);
}

void hbm_program_start(struct hbm *hbm, struct hbm_program *program, uint64_t event)
{
    HBM_CHECK(program->block != HBM_POOL_NONE);
    const struct hbm_services *services = &hbm->host.services;
    if (!services->event_done(services->context, event)) {
        hbm_pending_add(&hbm->pending, event, program->block);
        hbm_block_use(&hbm->heap, program->block);
        HBM_CHECK(hbm_heap_at(&hbm->heap, program->block)->in_use);
    }
    note_program(hbm, program);
}

static bool is_program_stranded(const struct hbm *hbm, const struct hbm_program *program)
{
    return program->block != HBM_POOL_NONE &&
           hbm_block_is_stranded(hbm_heap_at(&hbm->heap, program->block));
}

enum hbm_result hbm_program_prepare(struct hbm *hbm, struct hbm_program *program,
                                    uint32_t use_count)
{
    const bool was_loaded = program->block != HBM_POOL_NONE;
    if (is_program_stranded(hbm, program)) {
        return hbm_fail_unavailable(hbm, "the image is stranded on the host");
    }
    if (!hbm_pending_reserve(&hbm->pending, use_count)) {
        return hbm_fail_unavailable(hbm, "no host memory to remember an event");
    }
    program->pin_count++;
    const enum hbm_result result = place_program(hbm, program);
    HBM_CHECK(program->pin_count != 0);
    program->pin_count--;
    hbm->room_count++;
    if (result != HBM_OK) {
        return result;
    }
    /* Asked again, because other threads may have used up the room during a wait. */
    if (!is_program_stranded(hbm, program) && hbm_pending_reserve(&hbm->pending, use_count)) {
        return HBM_OK;
    }
    hbm_stack_settle(hbm);
    if (!was_loaded && hbm_block_is_movable(hbm_heap_at(&hbm->heap, program->block))) {
        hbm_block_free(hbm, program->block);
    }
    return hbm_fail_unavailable(hbm, "no host memory to remember an event");
}

enum hbm_result hbm_execute(struct hbm *hbm, struct hbm_program *program, uint64_t event)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    const enum hbm_result result = hbm_program_prepare(hbm, program, 1);
    if (result == HBM_OK) {
        hbm_program_start(hbm, program, event);
    }
    hbm_lock_give(&hbm->lock);
    return result;
}

bool hbm_program_is_loaded(struct hbm *hbm, const struct hbm_program *program)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    const bool loaded = program->block != HBM_POOL_NONE;
    hbm_lock_give(&hbm->lock);
    return loaded;
}

uint64_t hbm_program_address(struct hbm *hbm, const struct hbm_program *program)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    uint64_t address = HBM_ADDRESS_NONE;
    if (program->block != HBM_POOL_NONE) {
        address = hbm_block_address(hbm_heap_at(&hbm->heap, program->block));
    }
    hbm_lock_give(&hbm->lock);
    return address;
}

uint64_t hbm_program_size(struct hbm *hbm, const struct hbm_program *program)
{
    return hbm_align_up(program->image_bytes, hbm->heap.granule_shift);
}
