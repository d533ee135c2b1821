/* The harness calls these: they return libhbm's own answers, or what the defect makes of them. */
#include "targets/plants/private/plant.h"

#include "harness/base/check.h"
#include "targets/private/option.h"
#include "targets/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COUNT_MAX = 64 };

static struct plant *plant_of(struct target_instance *instance)
{
    return (struct plant *)instance;
}

/* Buffers are named by libhbm with even numbers, so programs can have the odd ones. */
static uint64_t make_program_handle(const struct target_program *program)
{
    return program->id << 1 | 1;
}

/* --- life --- */

/* The options of what is wrapped.  Returns their number. */
static uint32_t pass_options(const struct plant *plant, const struct target_setup *setup,
                             const char *rest, struct target_option *options)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, PLANT_WITH) != 0) {
            options[count++] = setup->options[i];
        }
    }
    if (plant->defect->forced.key != NULL) {
        options[count++] = plant->defect->forced;
    }
    if (rest != NULL) {
        options[count++] = (struct target_option){PLANT_WITH, rest};
    }
    return count;
}

static enum target_result open_inner(struct plant *plant, const struct target_setup *setup,
                                     char *reason, size_t reason_bytes)
{
    struct target_option options[OPTION_COUNT_MAX + 2];
    struct target_setup inner = *setup;
    struct plant_inside inside;
    if (setup->option_count > OPTION_COUNT_MAX) {
        (void)snprintf(reason, reason_bytes, "more than %d options", OPTION_COUNT_MAX);
        return TARGET_INVALID;
    }
    if (!plant_find_inside(plant->defect, setup, &inside, reason, reason_bytes)) {
        return TARGET_INVALID;
    }
    inner.option_count = pass_options(plant, setup, inside.rest, options);
    inner.options = options;
    plant->target = inside.target;
    return plant->target->open(&inner, &plant->bent, &plant->inner, &plant->contract, reason,
                               reason_bytes);
}

/* The innermost instance. */
static struct target_instance *find_hbm(const struct plant *plant)
{
    return plant->target == &target_hbm ? plant->inner : plant_of(plant->inner)->hbm;
}

enum target_result plant_open(const struct plant_defect *defect, const struct target_setup *setup,
                              const struct device_services *device, struct target_instance **out,
                              struct target_contract *contract, char *reason, size_t reason_bytes)
{
    struct plant *plant = calloc(1, sizeof *plant);
    CHECK(plant != NULL);
    plant->defect = defect;
    plant->device = *device;
    plant->bent = plant_make_services(plant);
    plant->capacity_bytes = setup->capacity_bytes;
    memcpy(plant->coordinate, setup->coordinate, sizeof plant->coordinate);
    const enum target_result result = open_inner(plant, setup, reason, reason_bytes);
    if (result != TARGET_OK) {
        free(plant);
        return result;
    }
    plant->hbm = find_hbm(plant);
    plant->contract.thread_safe = false;
    if (defect->declare != NULL) {
        defect->declare(plant);
    }
    *contract = plant->contract;
    *out = (struct target_instance *)plant;
    return TARGET_OK;
}

static void plant_call_close(struct target_instance *instance)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->close != NULL) {
        plant->defect->close(plant);
    }
    plant->target->close(plant->inner);
    free(plant->blocks);
    free(plant->chains);
    free(plant->dying);
    free(plant);
}

/* --- calls --- */

static struct plant *begin_call(struct target_instance *instance, bool is_alloc)
{
    struct plant *plant = plant_of(instance);
    plant->message[0] = '\0';
    plant->call = (struct plant_call){
        .is_alloc = is_alloc,
        .completed_before = plant->device.completed_count(plant->device.context)};
    return plant;
}

