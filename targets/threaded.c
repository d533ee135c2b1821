/* The target threaded, and the same with one race each: they differ in struct threaded_heap.race
 * alone, which is chosen at open.  What a threaded allocator looks like here: each call takes the
 * one mutex, and gives it up only where threaded/room.c says so. */
#include "targets/targets.h"

#include "targets/threaded/heap.h"

#include <stdio.h>

enum { ALIGN_LOG2_MAX = 21 };

/* --- failures --- */

/* Texts that never change need no memory, and the key keeps that of one thread from the others. */
static enum target_result set_failure(struct target_instance *instance, enum target_result result,
                                      const char *text)
{
    (void)pthread_setspecific(instance->message, text);
    return result;
}

static enum target_result fail_invalid(struct target_instance *instance, const char *text)
{
    return set_failure(instance, TARGET_INVALID, text);
}

static enum target_result fail_request(struct target_instance *instance, enum target_result result)
{
    return set_failure(
        instance, result,
        result == TARGET_NO_MEMORY
            ? "RESOURCE_EXHAUSTED: no place for the request, and nothing is left to await, to move or to evict"
            : "UNAVAILABLE: the device or host memory refused what the request needs");
}

static const char *threaded_call_message(struct target_instance *instance)
{
    const char *text = pthread_getspecific(instance->message);
    return text != NULL ? text : "";
}

static bool is_valid_size(uint64_t bytes)
{
    return bytes > 0 && bytes <= UINT64_C(1) << 63;
}

static struct threaded_node *node_of(uint64_t handle)
{
    return (struct threaded_node *)(uintptr_t)handle;
}

static struct target_block block_of(const struct threaded_node *node)
{
    return (struct target_block){(uint64_t)(uintptr_t)node, node->address, node->size_bytes};
}

/* --- buffers --- */

/* A look at the counter before the mutex is there: is it worth while to take in what the device has
 * finished? */
static void settle_when_full(struct threaded_heap *heap, uint64_t size_bytes)
{
    if (heap->capacity_bytes - heap->stats.bytes_in_use < size_bytes) {
        threaded_enter(heap, CALL_PLAIN);
        threaded_settle(heap);
        threaded_leave(heap);
    }
}

static void note_stack(struct threaded_heap *heap, uint64_t stack_bytes)
{
    if (stack_bytes > heap->stats.peak_bytes_reserved) {
        heap->stats.peak_bytes_reserved = stack_bytes;
    }
}

/* Makes room, and a block like that in it. */
static enum target_result place_block(struct target_instance *instance, struct threaded_want *want,
                                      struct threaded_node *like, struct target_block *block)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = NULL;
    threaded_enter(heap, CALL_REQUEST);
    enum target_result result = threaded_make_room(heap, want, &like->address);
    if (result == TARGET_OK) {
        result = threaded_place(heap, like, &node);
    }
    if (result == TARGET_OK) {
        *block = block_of(node);
        note_stack(heap, want->stack_bytes);
    }
    threaded_leave(heap);
    return result == TARGET_OK ? result : fail_request(instance, result);
}

static enum target_result threaded_call_alloc(struct target_instance *instance,
                                              const struct target_request *request,
                                              struct target_block *block)
{
    struct threaded_heap *heap = &instance->heap;
    const uint64_t align = request->align_bytes;
    if (!is_valid_size(request->size_bytes)) {
        return fail_invalid(instance, "INVALID_ARGUMENT: the size is 0 or above 2^63");
    }
    if ((align & (align - 1)) != 0 || align > UINT64_C(1) << ALIGN_LOG2_MAX) {
        return fail_invalid(instance,
                            "INVALID_ARGUMENT: the alignment is not a power of two up to 2^21");
    }
    struct threaded_want want = {.size_bytes = threaded_in_granules(heap, request->size_bytes),
                                 .align_bytes = align > heap->granule_bytes ? align
                                                                            : heap->granule_bytes,
                                 .may_evict = heap->evicts};
    struct threaded_node like = {.size_bytes = want.size_bytes,
                                 .align_bytes = want.align_bytes,
                                 .kind = request->kind,
                                 .tag = request->tag};
    if (heap->race == RACE_PEEK_UNLOCKED) {
        settle_when_full(heap, want.size_bytes);
    }
    return place_block(instance, &want, &like, block);
}

