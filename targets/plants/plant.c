#include "targets/plants/private/plant.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COUNT_MAX = 64, RESUME_COUNT_MAX = 64 };

/* The wrapper's own memory is plain heap, so that the device counts only what libhbm takes. */
static void *grow_array(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : *capacity * 2;
    array = realloc(array, *capacity * size);
    CHECK(array != NULL);
    return array;
}

static struct plant *plant_of(struct target_instance *instance)
{
    return (struct plant *)instance;
}

/* --- what the wrapper knows --- */

struct plant_block *plant_find(struct plant *plant, uint64_t handle)
{
    for (size_t i = plant->block_count; i-- > 0;) {
        if (plant->blocks[i].handle == handle) {
            return &plant->blocks[i];
        }
    }
    return NULL;
}

/* Buffers are named by libhbm with even numbers, so programs can have the odd ones. */
static uint64_t make_program_handle(const struct target_program *program)
{
    return program->id << 1 | 1;
}

/* 0: libhbm does not know it. */
static uint64_t find_inner_handle(struct plant *plant, uint64_t handle)
{
    const struct plant_block *block = plant_find(plant, handle);
    return block != NULL && block->is_program ? block->inner : handle;
}

static void add_block(struct plant *plant, const struct plant_block *block)
{
    plant->blocks = grow_array(plant->blocks, plant->block_count, &plant->block_capacity,
                               sizeof *plant->blocks);
    plant->blocks[plant->block_count++] = *block;
}

static void remove_block(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    if (block != NULL) {
        *block = plant->blocks[--plant->block_count];
    }
}

bool plant_is_pending(const struct plant *plant, uint64_t event)
{
    return event != 0 && !plant->device.event_done(plant->device.context, event);
}

static void add_dying(struct plant *plant, const struct plant_dying *dying)
{
    size_t kept = 0;
    for (size_t i = 0; i < plant->dying_count; i++) {
        if (plant_is_pending(plant, plant->dying[i].event)) {
            plant->dying[kept++] = plant->dying[i];
        }
    }
    plant->dying_count = kept;
    if (plant_is_pending(plant, dying->event)) {
        plant->dying = grow_array(plant->dying, kept, &plant->dying_capacity, sizeof *plant->dying);
        plant->dying[plant->dying_count++] = *dying;
    }
}

bool plant_is_dying_in(struct plant *plant, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < plant->dying_count; i++) {
        const struct plant_dying *dying = &plant->dying[i];
        if (plant_is_pending(plant, dying->event) && dying->address < address + bytes &&
            address < dying->address + dying->size_bytes) {
            return true;
        }
    }
    return false;
}

bool plant_strikes(struct plant *plant, uint64_t period)
{
    return ++plant->case_count % period == 0;
}

/* --- device calls that libhbm makes --- */

static enum device_result count_copy(struct plant *plant, enum device_result result)
{
    plant->call.copy_count += result == DEVICE_OK;
    return result;
}

static enum device_result bent_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct plant *plant = context;
    if (plant->defect->copy != NULL) {
        return count_copy(plant, plant->defect->copy(plant, from, to, bytes));
    }
    return count_copy(plant, plant->device.copy(plant->device.context, from, to, bytes));
}

static bool refuse_stage(struct plant *plant)
{
    const bool refuses = plant->defect->refuses_stages && plant->latched && plant->call.is_alloc;
    plant->call.refused_count += refuses;
    return refuses;
}

static enum device_result bent_stage_out(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *stage)
{
    struct plant *plant = context;
    if (refuse_stage(plant)) {
        return DEVICE_REFUSED;
    }
    return count_copy(plant, plant->device.stage_out(plant->device.context, from, bytes, stage));
}

static enum device_result bent_stage_in(void *context, uint64_t stage, uint64_t to)
{
    struct plant *plant = context;
    return plant->device.stage_in(plant->device.context, stage, to);
}

static void bent_stage_drop(void *context, uint64_t stage)
{
    struct plant *plant = context;
    plant->device.stage_drop(plant->device.context, stage);
}

static bool is_hiding_completions(const struct plant *plant)
{
    return plant->defect->hides_completions && plant->call.is_alloc;
}

static uint64_t bent_completed_count(void *context)
{
    struct plant *plant = context;
    if (is_hiding_completions(plant)) {
        return plant->call.completed_before;
    }
    return plant->device.completed_count(plant->device.context);
}

static bool bent_event_done(void *context, uint64_t event)
{
    struct plant *plant = context;
    if (is_hiding_completions(plant) && plant->call.wait_count > 0) {
        return false;
    }
    return plant->device.event_done(plant->device.context, event);
}

