#include "fuzz/hbm_calls/calls.h"

#include "fuzz/hbm_calls/private/state.h"

#include <string.h>

/* --- the input ----------------------------------------------------------------------------------
 *
 *   0      defrag (bits 0-1), granule as a power of two (2-5), program_evicts_program (6),
 *          message code (7)
 *   1      order (bits 0-2), report on an out-of-memory (3), coordinate (4), ends with
 *          everything allocated (5), nodes of the search: few or many (6)
 *   2-3    capacity in granules, less one
 *   4      chip, in the place of the capacity; 0 none
 *   5      what is wrong with the options; 0 nothing
 *   6      the allocation of host memory that is refused, from 1, counted from the start
 *   7      how many more are
 *
 * and calls of four bytes each: kind and three numbers. */

enum { INPUTS_MAX = 7, OUTPUTS_MAX = 7 };

struct drawn_call {
    uint8_t kind, a, b, c;
};

/* --- calls --- */

static enum hbm_result allocate_buffer(struct calls_play *play, const struct hbm_request *request)
{
    struct hbm_buffer *handle = NULL;
    if (play->buffer_count == CALLS_BUFFERS_MAX) {
        return HBM_OK;
    }
    const enum hbm_result result = hbm_allocate(play->hbm, request, &handle);
    if (result == HBM_OK) {
        calls_expect(play, hbm_buffer_size(play->hbm, handle) >= request->size_bytes,
                     "a block is smaller than the request");
        calls_add_buffer(play, handle);
    }
    return result;
}

static enum hbm_result call_allocate(struct calls_play *play, const struct drawn_call *call)
{
    struct hbm_shape shape;
    const unsigned granules = 1u + call->a + 256u * (call->b & 15u);
    const struct hbm_request request = calls_make_request(play, granules, call->b, call->c, &shape);
    return allocate_buffer(play, &request);
}

/* Many at once, each with a shape of its own, so that every table grows; sizes from 1 + 16 * (b /
 * 8) granules, b % 8 more at most. */
static enum hbm_result call_allocate_many(struct calls_play *play, const struct drawn_call *call)
{
    struct hbm_shape shape;
    for (unsigned i = 0; i <= 4u * call->a; i++) {
        const unsigned granules = 1u + call->b / 8u * 16u + i % (1u + call->b % 8u);
        struct hbm_request request = calls_make_request(play, granules, 0, call->c, &shape);
        if (request.shape != NULL) {
            calls_make_shape(call->c >> 4 & 7, 256u * call->b + i, &shape);
        }
        const enum hbm_result result = allocate_buffer(play, &request);
        if (result != HBM_OK) {
            return result;
        }
    }
    return HBM_OK;
}

static enum hbm_result free_buffer(struct calls_play *play, size_t i, bool is_queued)
{
    enum hbm_result result = HBM_OK;
    if (is_queued) {
        result = hbm_free_after(play->hbm, play->buffers[i].handle, calls_next_event(play));
    } else {
        hbm_free(play->hbm, play->buffers[i].handle);
    }
    if (result == HBM_OK) {
        calls_freed(play, i);
    }
    return result;
}

static enum hbm_result call_free(struct calls_play *play, const struct drawn_call *call)
{
    const size_t i = calls_pick_live(play, call->a + 256u * call->b);
    return i == play->buffer_count ? HBM_OK : free_buffer(play, i, (call->c & 1) != 0);
}

/* Every (1 + a mod 8)-th, at once or, with an event for each, later. */
static enum hbm_result call_free_many(struct calls_play *play, const struct drawn_call *call)
{
    const size_t step = 1 + call->a % 8;
    enum hbm_result result = HBM_OK;
    for (size_t i = play->buffer_count; i > 0 && result == HBM_OK; i -= i < step ? i : step) {
        if (!play->buffers[i - 1].is_freed) {
            result = free_buffer(play, i - 1, (call->b & 1) != 0);
        }
    }
    return result;
}

static enum hbm_result call_use(struct calls_play *play, const struct drawn_call *call)
{
    const size_t i = calls_pick_live(play, call->a);
    const uint64_t event = (call->b & 1) != 0 ? play->event_count : calls_next_event(play);
    return i == play->buffer_count ? HBM_OK : hbm_use(play->hbm, play->buffers[i].handle, event);
}