/* The defect's own call, or that of what is wrapped. */
#define BENT(plant, call) \
    ((plant)->defect->call != NULL ? (plant)->defect->call : plant_inner_##call)

static enum target_result end_call(struct plant *plant, enum target_result result)
{
    plant->call.is_alloc = false;
    plant->call.has_failed = result != TARGET_OK;
    if (result != TARGET_OK && plant->defect->failed != NULL) {
        plant->defect->failed(plant, result);
    }
    return result;
}

static enum target_result alloc_in_steps(struct plant *plant, const struct target_request *request,
                                         struct target_block *block)
{
    const struct plant_defect *defect = plant->defect;
    struct target_request bent = *request;
    if (defect->asked != NULL) {
        defect->asked(plant, &bent);
    }
    if (defect->refuses != NULL && defect->refuses(plant, request)) {
        return plant_refuse(plant, request);
    }
    const enum target_result result = plant_inner_alloc(plant, &bent, block);
    if (result == TARGET_OK && defect->placed != NULL) {
        defect->placed(plant, request, block);
    }
    return result;
}

static enum target_result plant_call_alloc(struct target_instance *instance,
                                           const struct target_request *request,
                                           struct target_block *block)
{
    struct plant *plant = begin_call(instance, true);
    const enum target_result result = plant->defect->alloc != NULL
                                          ? plant->defect->alloc(plant, request, block)
                                          : alloc_in_steps(plant, request, block);
    if (result == TARGET_OK) {
        plant_add_block(plant, &(struct plant_block){.handle = block->handle});
    }
    return end_call(plant, result);
}

/* Notes where the block was and which events it waits for, as far as the wrapper knows. */
static void note_free(struct plant *plant, uint64_t handle, uint64_t event)
{
    const struct plant_block *block = plant_find(plant, handle);
    struct target_block at = {0};
    if (!plant_inner_locate(plant, handle, &at)) {
        return;
    }
    plant_add_dying(plant, &(struct plant_dying){at.address, at.size_bytes, event});
    if (block != NULL && block->event != event) {
        plant_add_dying(plant, &(struct plant_dying){at.address, at.size_bytes, block->event});
    }
}

static enum target_result plant_call_free(struct target_instance *instance, uint64_t handle,
                                          uint64_t event)
{
    struct plant *plant = begin_call(instance, false);
    note_free(plant, handle, event);
    const enum target_result result = BENT(plant, free)(plant, handle, event);
    if (result == TARGET_OK) {
        plant_remove_block(plant, handle);
    }
    return end_call(plant, result);
}

static enum target_result plant_call_use(struct target_instance *instance, uint64_t handle,
                                         uint64_t event)
{
    struct plant *plant = begin_call(instance, false);
    struct plant_block *block = plant_find(plant, handle);
    if (block != NULL) {
        block->event = event;
    }
    return end_call(plant, BENT(plant, use)(plant, handle, event));
}

static enum target_result plant_call_hold(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = begin_call(instance, false);
    return end_call(plant, BENT(plant, hold)(plant, handle));
}

static enum target_result plant_call_release(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = begin_call(instance, false);
    return end_call(plant, BENT(plant, release)(plant, handle));
}

static enum target_result plant_call_donate(struct target_instance *instance, uint64_t handle,
                                            const struct target_request *request,
                                            struct target_block *block)
{
    struct plant *plant = begin_call(instance, false);
    const enum target_result result = plant->target->donate(plant->inner, handle, request, block);
    struct plant_block *known = plant_find(plant, handle);
    if (result == TARGET_OK && known != NULL) {
        plant_rename_block(plant, known, block->handle);
    }
    return end_call(plant, result);
}

static void call_around_program(struct plant *plant, bool begins)
{
    if (plant->defect->around_program != NULL) {
        plant->defect->around_program(plant, begins);
    }
}

static enum target_result plant_call_load(struct target_instance *instance,
                                          const struct target_program *program,
                                          struct target_block *image)
{
    struct plant *plant = begin_call(instance, false);
    call_around_program(plant, true);
    const enum target_result result = plant->target->load(plant->inner, program, image);
    call_around_program(plant, false);
    if (result == TARGET_OK) {
        const struct plant_block block = {.handle = make_program_handle(program),
                                          .is_program = true,
                                          .inner = image->handle,
                                          .program = *program};
        plant_add_block(plant, &block);
        image->handle = block.handle;
    }
    return end_call(plant, result);
}

/* Reloads a program that the wrapper evicted.  If it then cannot be executed, it counts as never
 * reloaded. */
static enum target_result execute_loaded(struct plant *plant, struct plant_block *program,
                                         uint64_t event, struct target_block *image)
{
    const bool was_loaded = program->inner != 0;
    if (!was_loaded) {
        const enum target_result loaded = plant->target->load(plant->inner, &program->program,
                                                              image);
        if (loaded != TARGET_OK) {
            return loaded;
        }
        program->inner = image->handle;
    }
    const enum target_result result = plant->target->execute(plant->inner, program->inner, event,
                                                             image);
    if (result != TARGET_OK && !was_loaded) {
        (void)plant->target->unload(plant->inner, program->inner);
        program->inner = 0;
    }
    return result;
}

static enum target_result plant_call_execute(struct target_instance *instance, uint64_t handle,
                                             uint64_t event, struct target_block *image)
{
    struct plant *plant = begin_call(instance, false);
    struct plant_block *program = plant_find(plant, handle);
    CHECK(program != NULL);
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

static enum target_result plant_call_unload(struct target_instance *instance, uint64_t handle)
{
    struct plant *plant = begin_call(instance, false);
    const uint64_t inner = plant_find_inner_handle(plant, handle);
    note_free(plant, handle, 0);
    plant_remove_block(plant, handle);
    return end_call(plant, inner == 0 ? TARGET_OK : plant->target->unload(plant->inner, inner));
}

static enum target_result plant_call_defragment(struct target_instance *instance)
{
    struct plant *plant = begin_call(instance, false);
    return end_call(plant, plant->target->defragment(plant->inner));
}

static enum target_result plant_call_retire(struct target_instance *instance, uint64_t address,
                                            uint64_t size_bytes)
{
    struct plant *plant = begin_call(instance, false);
    return end_call(plant, plant->target->retire(plant->inner, address, size_bytes));
}

static enum target_result plant_call_locate(struct target_instance *instance, uint64_t handle,
                                            struct target_block *block)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->locate != NULL) {
        return plant->defect->locate(plant, handle, block);
    }
    const bool is_there = plant_inner_locate(plant, handle, block);
    if (is_there && plant->defect->located != NULL) {
        plant->defect->located(plant, block);
    }
    return is_there ? TARGET_OK : TARGET_INVALID;
}