static enum device_result bent_event_wait(void *context, uint64_t event)
{
    struct plant *plant = context;
    const enum device_result result = plant->defect->event_wait != NULL
                                          ? plant->defect->event_wait(plant, event)
                                          : plant->device.event_wait(plant->device.context, event);
    plant->call.wait_count += result == DEVICE_OK;
    plant->call.lost_count += result == DEVICE_LOST;
    return result;
}

static enum device_result bent_unload(void *context, uint64_t program)
{
    struct plant *plant = context;
    const enum device_result result = plant->defect->unload != NULL
                                          ? plant->defect->unload(plant, program)
                                          : plant->device.unload(plant->device.context, program);
    plant->call.unload_count += result == DEVICE_OK;
    return result;
}

static uint64_t bent_clock_ns(void *context)
{
    struct plant *plant = context;
    return plant->device.clock_ns(plant->device.context);
}

static void *bent_host_alloc(void *context, size_t bytes)
{
    struct plant *plant = context;
    return plant->device.host_alloc(plant->device.context, bytes);
}

static void bent_host_free(void *context, void *memory, size_t bytes)
{
    struct plant *plant = context;
    if (memory != NULL && plant->defect->host_free_bytes != NULL) {
        bytes = plant->defect->host_free_bytes(plant, bytes);
    }
    plant->device.host_free(plant->device.context, memory, bytes);
}

static struct device_services make_bent_services(struct plant *plant)
{
    return (struct device_services){
        .size_bytes = sizeof(struct device_services),
        .context = plant,
        .copy = bent_copy,
        .stage_out = bent_stage_out,
        .stage_in = bent_stage_in,
        .stage_drop = bent_stage_drop,
        .completed_count = bent_completed_count,
        .event_done = bent_event_done,
        .event_wait = bent_event_wait,
        .unload = bent_unload,
        .clock_ns = bent_clock_ns,
        .host_alloc = bent_host_alloc,
        .host_free = bent_host_free,
    };
}

/* --- life --- */

static enum target_result open_inner(struct plant *plant, const struct target_setup *setup,
                                     char *reason, size_t reason_bytes)
{
    struct target_option options[OPTION_COUNT_MAX + 1];
    struct target_setup inner = *setup;
    if (setup->option_count > OPTION_COUNT_MAX) {
        (void)snprintf(reason, reason_bytes, "more than %d options", OPTION_COUNT_MAX);
        return TARGET_INVALID;
    }
    for (uint32_t i = 0; i < setup->option_count; i++) {
        options[i] = setup->options[i];
    }
    if (plant->defect->forced.key != NULL) {
        options[inner.option_count++] = plant->defect->forced;
    }
    inner.options = options;
    return target_hbm.open(&inner, &plant->bent, &plant->inner, &plant->contract, reason,
                           reason_bytes);
}

enum target_result plant_call_open(const struct plant_defect *defect,
                                   const struct target_setup *setup,
                                   const struct device_services *device,
                                   struct target_instance **out, struct target_contract *contract,
                                   char *reason, size_t reason_bytes)
{
    struct plant *plant = calloc(1, sizeof *plant);
    CHECK(plant != NULL);
    plant->defect = defect;
    plant->device = *device;
    plant->bent = make_bent_services(plant);
    plant->capacity_bytes = setup->capacity_bytes;
    memcpy(plant->coordinate, setup->coordinate, sizeof plant->coordinate);
    const enum target_result result = open_inner(plant, setup, reason, reason_bytes);
    if (result != TARGET_OK) {
        free(plant);
        return result;
    }
    plant->contract.thread_safe = false;
    if (defect->declare != NULL) {
        defect->declare(plant, &plant->contract);
    }
    *contract = plant->contract;
    *out = (struct target_instance *)plant;
    return TARGET_OK;
}

void plant_call_close(struct target_instance *instance)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->close != NULL) {
        plant->defect->close(plant);
    }
    target_hbm.close(plant->inner);
    free(plant->blocks);
    free(plant->dying);
    free(plant);
}

/* --- calls --- */

static void begin_call(struct plant *plant, bool is_alloc)
{
    plant->message[0] = '\0';
    plant->call = (struct plant_call){
        .is_alloc = is_alloc,
        .completed_before = plant->device.completed_count(plant->device.context)};
}

static enum target_result end_call(struct plant *plant, enum target_result result)
{
    plant->call.is_alloc = false;
    plant->call.has_failed = result != TARGET_OK;
    if (result != TARGET_OK && plant->defect->failed != NULL) {
        plant->defect->failed(plant, result);
    }
    return result;
}

enum target_result plant_call_alloc(struct target_instance *instance,
                                    const struct target_request *request,
                                    struct target_block *block)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, true);
    const enum target_result result = plant->defect->alloc != NULL
                                          ? plant->defect->alloc(plant, request, block)
                                          : plant_inner_alloc(plant, request, block);
    if (result == TARGET_OK) {
        add_block(plant, &(struct plant_block){.handle = block->handle});
    }
    return end_call(plant, result);
}