static enum hbm_result call_hold(struct calls_play *play, const struct drawn_call *call)
{
    const size_t i = calls_pick_live(play, call->a);
    if (i == play->buffer_count) {
        return HBM_OK;
    }
    const enum hbm_result result = hbm_hold(play->hbm, play->buffers[i].handle);
    play->buffers[i].hold_count += result == HBM_OK;
    return result;
}

static enum hbm_result release_buffer(struct calls_play *play, size_t i)
{
    struct calls_buffer *buffer = &play->buffers[i];
    const enum hbm_result result = hbm_release(play->hbm, buffer->handle);
    calls_expect(play, result == (buffer->hold_count > 0 ? HBM_OK : HBM_INVALID),
                 "a release succeeds without a hold, or fails with one");
    if (buffer->hold_count > 0) {
        buffer->hold_count--;
    }
    if (buffer->is_freed && buffer->hold_count == 0) {
        calls_drop_buffer(play, i);
    }
    return result;
}

static enum hbm_result call_release(struct calls_play *play, const struct drawn_call *call)
{
    return play->buffer_count == 0 ? HBM_OK : release_buffer(play, call->a % play->buffer_count);
}

static enum hbm_result call_donate(struct calls_play *play, const struct drawn_call *call)
{
    struct hbm_shape shape;
    const struct hbm_request request = calls_make_request(play, call->b & 15, call->b, call->c,
                                                          &shape);
    const size_t i = calls_pick_live(play, call->a);
    return i == play->buffer_count
               ? HBM_OK
               : hbm_donate(play->hbm, play->buffers[i].handle, &request, &play->buffers[i].handle);
}

static enum hbm_result call_load(struct calls_play *play, const struct drawn_call *call)
{
    if (play->program_count == CALLS_PROGRAMS_MAX) {
        return HBM_OK;
    }
    const struct hbm_program_request request = {
        .id = play->program_count + 1,
        .image_bytes = (1u + call->a) * (uint64_t)play->options.granule_bytes,
        .stack_bytes = call->b * (uint64_t)play->options.granule_bytes,
        .name = (call->c & 3) == 0   ? NULL
                : (call->c & 3) == 1 ? ""
                                     : "jit_train_step",
    };
    const enum hbm_result result = hbm_program_load(play->hbm, &request,
                                                    &play->programs[play->program_count]);
    play->program_count += result == HBM_OK;
    return result;
}

static enum hbm_result call_execute(struct calls_play *play, const struct drawn_call *call)
{
    if (play->program_count == 0) {
        return HBM_OK;
    }
    struct hbm_program *program = play->programs[call->a % play->program_count];
    const enum hbm_result result = hbm_execute(play->hbm, program, calls_next_event(play));
    const bool is_loaded = hbm_program_is_loaded(play->hbm, program);
    calls_expect(play, result != HBM_OK || is_loaded, "a program executes that is not loaded");
    calls_expect(play, is_loaded || hbm_program_address(play->hbm, program) == HBM_ADDRESS_NONE,
                 "a program that is not loaded has an address");
    return result;
}

static enum hbm_result call_unload(struct calls_play *play, const struct drawn_call *call)
{
    if (play->program_count > 0) {
        const size_t i = call->a % play->program_count;
        hbm_program_unload(play->hbm, play->programs[i]);
        play->programs[i] = play->programs[--play->program_count];
    }
    return HBM_OK;
}

/* a: how many inputs (bits 0-2) and outputs (3-5); b: the first input, the sizes (0 is no size),
 * whether the event may be done (bit 7) and whether one input is donated again and again (6); c: as
 * of a request, and with its highest bits which inputs are donated. */