static void plant_call_stats(struct target_instance *instance, struct target_stats *stats)
{
    struct plant *plant = plant_of(instance);
    plant->target->stats(plant->inner, stats);
    if (plant->defect->stats != NULL) {
        plant->defect->stats(plant, stats);
    }
}

static void plant_call_report(struct target_instance *instance,
                              void (*row)(void *context, const struct target_row *row),
                              void *context)
{
    struct plant *plant = plant_of(instance);
    if (plant->defect->report != NULL) {
        plant->defect->report(plant, row, context);
        return;
    }
    plant->target->report(plant->inner, row, context);
}

static const char *plant_call_message(struct target_instance *instance)
{
    struct plant *plant = plant_of(instance);
    return plant->message[0] != '\0' ? plant->message : plant->target->message(plant->inner);
}

/* --- sleep --- */

static enum target_result plant_call_sleep(struct target_instance *instance)
{
    struct plant *plant = begin_call(instance, false);
    return end_call(plant, plant->target->sleep(plant->inner));
}

static enum target_result plant_call_wake(struct target_instance *instance)
{
    struct plant *plant = begin_call(instance, false);
    plant->call.is_wake = true;
    const enum target_result result = BENT(plant, wake)(plant);
    plant->call.is_wake = false;
    return end_call(plant, result);
}

/* --- the table of each plant --- */

/* The options of libhbm that do not change what is planted. */
#define OPTION_HELP                                                                                      \
    "defrag=none|slide|repack\ngranule=N\norder=drain,defragment,evict\nprogram_evicts_program=yes|no\n" \
    "log_allocations_on_oom=yes|no\nmessage_code=yes|no\nsearch_nodes=N\nwith=PLANT,...\n"

#define PLANT(file, noun, rule, text, ...)                                                       \
    extern const struct plant_defect plant_defect_##noun;                                        \
    DEFINE_OPEN(open_##noun, plant_open(&plant_defect_##noun, setup, device, instance, contract, \
                                        reason, reason_bytes))                                   \
    extern const struct target plant_##noun;                                                     \
    const struct target plant_##noun = {.abi_version = TARGET_ABI_VERSION,                       \
                                        .size_bytes = sizeof(struct target),                     \
                                        .name = "plant_" #noun,                                  \
                                        .summary = text,                                         \
                                        .breaks = rule,                                          \
                                        .option_help = OPTION_HELP,                              \
                                        .open = open_##noun,                                     \
                                        .close = plant_call_close,                               \
                                        .alloc = plant_call_alloc,                               \
                                        .free = plant_call_free,                                 \
                                        .use = plant_call_use,                                   \
                                        .hold = plant_call_hold,                                 \
                                        .release = plant_call_release,                           \
                                        .donate = plant_call_donate,                             \
                                        .load = plant_call_load,                                 \
                                        .execute = plant_call_execute,                           \
                                        .unload = plant_call_unload,                             \
                                        .defragment = plant_call_defragment,                     \
                                        .retire = plant_call_retire,                             \
                                        .locate = plant_call_locate,                             \
                                        .stats = plant_call_stats,                               \
                                        .report = plant_call_report,                             \
                                        .message = plant_call_message,                           \
                                        .sleep = plant_call_sleep,                               \
                                        .wake = plant_call_wake};
#include "targets/plants/list.h"
#undef PLANT