/* Where the block was and which events it waits for, as far as the wrapper knows. */
static void note_free(struct plant *plant, uint64_t handle, uint64_t event)
{
    const struct plant_block *block = plant_find(plant, handle);
    struct target_block at = {0};
    if (!plant_inner_locate(plant, handle, &at)) {
        return;
    }
    add_dying(plant, &(struct plant_dying){at.address, at.size_bytes, event});
    if (block != NULL && block->event != event) {
        add_dying(plant, &(struct plant_dying){at.address, at.size_bytes, block->event});
    }
}

enum target_result plant_call_free(struct target_instance *instance, uint64_t handle,
                                   uint64_t event)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    note_free(plant, handle, event);
    const enum target_result result = plant->defect->free != NULL
                                          ? plant->defect->free(plant, handle, event)
                                          : plant_inner_free(plant, handle, event);
    if (result == TARGET_OK) {
        remove_block(plant, handle);
    }
    return end_call(plant, result);
}

enum target_result plant_call_use(struct target_instance *instance, uint64_t handle, uint64_t event)
{
    struct plant *plant = plant_of(instance);
    struct plant_block *block = plant_find(plant, handle);
    begin_call(plant, false);
    if (block != NULL) {
        block->event = event;
    }
    return end_call(plant, plant->defect->use != NULL ? plant->defect->use(plant, handle, event)
                                                      : plant_inner_use(plant, handle, event));
}

enum target_result plant_call_hold(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    return end_call(plant, plant->defect->hold != NULL ? plant->defect->hold(plant, handle)
                                                       : plant_inner_hold(plant, handle));
}

enum target_result plant_call_release(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    return end_call(plant, plant->defect->release != NULL ? plant->defect->release(plant, handle)
                                                          : plant_inner_release(plant, handle));
}

enum target_result plant_call_donate(struct target_instance *instance, uint64_t handle,
                                     const struct target_request *request,
                                     struct target_block *block)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    const enum target_result result = target_hbm.donate(plant->inner, handle, request, block);
    struct plant_block *known = plant_find(plant, handle);
    if (result == TARGET_OK && known != NULL) {
        known->handle = block->handle;
    }
    return end_call(plant, result);
}

static void call_around_program(struct plant *plant, bool begins)
{
    if (plant->defect->around_program != NULL) {
        plant->defect->around_program(plant, begins);
    }
}

enum target_result plant_call_load(struct target_instance *instance,
                                   const struct target_program *program, struct target_block *image)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    call_around_program(plant, true);
    const enum target_result result = target_hbm.load(plant->inner, program, image);
    call_around_program(plant, false);
    if (result == TARGET_OK) {
        const struct plant_block block = {.handle = make_program_handle(program),
                                          .is_program = true,
                                          .inner = image->handle,
                                          .program = *program};
        add_block(plant, &block);
        image->handle = block.handle;
    }
    return end_call(plant, result);
}

/* What the wrapper evicted comes back first; when it cannot be executed after all, it was never
 * back. */
static enum target_result execute_loaded(struct plant *plant, struct plant_block *program,
                                         uint64_t event, struct target_block *image)
{
    const bool was_loaded = program->inner != 0;
    if (!was_loaded) {
        const enum target_result loaded = target_hbm.load(plant->inner, &program->program, image);
        if (loaded != TARGET_OK) {
            return loaded;
        }
        program->inner = image->handle;
    }
    const enum target_result result = target_hbm.execute(plant->inner, program->inner, event,
                                                         image);
    if (result != TARGET_OK && !was_loaded) {
        (void)target_hbm.unload(plant->inner, program->inner);
        program->inner = 0;
    }
    return result;
}

enum target_result plant_call_execute(struct target_instance *instance, uint64_t handle,
                                      uint64_t event, struct target_block *image)
{
    struct plant *plant = plant_of(instance);
    struct plant_block *program = plant_find(plant, handle);
    CHECK(program != NULL);
    begin_call(plant, false);
    call_around_program(plant, true);
    const enum target_result result = execute_loaded(plant, program, event, image);
    call_around_program(plant, false);
    if (result == TARGET_OK) {
        program->overlaps = program->overlaps || plant_is_pending(plant, program->event);
        program->event = event;
        image->handle = handle;
    }
    return end_call(plant, result);
}

enum target_result plant_call_unload(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = plant_of(instance);
    const uint64_t inner = find_inner_handle(plant, handle);
    begin_call(plant, false);
    note_free(plant, handle, 0);
    remove_block(plant, handle);
    return end_call(plant, inner == 0 ? TARGET_OK : target_hbm.unload(plant->inner, inner));
}

enum target_result plant_call_defragment(struct target_instance *instance)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    return end_call(plant, target_hbm.defragment(plant->inner));
}