static enum hbm_result call_launch(struct calls_play *play, const struct drawn_call *call)
{
    struct hbm_buffer *inputs[INPUTS_MAX], *outputs[OUTPUTS_MAX];
    struct hbm_request requests[OUTPUTS_MAX];
    struct hbm_shape shapes[OUTPUTS_MAX];
    size_t donations[OUTPUTS_MAX], at[INPUTS_MAX];
    struct hbm_launch launch = {
        .inputs = inputs, .outputs = requests, .output_count = call->a >> 3 & 7};
    for (unsigned i = 0; i < (call->a & 7u); i++) {
        const size_t live = calls_pick_live(play, call->b + i);
        if (live == play->buffer_count) {
            break;
        }
        at[launch.input_count] = live;
        inputs[launch.input_count++] = play->buffers[live].handle;
    }
    for (size_t i = 0; i < launch.output_count; i++) {
        requests[i] = calls_make_request(play, (call->b + i) % 16, call->b, call->c, &shapes[i]);
        donations[i] = (call->c >> 5 & (1u << i)) == 0 ? HBM_NOT_DONATED
                       : (call->b & 64) != 0           ? 0
                                                       : i;
    }
    launch.donations = (call->c & 224) != 0 ? donations : NULL;
    launch.program = play->program_count == 0 ? NULL
                                              : play->programs[call->b % play->program_count];
    launch.event = (call->b & 128) != 0 ? play->event_count : calls_next_event(play);
    if (play->buffer_count + launch.output_count > CALLS_BUFFERS_MAX) {
        return HBM_OK;
    }
    const enum hbm_result result = hbm_launch(play->hbm, &launch, outputs);
    for (size_t i = 0; i < launch.output_count && result == HBM_OK; i++) {
        if (launch.donations == NULL || donations[i] == HBM_NOT_DONATED) {
            calls_add_buffer(play, outputs[i]);
        } else {
            play->buffers[at[donations[i]]].handle = outputs[i];
        }
    }
    return result;
}

/* a: how many events, from the newest down; c: lost, or done. */
static enum hbm_result call_events(struct calls_play *play, const struct drawn_call *call)
{
    for (uint64_t i = 0; i <= call->a && i < play->event_count; i++) {
        if ((call->c & 1) != 0) {
            calls_device_lose(&play->device, play->event_count - i);
        } else {
            calls_device_complete(&play->device, play->event_count - i);
        }
    }
    return HBM_OK;
}

static enum hbm_result call_defragment(struct calls_play *play, const struct drawn_call *call)
{
    (void)call;
    const enum hbm_result result = hbm_defragment(play->hbm);
    calls_expect(play, (play->options.defrag == HBM_DEFRAG_NONE) == (result == HBM_INVALID),
                 "a defragmentation moves a block that must not move");
    return result;
}

static enum hbm_result call_retire(struct calls_play *play, const struct drawn_call *call)
{
    const uint64_t granule = play->options.granule_bytes;
    const uint64_t address = (call->a + 256u * call->b) * granule + ((call->c & 128) != 0 ? 1 : 0);
    const enum hbm_result result = hbm_retire(play->hbm, address, (call->c & 63) * granule);
    play->retired_count += result == HBM_OK;
    return result;
}

static enum hbm_result call_report(struct calls_play *play, const struct drawn_call *call)
{
    (void)call;
    enum hbm_result result;
    const char *broken = calls_check_report(play->hbm, &result);
    calls_expect(play, broken == NULL, broken);
    return result;
}

/* a: which service; b: after how many calls (bits 0-4), and whether in part (7); c: how many. */
static enum hbm_result call_fault(struct calls_play *play, const struct drawn_call *call)
{
    const enum calls_service service = (enum calls_service)(call->a % CALLS_SERVICE_COUNT);
    const bool can_be_partial = service == CALLS_COPY || service == CALLS_STAGE_IN ||
                                service == CALLS_UNLOAD;
    play->device.faults[service] = (struct calls_fault){.after = call->b & 31,
                                                        .count = call->c % 32u,
                                                        .is_partial = can_be_partial &&
                                                                      (call->b & 128) != 0};
    return HBM_OK;
}

/* Makes a call that must be refused, whatever is in the heap. */
static enum hbm_result call_wrong(struct calls_play *play, const struct drawn_call *call)
{
    struct hbm_shape shape = {.rank = HBM_SHAPE_RANK_MAX + 1};
    char name[600];
    struct hbm_request request = {0};
    struct hbm_program_request program = {0};
    struct hbm_program *loaded;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    const unsigned way = call->a % 10;
    if (way == 5) {
        shape = (struct hbm_shape){
            .rank = call->b % 9, .tile_rank = call->c % 5, .element_type = call->b};
        shape.minor_to_major[0] = call->c;
        if (hbm_shape_is_valid(&shape)) {
            return HBM_INVALID;
        }
    }
    request.size_bytes = way == 0 ? 0 : way == 1 ? HBM_SIZE_BYTES_MAX + 1 : 1;
    request.align_bytes = way == 2 ? 3 : way == 3 ? 2 * HBM_ALIGN_BYTES_MAX : 0;
    request.kind = way == 4 ? HBM_KIND_PROGRAM : request.kind;
    request.shape = way == 5 || way == 9 ? &shape : NULL;
    program.image_bytes = way != 6;
    program.stack_bytes = way == 7 ? HBM_SIZE_BYTES_MAX + 1 : 0;
    program.name = way == 8 ? name : NULL;
    return way >= 6 && way <= 8 ? hbm_program_load(play->hbm, &program, &loaded)
                                : allocate_buffer(play, &request);
}