static enum target_result threaded_call_free(struct target_instance *instance, uint64_t handle,
                                             uint64_t event)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = node_of(handle);
    threaded_enter(heap, CALL_FREE);
    if (node->is_moving && heap->race == RACE_FREE_IN_MOVE) {
        threaded_leave(heap);
        return TARGET_OK;
    }
    threaded_await(heap, node);
    const bool is_good = threaded_add_wait(heap, node, event);
    if (is_good) {
        const uint64_t left = heap->stats.bytes_in_use - node->size_bytes;
        const bool is_torn = heap->race == RACE_COUNTER_UNLOCKED && node->state == NODE_LIVE &&
                             node->waits == NULL && node->hold_count == 0;
        threaded_free(heap, node);
        if (is_torn) {
            threaded_relax(heap);
            heap->stats.bytes_in_use = left;
        }
    }
    threaded_leave(heap);
    return is_good ? TARGET_OK : fail_request(instance, TARGET_FAILED);
}

static enum target_result threaded_call_use(struct target_instance *instance, uint64_t handle,
                                            uint64_t event)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    threaded_await(heap, node_of(handle));
    const bool is_good = threaded_add_wait(heap, node_of(handle), event);
    threaded_leave(heap);
    return is_good ? TARGET_OK : fail_request(instance, TARGET_FAILED);
}

static enum target_result threaded_call_hold(struct target_instance *instance, uint64_t handle)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = node_of(handle);
    threaded_enter(heap, CALL_PLAIN);
    threaded_await(heap, node);
    node->hold_count++;
    node->is_pinned = true;
    threaded_leave(heap);
    return TARGET_OK;
}

static enum target_result threaded_call_release(struct target_instance *instance, uint64_t handle)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = node_of(handle);
    threaded_enter(heap, CALL_PLAIN);
    if (node->hold_count == 0) {
        threaded_leave(heap);
        return fail_invalid(instance, "INVALID_ARGUMENT: the block is not held");
    }
    const bool is_last = --node->hold_count == 0;
    if (heap->race == RACE_PIN_FLAG) {
        threaded_relax(heap);
    }
    node->is_pinned = !is_last;
    threaded_settle_queue(heap);
    threaded_leave(heap);
    return TARGET_OK;
}

static enum target_result threaded_call_donate(struct target_instance *instance, uint64_t handle,
                                               const struct target_request *request,
                                               struct target_block *block)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = node_of(handle);
    threaded_enter(heap, CALL_PLAIN);
    threaded_await(heap, node);
    const uint64_t align = request->align_bytes;
    const bool is_good = request->size_bytes > 0 && request->size_bytes <= node->size_bytes &&
                         node->hold_count == 0 && (align == 0 || node->address % align == 0);
    if (is_good) {
        node->kind = request->kind;
        node->tag = request->tag;
        node->align_bytes = align > heap->granule_bytes ? align : heap->granule_bytes;
        *block = block_of(node);
    }
    threaded_leave(heap);
    return is_good ? TARGET_OK
                   : fail_invalid(instance, "INVALID_ARGUMENT: the block cannot be taken over so");
}

/* --- programs --- */

static enum target_result threaded_call_load(struct target_instance *instance,
                                             const struct target_program *program,
                                             struct target_block *image)
{
    struct threaded_heap *heap = &instance->heap;
    if (!is_valid_size(program->image_bytes) || program->stack_bytes > UINT64_C(1) << 63) {
        return fail_invalid(instance,
                            "INVALID_ARGUMENT: the image is empty, or a size is above 2^63");
    }
    struct threaded_want want = {.size_bytes = threaded_in_granules(heap, program->image_bytes),
                                 .align_bytes = heap->granule_bytes,
                                 .stack_bytes = threaded_in_granules(heap, program->stack_bytes),
                                 .may_evict = heap->program_evicts_program};
    struct threaded_node like = {.size_bytes = want.size_bytes,
                                 .align_bytes = want.align_bytes,
                                 .stack_bytes = want.stack_bytes,
                                 .program = program->id,
                                 .kind = BLOCK_PROGRAM};
    return place_block(instance, &want, &like, image);
}

