/* A stream-ordered allocator, as the memory pools of an accelerator's driver are: what was freed
 * behind unfinished work of a stream serves requests of that stream at once, and those of others
 * once the work is done.  What was asked for while a program was recorded stays with the recording.
 * It takes the highest place that fits.  The option drains changes what it does before it gives up;
 * declares=no changes only what it declares of streams.
 *
 * Its plants are the same allocator with one defect each. */
#include "targets/private/first_fit_heap.h"
#include "targets/private/option.h"
#include "targets/targets.h"

#include <stdio.h>
#include <string.h>

static const struct target_option_row option_rows[] = {
    OPTION_GRANULE(struct target_contract, granule_bytes),
    OPTION_YES_NO("drains", struct target_contract, drains),
    OPTION_YES_NO("records", struct target_contract, records),
    OPTION_YES_NO("declares", struct target_contract, stream_ordered),
    {.key = NULL}};

enum { MESSAGE_BYTES = 128, ALIGN_LOG2_MAX = 21 };

enum streamed_defect {
    DEFECT_NONE = 0,
    DEFECT_CROSSED,  /* what waits for one stream serves every stream */
    DEFECT_FORGETS,  /* what waits for a stream serves none */
    DEFECT_STUCK,    /* it serves its own stream for good, and no other */
    DEFECT_USES,     /* a use on another stream keeps nothing */
    DEFECT_REUSED,   /* what is freed in a recording serves others once the recording has ended */
    DEFECT_FREED,    /* the same of what is freed after it has ended */
    DEFECT_UNDROPPED /* what was freed in a recording is not given back with it */
};

struct target_instance {
    struct first_fit_heap heap; /* blocks */
    struct first_fit_node
        *kept;          /* freed, and something on its stream is not done; linked by below */
    uint64_t recording; /* that is open; 0 = none */
    bool drains;
    enum streamed_defect defect;
    char message[MESSAGE_BYTES];
};

/* --- life --- */

static enum target_result open_instance(const struct target_setup *setup,
                                        const struct device_services *device,
                                        enum streamed_defect defect, struct target_instance **out,
                                        struct target_contract *contract, char *text,
                                        size_t text_bytes)
{
    const struct option_reason reason = {text, text_bytes};
    struct target_contract declared = {
        .granule_bytes = 512, .queues_frees = true, .stream_ordered = true, .records = true};
    declared.granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes
                                                       : declared.granule_bytes;
    if (!target_options_read(option_rows, setup, &declared, text, text_bytes) ||
        !option_check_device(setup->capacity_bytes, declared.granule_bytes, &reason)) {
        return TARGET_INVALID;
    }
    struct target_instance *instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for the allocator was refused");
        return TARGET_FAILED;
    }
    declared.order[0] = declared.drains ? MITIGATION_DRAIN : MITIGATION_NONE;
    *instance = (struct target_instance){
        .heap = {.device = *device,
                 .capacity_bytes = setup->capacity_bytes,
                 .granule_bytes = declared.granule_bytes,
                 .stats = {.bytes_limit = setup->capacity_bytes,
                           .bytes_reservable_limit = setup->capacity_bytes}},
        .drains = declared.drains,
        .defect = defect};
    *contract = declared;
    *out = instance;
    return TARGET_OK;
}

static void drop_kept(struct target_instance *instance, struct first_fit_node **link)
{
    struct first_fit_node *node = *link;
    *link = node->below;
    first_fit_drop(&instance->heap, node);
}

static void target_close(struct target_instance *instance)
{
    const struct device_services device = instance->heap.device;
    while (instance->kept != NULL) {
        drop_kept(instance, &instance->kept);
    }
    first_fit_clear(&instance->heap);
    device.host_free(device.context, instance, sizeof *instance);
}

/* --- what waits --- */

static bool is_on_own_stream(const struct target_instance *instance,
                             const struct first_fit_node *node, const struct first_fit_wait *wait)
{
    const struct device_services *device = &instance->heap.device;
    return device->event_stream(device->context, wait->event) == node->stream;
}