static enum hbm_result call_wrong_changes_nothing(struct calls_play *play,
                                                  const struct drawn_call *call)
{
    struct hbm_stats before, after;
    hbm_stats(play->hbm, &before);
    const enum hbm_result result = play->buffer_count < CALLS_BUFFERS_MAX ? call_wrong(play, call)
                                                                          : HBM_INVALID;
    hbm_stats(play->hbm, &after);
    calls_expect(play, result == HBM_INVALID, "a request that can never be valid is not refused");
    calls_expect(play, memcmp(&before, &after, sizeof before) == 0,
                 "a refused call has changed the counters");
    return HBM_OK; /* of some the failure is ours */
}

static enum hbm_result (*const calls[])(struct calls_play *play, const struct drawn_call *call) = {
    call_allocate,      call_free,
    call_use,           call_hold,
    call_release,       call_donate,
    call_load,          call_execute,
    call_unload,        call_launch,
    call_events,        call_retire,
    call_fault,         call_wrong_changes_nothing,
    call_report,        call_defragment,
    call_allocate_many, call_free_many,
};
enum { KIND_COUNT = sizeof calls / sizeof calls[0] };

/* --- all --- */

/* Looking at all of a large heap costs more than the calls: then now and then. */
enum { SMALL_HEAP_BUFFERS = 64, LOOKS_EVERY = 16 };

static void check_heap(struct calls_play *play)
{
    const char *broken = calls_check_heap(play->hbm, &play->device.host_bytes);
    calls_expect(play, broken == NULL, broken);
}

static void make_call(struct calls_play *play, const struct drawn_call *call, size_t number)
{
    const enum hbm_result result = calls[call->kind % KIND_COUNT](play, call);
    const char *broken = calls_check_failure(play->hbm, result);
    calls_expect(play, broken == NULL, broken);
    calls_expect(play, result != HBM_UNAVAILABLE || play->device.refusal_count > 0,
                 "the result reports a refusal, but nothing was refused");
    if (play->buffer_count <= SMALL_HEAP_BUFFERS || number % LOOKS_EVERY == 0) {
        check_heap(play);
    }
}

/* Gives everything back, and asks whether anything is left. */
static void free_everything(struct calls_play *play)
{
    struct hbm_stats stats;
    calls_device_calm(&play->device);
    while (play->buffer_count > 0) {
        const size_t last = play->buffer_count - 1;
        if (play->buffers[last].hold_count > 0) {
            (void)release_buffer(play, last);
        } else {
            (void)free_buffer(play, last, false);
        }
    }
    while (play->program_count > 0) {
        hbm_program_unload(play->hbm, play->programs[--play->program_count]);
    }
    hbm_stats(play->hbm, &stats);
    calls_expect(play, stats.num_allocs == play->retired_count,
                 "blocks are left that have no owner");
    calls_expect(play, stats.bytes_reserved == 0, "the stack is reserved, but nothing executes");
    check_heap(play);
}

const char *hbm_calls_play(const uint8_t *bytes, size_t length, size_t *call)
{
    static struct calls_play play; /* large; cleared below */
    uint8_t header[HBM_CALLS_HEADER_BYTES] = {0};
    memcpy(header, bytes, length < sizeof header ? length : sizeof header);
    memset(&play, 0, sizeof play);
    *call = 0;
    if (!calls_open(&play, header)) {
        return play.broken;
    }
    for (size_t i = 0; i < HBM_CALLS_MAX && play.broken == NULL; i++) {
        const size_t at = sizeof header + i * HBM_CALLS_CALL_BYTES;
        if (at + HBM_CALLS_CALL_BYTES > length) {
            break;
        }
        *call = i;
        make_call(&play,
                  &(struct drawn_call){bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]}, i);
    }
    if (play.broken == NULL && (header[1] & 32) == 0) {
        free_everything(&play);
    } else if (play.broken == NULL) {
        check_heap(&play);
    }
    hbm_destroy(play.hbm);
    hbm_destroy(NULL);
    calls_expect(&play, play.device.host_bytes == 0, "close does not release all host memory");
    return play.broken;
}