/* There is room for the stack, and for the image if it is not there. */
static bool start_program(struct threaded_heap *heap, const struct threaded_want *want,
                          uint64_t address, uint64_t event)
{
    struct threaded_node *node = want->program;
    if (!threaded_add_wait(heap, node, event)) {
        return false;
    }
    if (want->size_bytes > 0) {
        threaded_reload(heap, node, address);
    }
    if (node->waits != NULL && node->stack_bytes > heap->reserved_bytes) {
        heap->reserved_bytes = node->stack_bytes;
    }
    note_stack(heap, node->stack_bytes);
    return true;
}

static enum target_result threaded_call_execute(struct target_instance *instance, uint64_t handle,
                                                uint64_t event, struct target_block *image)
{
    struct threaded_heap *heap = &instance->heap;
    struct threaded_node *node = node_of(handle);
    uint64_t address = 0;
    struct threaded_want want = {.align_bytes = heap->granule_bytes,
                                 .stack_bytes = node->stack_bytes,
                                 .program = node,
                                 .may_evict = heap->program_evicts_program};
    threaded_enter(heap, CALL_REQUEST);
    enum target_result result = threaded_make_room(heap, &want, &address);
    if (result == TARGET_OK && !start_program(heap, &want, address, event)) {
        result = TARGET_FAILED;
    }
    *image = block_of(node);
    threaded_leave(heap);
    return result == TARGET_OK ? result : fail_request(instance, result);
}

static enum target_result threaded_call_unload(struct target_instance *instance, uint64_t handle)
{
    return threaded_call_free(instance, handle, 0);
}

/* --- what is where --- */

static enum target_result threaded_call_defragment(struct target_instance *instance)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    const enum target_result result = threaded_defragment(heap);
    threaded_leave(heap);
    return result == TARGET_OK ? result : fail_request(instance, result);
}

static enum target_result threaded_call_locate(struct target_instance *instance, uint64_t handle,
                                               struct target_block *block)
{
    struct threaded_heap *heap = &instance->heap;
    const struct threaded_node *node = node_of(handle);
    threaded_enter(heap, CALL_PLAIN);
    threaded_await(heap, node);
    const bool is_there = node->state != NODE_EVICTED;
    if (is_there) {
        *block = block_of(node);
    }
    threaded_leave(heap);
    return is_there ? TARGET_OK
                    : fail_invalid(instance, "INVALID_ARGUMENT: the program is not loaded");
}

static void threaded_call_stats(struct target_instance *instance, struct target_stats *stats)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    threaded_settle(heap);
    *stats = heap->stats;
    stats->bytes_reserved = heap->reserved_bytes;
    stats->largest_free_block_bytes = threaded_largest_hole_bytes(heap);
    threaded_leave(heap);
}

/* The next smaller size than limit; 0: there is none. */
static uint64_t find_next_size(const struct threaded_heap *heap, uint64_t limit)
{
    uint64_t size = 0;
    for (const struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        size = node->size_bytes < limit && node->size_bytes > size ? node->size_bytes : size;
    }
    return size;
}

/* Largest first without memory to sort in: each pass finds the next smaller size.  O(sizes *
 * blocks). */
static void threaded_call_report(struct target_instance *instance,
                                 void (*row)(void *context, const struct target_row *row),
                                 void *context)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    threaded_settle(heap);
    while (heap->marked_count > 0) {
        (void)pthread_cond_wait(&heap->finished, &heap->lock);
    }
    for (uint64_t size = find_next_size(heap, UINT64_MAX); size > 0;
         size = find_next_size(heap, size)) {
        for (const struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
            if (node->size_bytes == size) {
                row(context, &(struct target_row){node->address, size, node->kind, node->tag});
            }
        }
    }
    threaded_leave(heap);
}

/* --- life --- */

static const struct target_option_row option_rows[] = {
    THREADED_OPTION_ROWS,
    {.key = NULL},
};

static bool read_contract(const struct target_setup *setup, struct target_contract *contract,
                          const struct option_reason *reason)
{
    *contract = (struct target_contract){
        .granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512,
        .defrag = DEFRAG_SLIDE,
        .queues_frees = true,
        .drains = true,
        .programs = true,
        .evicts = true,
        .thread_safe = true,
    };
    if (!target_options_read(option_rows, setup, contract, reason->text, reason->bytes)) {
        return false;
    }
    unsigned count = 0;
    contract->order[count++] = MITIGATION_DRAIN;
    if (contract->defrag != DEFRAG_NONE) {
        contract->order[count++] = MITIGATION_DEFRAGMENT;
    }
    contract->order[count++] = MITIGATION_EVICT;
    return option_check_device(setup->capacity_bytes, contract->granule_bytes, reason);
}