/* True if everything that the block waits for is on its stream. */
static bool waits_for_own_stream(const struct target_instance *instance,
                                 const struct first_fit_node *node)
{
    const struct first_fit_wait *wait = node->waits;
    while (wait != NULL &&
           (instance->defect == DEFECT_USES || is_on_own_stream(instance, node, wait))) {
        wait = wait->next;
    }
    return wait == NULL;
}

/* A freed block ends as soon as only its stream is to be waited for. */
static void settle(struct target_instance *instance, struct first_fit_node *node)
{
    if (!node->is_dying || node->hold_count > 0 || !waits_for_own_stream(instance, node)) {
        return;
    }
    first_fit_unlink(&instance->heap, node);
    if (instance->defect == DEFECT_FREED && instance->recording == 0) {
        node->recording = 0;
    }
    if (node->waits == NULL && node->recording == 0) {
        first_fit_drop(&instance->heap, node);
        return;
    }
    node->below = instance->kept;
    instance->kept = node;
}

/* Forgets memory that is kept for nobody any more. */
static void sweep_kept(struct target_instance *instance)
{
    for (struct first_fit_node **link = &instance->kept; *link != NULL;) {
        first_fit_poll(&instance->heap, *link);
        if ((*link)->waits == NULL && (*link)->recording == 0 && instance->defect != DEFECT_STUCK) {
            drop_kept(instance, link);
        } else {
            link = &(*link)->below;
        }
    }
}

/* Takes in what the device has finished. */
static void collect(struct target_instance *instance)
{
    struct first_fit_heap *heap = &instance->heap;
    const uint64_t completed = heap->device.completed_count(heap->device.context);
    if (heap->wait_count == 0 || completed == heap->completed_count) {
        heap->completed_count = completed;
        return;
    }
    heap->completed_count = completed;
    sweep_kept(instance);
    struct first_fit_node *below = NULL;
    for (struct first_fit_node *node = heap->highest; node != NULL; node = below) {
        below = node->below;
        first_fit_poll(heap, node);
        settle(instance, node);
    }
}

/* Waits for the first thing that is to be waited for; false: there is none that can end. */
static bool wait_for_one(struct target_instance *instance, const struct first_fit_node *node)
{
    const struct device_services *device = &instance->heap.device;
    for (; node != NULL; node = node->below) {
        const bool is_queued = (node->is_dying && node->hold_count == 0);
        for (const struct first_fit_wait *wait = node->waits; is_queued && wait != NULL;
             wait = wait->next) {
            if (device->event_wait(device->context, wait->event) == DEVICE_OK) {
                return true;
            }
        }
    }
    return false;
}

/* Something that was freed may have ended; without a wait, or in one that was refused, too. */
static bool drain_one(struct target_instance *instance)
{
    const uint64_t completed = instance->heap.completed_count;
    const bool has_waited = instance->drains && (wait_for_one(instance, instance->kept) ||
                                                 wait_for_one(instance, instance->heap.highest));
    collect(instance);
    return has_waited || instance->heap.completed_count != completed;
}

/* --- places --- */

struct streamed_wanted {
    uint64_t size_bytes, align_bytes;
    uint32_t stream;
};

/* The kept memory that [address, address + size) may not meet; NULL: it meets none. */
static const struct first_fit_node *find_kept(const struct target_instance *instance,
                                              const struct streamed_wanted *wanted,
                                              uint64_t address)
{
    for (const struct first_fit_node *kept = instance->kept; kept != NULL; kept = kept->below) {
        const bool is_recorded = kept->recording != 0 && kept->recording != instance->recording;
        const bool is_done = kept->waits == NULL && instance->defect != DEFECT_STUCK;
        const bool is_open = is_done || instance->defect == DEFECT_CROSSED ||
                             (kept->stream == wanted->stream && instance->defect != DEFECT_FORGETS);
        if ((is_recorded || !is_open) && address < kept->address + kept->size_bytes &&
            kept->address < address + wanted->size_bytes) {
            return kept;
        }
    }
    return NULL;
}

/* The highest place in [bottom, top) that meets no kept memory of others. */
static bool find_in_hole(const struct target_instance *instance,
                         const struct streamed_wanted *wanted, uint64_t bottom, uint64_t top,
                         uint64_t *address)
{
    while (top >= bottom && top - bottom >= wanted->size_bytes) {
        *address = (top - wanted->size_bytes) & ~(wanted->align_bytes - 1);
        if (*address < bottom) {
            return false;
        }
        const struct first_fit_node *kept = find_kept(instance, wanted, *address);
        if (kept == NULL) {
            return true;
        }
        top = kept->address;
    }
    return false;
}