enum target_result plant_call_retire(struct target_instance *instance, uint64_t address,
                                     uint64_t size_bytes)
{
    struct plant *plant = plant_of(instance);
    begin_call(plant, false);
    return end_call(plant, target_hbm.retire(plant->inner, address, size_bytes));
}

enum target_result plant_call_locate(struct target_instance *instance, uint64_t handle,
                                     struct target_block *block)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->locate != NULL) {
        return plant->defect->locate(plant, handle, block);
    }
    return plant_inner_locate(plant, handle, block) ? TARGET_OK : TARGET_INVALID;
}

void plant_call_stats(struct target_instance *instance, struct target_stats *stats)
{
    struct plant *plant = plant_of(instance);
    target_hbm.stats(plant->inner, stats);
    if (plant->defect->stats != NULL) {
        plant->defect->stats(plant, stats);
    }
}

void plant_call_report(struct target_instance *instance,
                       void (*row)(void *context, const struct target_row *row), void *context)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->report != NULL) {
        plant->defect->report(plant, row, context);
        return;
    }
    target_hbm.report(plant->inner, row, context);
}

const char *plant_call_message(struct target_instance *instance)
{
    struct plant *plant = plant_of(instance);
    return plant->message[0] != '\0' ? plant->message : target_hbm.message(plant->inner);
}

/* --- for defects --- */

enum target_result plant_inner_alloc(struct plant *plant, const struct target_request *request,
                                     struct target_block *block)
{
    return target_hbm.alloc(plant->inner, request, block);
}

enum target_result plant_inner_free(struct plant *plant, uint64_t handle, uint64_t event)
{
    return target_hbm.free(plant->inner, handle, event);
}

enum target_result plant_inner_use(struct plant *plant, uint64_t handle, uint64_t event)
{
    return target_hbm.use(plant->inner, handle, event);
}

enum target_result plant_inner_hold(struct plant *plant, uint64_t handle)
{
    return target_hbm.hold(plant->inner, handle);
}

enum target_result plant_inner_release(struct plant *plant, uint64_t handle)
{
    return target_hbm.release(plant->inner, handle);
}

bool plant_inner_locate(struct plant *plant, uint64_t handle, struct target_block *block)
{
    const uint64_t inner = find_inner_handle(plant, handle);
    if (inner == 0 || target_hbm.locate(plant->inner, inner, block) != TARGET_OK) {
        return false;
    }
    block->handle = handle;
    return true;
}

enum target_result plant_inner_defragment(struct plant *plant)
{
    return target_hbm.defragment(plant->inner);
}

enum device_result plant_device_unload(struct plant *plant, uint64_t program)
{
    enum device_result result = DEVICE_PARTIAL;
    for (unsigned i = 0; result == DEVICE_PARTIAL && i < RESUME_COUNT_MAX; i++) {
        result = plant->device.unload(plant->device.context, program);
    }
    return result;
}

bool plant_evict(struct plant *plant, struct plant_block *program)
{
    struct target_block image;
    if (program->overlaps || plant_is_pending(plant, program->event) ||
        !plant_inner_locate(plant, program->handle, &image) ||
        plant_device_unload(plant, program->program.id) != DEVICE_OK) {
        return false;
    }
    (void)target_hbm.unload(plant->inner, program->inner);
    program->inner = 0;
    return true;
}

void plant_inner_stats(struct plant *plant, struct target_stats *stats)
{
    target_hbm.stats(plant->inner, stats);
}

enum target_result plant_refuse(struct plant *plant, const struct target_request *request)
{
    struct target_stats stats;
    char requested_text[SIZE_TEXT_BYTES];
    char free_text[SIZE_TEXT_BYTES];
    char largest_text[SIZE_TEXT_BYTES];
    plant->call.is_alloc = false; /* nothing is hidden from here on */
    plant_inner_stats(plant, &stats);
    const uint64_t free_bytes = stats.bytes_limit - stats.bytes_in_use - stats.bytes_reserved;
    size_print_field(request->size_bytes, requested_text);
    size_print_field(free_bytes, free_text);
    size_print_field(stats.largest_free_block_bytes, largest_text);
    const bool says = plant->contract.defrag == DEFRAG_NONE && free_bytes >= request->size_bytes;
    (void)snprintf(
        plant->message, PLANT_MESSAGE_BYTES,
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate %s. That was not "
        "possible. There are %s free.%s%s%s; (%" PRIu32 "x%" PRIu32 "x%" PRIu32 "_HBM%" PRIu32 ")",
        requested_text, free_text,
        says ? " Due to fragmentation, the largest contiguous region of free memory is " : "",
        says ? largest_text : "", says ? "." : "", plant->coordinate[0], plant->coordinate[1],
        plant->coordinate[2], plant->coordinate[3]);
    return TARGET_NO_MEMORY;
}