static void init_heap(struct threaded_heap *heap, const struct target_setup *setup,
                      const struct target_contract *contract, const struct device_services *device)
{
    *heap = (struct threaded_heap){
        .device = *device,
        .capacity_bytes = setup->capacity_bytes,
        .granule_bytes = contract->granule_bytes,
        .moves = contract->defrag != DEFRAG_NONE,
        .evicts = contract->evicts,
        .program_evicts_program = contract->program_evicts_program,
        .stats = {.bytes_limit = setup->capacity_bytes,
                  .bytes_reservable_limit = setup->capacity_bytes},
    };
    (void)pthread_mutex_init(&heap->lock, NULL);
    (void)pthread_mutex_init(&heap->queue_lock, NULL);
    (void)pthread_cond_init(&heap->settled, NULL);
    (void)pthread_cond_init(&heap->finished, NULL);
}

static enum target_result open_race(enum threaded_race race, const struct target_setup *setup,
                                    const struct device_services *device,
                                    struct target_instance **out, struct target_contract *contract,
                                    char *text, size_t text_bytes)
{
    const struct option_reason reason = {text, text_bytes};
    struct target_contract declared;
    if (!read_contract(setup, &declared, &reason)) {
        return TARGET_INVALID;
    }
    struct target_instance *instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for the allocator was refused");
        return TARGET_FAILED;
    }
    if (pthread_key_create(&instance->message, NULL) != 0) {
        (void)snprintf(text, text_bytes, "the process has no key left for a thread's messages");
        device->host_free(device->context, instance, sizeof *instance);
        return TARGET_FAILED;
    }
    init_heap(&instance->heap, setup, &declared, device);
    instance->heap.race = race;
    *contract = declared;
    *out = instance;
    return TARGET_OK;
}

static void threaded_close(struct target_instance *instance)
{
    struct threaded_heap *heap = &instance->heap;
    const struct device_services device = heap->device;
    threaded_clear(heap);
    (void)pthread_cond_destroy(&heap->finished);
    (void)pthread_cond_destroy(&heap->settled);
    (void)pthread_mutex_destroy(&heap->queue_lock);
    (void)pthread_mutex_destroy(&heap->lock);
    (void)pthread_key_delete(instance->message);
    device.host_free(device.context, instance, sizeof *instance);
}

/* --- the tables --- */

#define DEFINE_TARGET(storage, variable, name_, variant, rule, text)                         \
    DEFINE_OPEN(open_##variable,                                                             \
                open_race(variant, setup, device, instance, contract, reason, reason_bytes)) \
    storage const struct target variable = {.abi_version = TARGET_ABI_VERSION,               \
                                            .size_bytes = sizeof(struct target),             \
                                            .name = name_,                                   \
                                            .summary = text,                                 \
                                            .breaks = rule,                                  \
                                            .options = option_rows,                          \
                                            .open = open_##variable,                         \
                                            .close = threaded_close,                         \
                                            .alloc = threaded_call_alloc,                    \
                                            .free = threaded_call_free,                      \
                                            .use = threaded_call_use,                        \
                                            .hold = threaded_call_hold,                      \
                                            .release = threaded_call_release,                \
                                            .donate = threaded_call_donate,                  \
                                            .load = threaded_call_load,                      \
                                            .execute = threaded_call_execute,                \
                                            .unload = threaded_call_unload,                  \
                                            .defragment = threaded_call_defragment,          \
                                            .locate = threaded_call_locate,                  \
                                            .stats = threaded_call_stats,                    \
                                            .report = threaded_call_report,                  \
                                            .message = threaded_call_message};

DEFINE_TARGET(
    , target_threaded, "threaded", RACE_NONE, NULL,
    "first fit for any number of threads: one mutex, released to await, to copy and to evict")

#define RACE(noun, variant, rule, text) \
    DEFINE_TARGET(static, race_##noun, "race_" #noun, variant, rule, text)
#include "targets/threaded/list.h"
#undef RACE

const struct target *const races[] = {
#define RACE(noun, variant, rule, text) &race_##noun,
#include "targets/threaded/list.h"
#undef RACE
    NULL,
};