static bool find_place(const struct target_instance *instance, const struct streamed_wanted *wanted,
                       uint64_t *address, struct first_fit_node **above)
{
    uint64_t top = instance->heap.capacity_bytes;
    *above = NULL;
    for (struct first_fit_node *node = instance->heap.highest;; node = node->below) {
        const uint64_t bottom = node == NULL ? 0 : node->address + node->size_bytes;
        if (find_in_hole(instance, wanted, bottom, top, address)) {
            return true;
        }
        if (node == NULL) {
            return false;
        }
        top = node->address;
        *above = node;
    }
}

/* --- calls --- */

static enum target_result fail(struct target_instance *instance, enum target_result result,
                               const char *what)
{
    (void)snprintf(instance->message, MESSAGE_BYTES, "%s", what);
    return result;
}

static struct first_fit_node *node_of(uint64_t handle)
{
    return (struct first_fit_node *)(uintptr_t)handle;
}

static enum target_result target_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    struct first_fit_heap *heap = &instance->heap;
    const uint64_t align = request->align_bytes;
    collect(instance);
    if (request->size_bytes == 0 || request->size_bytes > UINT64_C(1) << 63 ||
        (align & (align - 1)) != 0 || align > UINT64_C(1) << ALIGN_LOG2_MAX) {
        return fail(instance, TARGET_INVALID, "no size or no alignment");
    }
    const struct streamed_wanted wanted = {
        .size_bytes = first_fit_in_granules(heap, request->size_bytes),
        .align_bytes = align > heap->granule_bytes ? align : heap->granule_bytes,
        .stream = request->stream};
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    while (!find_place(instance, &wanted, &address, &above)) {
        if (wanted.size_bytes > heap->capacity_bytes || !drain_one(instance)) {
            return fail(instance, TARGET_NO_MEMORY, "out of memory");
        }
    }
    const struct first_fit_node like = {.size_bytes = wanted.size_bytes,
                                        .tag = request->tag,
                                        .stream = request->stream,
                                        .recording = instance->recording,
                                        .kind = request->kind};
    struct first_fit_node *node = first_fit_add(heap, &like, address, above);
    if (node == NULL) {
        return fail(instance, TARGET_FAILED, "the host memory for a block was refused");
    }
    *block = (struct target_block){(uint64_t)(uintptr_t)node, address, wanted.size_bytes};
    return TARGET_OK;
}

static enum target_result add_wait(struct target_instance *instance, uint64_t handle,
                                   uint64_t event)
{
    return first_fit_add_wait(&instance->heap, node_of(handle), event)
               ? TARGET_OK
               : fail(instance, TARGET_FAILED, "the host memory for an event was refused");
}

/* Lets its stream's work come first: if the free fails after that, the wait for it changes nothing,
 * because a later free waits for no less. */
static enum target_result target_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    const struct device_services *device = &instance->heap.device;
    collect(instance);
    const uint64_t last = device->last_event(device->context, node_of(handle)->stream);
    enum target_result result = add_wait(instance, handle, last);
    if (result == TARGET_OK && last != event) {
        result = add_wait(instance, handle, event);
    }
    if (result == TARGET_OK) {
        node_of(handle)->is_dying = true;
        settle(instance, node_of(handle));
    }
    return result;
}

static enum target_result target_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    collect(instance);
    return add_wait(instance, handle, event);
}

static enum target_result target_hold(struct target_instance *instance, uint64_t handle)
{
    collect(instance);
    node_of(handle)->hold_count++;
    return TARGET_OK;
}

static enum target_result target_release(struct target_instance *instance, uint64_t handle)
{
    collect(instance);
    node_of(handle)->hold_count--;
    settle(instance, node_of(handle));
    return TARGET_OK;
}

/* The block stays with the stream for which it was asked. */
static enum target_result target_donate(struct target_instance *instance, uint64_t handle,
                                        const struct target_request *request,
                                        struct target_block *block)
{
    struct first_fit_node *node = node_of(handle);
    collect(instance);
    node->tag = request->tag;
    node->kind = request->kind;
    *block = (struct target_block){handle, node->address, node->size_bytes};
    return TARGET_OK;
}

/* --- recordings --- */

static enum target_result target_record_begin(struct target_instance *instance, uint64_t id)
{
    collect(instance);
    instance->recording = id;
    return TARGET_OK;
}

/* Takes the blocks of a list out of a recording. */
static void leave_recording(struct first_fit_node *node, uint64_t id)
{
    for (; node != NULL; node = node->below) {
        node->recording = node->recording == id ? 0 : node->recording;
    }
}

static enum target_result target_record_end(struct target_instance *instance, uint64_t id)
{
    collect(instance);
    if (instance->defect == DEFECT_REUSED) {
        leave_recording(instance->kept, id);
    }
    instance->recording = 0;
    sweep_kept(instance);
    return TARGET_OK;
}

static enum target_result target_record_drop(struct target_instance *instance, uint64_t id)
{
    collect(instance);
    if (instance->defect != DEFECT_UNDROPPED) {
        leave_recording(instance->kept, id);
    }
    leave_recording(instance->heap.highest, id);
    sweep_kept(instance);
    return TARGET_OK;
}

static void target_stats(struct target_instance *instance, struct target_stats *stats)
{
    collect(instance);
    *stats = instance->heap.stats;
    stats->largest_free_block_bytes = first_fit_largest_hole_bytes(&instance->heap);
}

static const char *target_message(struct target_instance *instance)
{
    return instance->message;
}

/* --- the targets --- */

/* The table target_`name_` or plant_`name_`. */
#define STREAMED_TARGET(table_, defect_, options_, name_, summary_, breaks_)                     \
    DEFINE_OPEN(open_##table_,                                                                   \
                open_instance(setup, device, defect_, instance, contract, reason, reason_bytes)) \
    const struct target table_ = {.abi_version = TARGET_ABI_VERSION,                             \
                                  .size_bytes = sizeof(struct target),                           \
                                  .name = name_,                                                 \
                                  .summary = summary_,                                           \
                                  .breaks = breaks_,                                             \
                                  .options = options_,                                           \
                                  .open = open_##table_,                                         \
                                  .close = target_close,                                         \
                                  .alloc = target_alloc,                                         \
                                  .free = target_free,                                           \
                                  .use = target_use,                                             \
                                  .hold = target_hold,                                           \
                                  .release = target_release,                                     \
                                  .donate = target_donate,                                       \
                                  .stats = target_stats,                                         \
                                  .record_begin = target_record_begin,                           \
                                  .record_end = target_record_end,                               \
                                  .record_drop = target_record_drop,                             \
                                  .message = target_message}

STREAMED_TARGET(
    target_streamed, DEFECT_NONE, option_rows, "streamed",
    "what was freed on a stream serves that stream at once, others later; what was recorded stays",
    NULL);

#define STREAMED_PLANT(name_, defect_, summary_, breaks_) \
    STREAMED_TARGET(plant_##name_, defect_, NULL, "plant_" #name_, summary_, breaks_)

STREAMED_PLANT(stream_crossed, DEFECT_CROSSED,
               "streamed, but what was freed on one stream serves every stream at once",
               "reused_early");
STREAMED_PLANT(stream_forgets, DEFECT_FORGETS,
               "streamed, but what was freed on a stream does not serve it before the work is done",
               "premature");
STREAMED_PLANT(stream_stuck, DEFECT_STUCK,
               "streamed, but what was freed behind work of a stream serves no other one any more",
               "premature");
STREAMED_PLANT(stream_uses, DEFECT_USES,
               "streamed, but a use on another stream keeps no block that is freed",
               "reused_early");
STREAMED_PLANT(record_reused, DEFECT_REUSED,
               "streamed, but what is freed while it is recorded serves others after that",
               "recorded");
STREAMED_PLANT(record_freed, DEFECT_FREED,
               "streamed, but what was recorded serves others when it is freed later", "recorded");
STREAMED_PLANT(record_undropped, DEFECT_UNDROPPED,
               "streamed, but what was freed in a recording is lost when that is dropped",
               "premature");
