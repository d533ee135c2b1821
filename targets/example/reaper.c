/* A plug-in with a thread of its own: first fit, with a reaper that awaits the events of queued
 * frees.
 *
 *     cc -shared -fPIC -pthread $(pkg-config --cflags hbmstress-kit) -o reaper.so reaper.c
 *
 * In the source tree of hbmstress the option -I with its top folder takes the place of pkg-config.
 *
 * An allocation that finds no room asks the reaper and waits until that has awaited an event and
 * settled what is done. Without lanes it so calls the device only while the client's call waits for
 * it.  With the option eager=yes it awaits every event as soon as the free is queued, whoever calls
 * or not: for lists that are run with lanes only, where the scheduler keeps the device's callers
 * apart.
 *
 * With REAPER_LOSES_WAKEUP defined it has one defect: an allocation gives the lock up after it has
 * asked the reaper, and then waits without looking whether the answer has come. */
#include "harness/target.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* An allocation waits this long before it looks whether the reaper has done something.  Nothing
 * relies on it. */
enum { LOOK_AFTER_S = 1 };
enum { ALIGN_BYTES_MAX = 1 << 21 };

struct reaper_block {
    struct reaper_block *next; /* by address */
    uint64_t address, size_bytes;
    uint64_t event; /* of the free that is queued; 0 = none: the block lives */
    bool is_lost;   /* no waiting completes the event */
};

struct target_instance {
    struct device_services device;
    uint64_t granule_bytes;
    bool is_eager;
    pthread_t reaper;
    sem_t started;          /* posted once by the reaper */
    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t asked;   /* the reaper may have something to do */
    pthread_cond_t changed; /* change_count */
    bool is_wanted;         /* an allocation waits for the reaper */
    bool is_resting; /* the device refused a wait: eager or not, the reaper rests until a call asks
                        or frees */
    bool is_closing;
    uint64_t change_count;   /* blocks that went, and events that the reaper is done with */
    uint64_t begun_count;    /* events that the reaper has begun to await */
    uint64_t refused_number; /* the last of them that the device refused to await; 0 = none */
    struct reaper_block *lowest;
    struct target_stats stats;
};

/* --- blocks: all of it wants the lock --- */

/* Wakes everyone who waits for the reaper, to look again. */
static void note_change(struct target_instance *instance)
{
    instance->change_count++;
    pthread_cond_broadcast(&instance->changed);
}

static void release_block(struct target_instance *instance, struct reaper_block **link)
{
    struct reaper_block *block = *link;
    *link = block->next;
    instance->stats.num_allocs--;
    instance->stats.bytes_in_use -= block->size_bytes;
    note_change(instance);
    instance->device.host_free(instance->device.context, block, sizeof *block);
}

/* Lets the queued frees go that are done, and ends at an instant at which there are no others. */
static void settle_frees(struct target_instance *instance)
{
    const struct device_services *device = &instance->device;
    uint64_t seen, completed = device->completed_count(device->context);
    do {
        seen = completed;
        for (struct reaper_block **link = &instance->lowest; *link != NULL;) {
            if ((*link)->event != 0 && device->event_done(device->context, (*link)->event)) {
                release_block(instance, link);
            } else {
                link = &(*link)->next;
            }
        }
        completed = device->completed_count(device->context);
    } while (completed != seen);
}

/* A queued free that waiting completes; NULL: there is none. */
static const struct reaper_block *next_awaitable(const struct target_instance *instance)
{
    const struct reaper_block *block = instance->lowest;
    while (block != NULL && (block->event == 0 || block->is_lost)) {
        block = block->next;
    }
    return block;
}

static void mark_lost(struct target_instance *instance, uint64_t event)
{
    for (struct reaper_block *block = instance->lowest; block != NULL; block = block->next) {
        block->is_lost = block->is_lost || block->event == event;
    }
}

/* The link that a block of the size at the lowest fitting address belongs behind; NULL: no hole
 * fits. */
static struct reaper_block **find_hole(struct target_instance *instance, uint64_t size,
                                       uint64_t align, uint64_t *address)
{
    uint64_t start = 0;
    for (struct reaper_block **link = &instance->lowest;; link = &(*link)->next) {
        const uint64_t end = *link != NULL ? (*link)->address : instance->stats.bytes_limit;
        *address = (start + align - 1) & ~(align - 1);
        if (*address <= end && size <= end - *address) {
            return link;
        }
        if (*link == NULL) {
            return NULL;
        }
        start = (*link)->address + (*link)->size_bytes;
    }
}

static uint64_t largest_hole(const struct target_instance *instance)
{
    uint64_t largest = 0, start = 0;
    for (const struct reaper_block *block = instance->lowest; block != NULL; block = block->next) {
        largest = block->address - start > largest ? block->address - start : largest;
        start = block->address + block->size_bytes;
    }
    const uint64_t last = instance->stats.bytes_limit - start;
    return last > largest ? last : largest;
}

/* --- the reaper --- */

static bool has_work(const struct target_instance *instance)
{
    const bool is_eager = instance->is_eager && !instance->is_resting;
    return (instance->is_wanted || is_eager) && next_awaitable(instance) != NULL;
}

static void note_awaited(struct target_instance *instance, uint64_t event,
                         enum device_result result)
{
    settle_frees(instance);
    if (result == DEVICE_LOST) {
        mark_lost(instance, event);
    }
    instance->is_resting = result == DEVICE_REFUSED;
    instance->refused_number = instance->is_resting ? instance->begun_count
                                                    : instance->refused_number;
    instance->is_wanted = false; /* who has still no room asks again */
    note_change(instance);
}

/* Holds the lock before and after, but not while it waits: then the block may go, so only its event
 * is kept. */
static void reap_one(struct target_instance *instance)
{
    const uint64_t event = next_awaitable(instance)->event;
    instance->begun_count++;
    pthread_mutex_unlock(&instance->lock);
    const enum device_result result = instance->device.event_wait(instance->device.context, event);
    pthread_mutex_lock(&instance->lock);
    note_awaited(instance, event, result);
}

static void *reap_blocks(void *argument)
{
    struct target_instance *instance = argument;
    sem_post(&instance->started);
    pthread_mutex_lock(&instance->lock);
    while (!instance->is_closing) {
        if (has_work(instance)) {
            reap_one(instance);
        } else {
            pthread_cond_wait(&instance->asked, &instance->lock);
        }
    }
    pthread_mutex_unlock(&instance->lock);
    return NULL;
}

static void await_change(struct target_instance *instance)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LOOK_AFTER_S;
    pthread_cond_timedwait(&instance->changed, &instance->lock, &until);
}

/* Returns when the reaper is done with an event, or somebody else has let a block go. */
static void ask_reaper(struct target_instance *instance)
{
    const uint64_t seen = instance->change_count;
    instance->is_wanted = true;
    instance->is_resting = false;
    pthread_cond_signal(&instance->asked);
#ifdef REAPER_LOSES_WAKEUP
    pthread_mutex_unlock(&instance->lock);
    pthread_mutex_lock(&instance->lock);
    (void)seen;
    await_change(instance);
#else
    while (instance->change_count == seen) {
        await_change(instance);
    }
#endif
}

/* --- the calls --- */

static pthread_once_t attributes_once = PTHREAD_ONCE_INIT;
static pthread_condattr_t monotonic;

static void init_attributes(void)
{
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
}

static bool read_options(const struct target_setup *setup, bool *is_eager, char *reason,
                         size_t reason_bytes)
{
    *is_eager = false;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        const struct target_option *option = &setup->options[i];
        *is_eager = strcmp(option->value, "yes") == 0;
        if (strcmp(option->key, "eager") != 0 || (!*is_eager && strcmp(option->value, "no") != 0)) {
            snprintf(reason, reason_bytes, "%s=%s: the only option is eager=yes|no", option->key,
                     option->value);
            return false;
        }
    }
    return true;
}

static void init_instance(struct target_instance *instance, const struct target_setup *setup,
                          const struct device_services *device)
{
    memset(instance, 0, sizeof *instance);
    instance->device = *device;
    instance->granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512;
    instance->stats.bytes_limit = setup->capacity_bytes;
    pthread_once(&attributes_once, init_attributes);
    sem_init(&instance->started, 0, 0);
    pthread_mutex_init(&instance->lock, NULL);
    pthread_cond_init(&instance->asked, NULL);
    pthread_cond_init(&instance->changed, &monotonic);
}

static void deinit_instance(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    while (instance->lowest != NULL) {
        release_block(instance, &instance->lowest);
    }
    pthread_cond_destroy(&instance->changed);
    pthread_cond_destroy(&instance->asked);
    pthread_mutex_destroy(&instance->lock);
    sem_destroy(&instance->started);
    device.host_free(device.context, instance, sizeof *instance);
}

static enum target_result reaper_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    bool is_eager = false;
    if (!read_options(setup, &is_eager, reason, reason_bytes)) {
        return TARGET_INVALID;
    }
    struct target_instance *made = device->host_alloc(device->context, sizeof *made);
    if (made == NULL) {
        snprintf(reason, reason_bytes, "no host memory");
        return TARGET_FAILED;
    }
    init_instance(made, setup, device);
    made->is_eager = is_eager;
    if (pthread_create(&made->reaper, NULL, reap_blocks, made) != 0) {
        snprintf(reason, reason_bytes, "no thread for the reaper");
        deinit_instance(made);
        return TARGET_FAILED;
    }
    while (sem_wait(&made->started) != 0) { /* a signal came */
    }
    *contract = (struct target_contract){.granule_bytes = made->granule_bytes,
                                         .defrag = DEFRAG_NONE,
                                         .queues_frees = true,
                                         .drains = true,
                                         .thread_safe = true,
                                         .order = {MITIGATION_DRAIN}};
    *instance = made;
    return TARGET_OK;
}

static void reaper_close(struct target_instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->is_closing = true;
    pthread_cond_signal(&instance->asked);
    pthread_mutex_unlock(&instance->lock);
    pthread_join(instance->reaper, NULL);
    deinit_instance(instance);
}

static void count_size(struct target_stats *stats, uint64_t size)
{
    stats->num_allocs++;
    stats->bytes_in_use += size;
    stats->peak_bytes_in_use = stats->bytes_in_use > stats->peak_bytes_in_use
                                   ? stats->bytes_in_use
                                   : stats->peak_bytes_in_use;
    stats->largest_alloc_size = size > stats->largest_alloc_size ? size : stats->largest_alloc_size;
}

/* Needs the lock, and gives it up while it waits.  NO_MEMORY: at this moment no hole fits and no
 * queued free can complete.  FAILED: the device refused a wait that was begun since. */
static enum target_result make_room(struct target_instance *instance,
                                    const struct reaper_block *like, uint64_t align,
                                    struct reaper_block ***link, uint64_t *address)
{
    const uint64_t begun_count = instance->begun_count;
    for (;;) {
        settle_frees(instance);
        *link = find_hole(instance, like->size_bytes, align, address);
        if (*link != NULL) {
            return TARGET_OK;
        }
        if (next_awaitable(instance) == NULL) {
            return TARGET_NO_MEMORY;
        }
        if (instance->refused_number > begun_count) {
            return TARGET_FAILED;
        }
        ask_reaper(instance);
    }
}

static enum target_result place_block(struct target_instance *instance, struct reaper_block *made,
                                      uint64_t align)
{
    struct reaper_block **link = NULL;
    pthread_mutex_lock(&instance->lock);
    const enum target_result result = make_room(instance, made, align, &link, &made->address);
    if (result == TARGET_OK) {
        made->next = *link;
        *link = made;
        count_size(&instance->stats, made->size_bytes);
    }
    pthread_mutex_unlock(&instance->lock);
    return result;
}

static enum target_result reaper_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    const struct device_services *device = &instance->device;
    const uint64_t granule = instance->granule_bytes;
    const uint64_t align = request->align_bytes > granule ? request->align_bytes : granule;
    if (request->size_bytes == 0 || request->size_bytes > UINT64_C(1) << 63 ||
        (align & (align - 1)) != 0 ||
        align > (granule > ALIGN_BYTES_MAX ? granule : ALIGN_BYTES_MAX)) {
        return TARGET_INVALID;
    }
    struct reaper_block *made = device->host_alloc(device->context, sizeof *made);
    if (made == NULL) {
        return TARGET_FAILED;
    }
    *made = (struct reaper_block){.size_bytes = (request->size_bytes + granule - 1) &
                                                ~(granule - 1)};
    const enum target_result result = place_block(instance, made, align);
    if (result != TARGET_OK) {
        device->host_free(device->context, made, sizeof *made);
        return result;
    }
    *block = (struct target_block){(uint64_t)(uintptr_t)made, made->address, made->size_bytes};
    return TARGET_OK;
}

static enum target_result reaper_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    struct reaper_block **link = &instance->lowest;
    pthread_mutex_lock(&instance->lock);
    while (*link != NULL && (uint64_t)(uintptr_t)*link != handle) {
        link = &(*link)->next;
    }
    if (*link == NULL || (*link)->event != 0) {
        pthread_mutex_unlock(&instance->lock);
        return TARGET_INVALID;
    }
    if (event == 0) {
        release_block(instance, link);
    } else {
        (*link)->event = event;
        instance->is_resting = false;
        pthread_cond_signal(&instance->asked);
    }
    pthread_mutex_unlock(&instance->lock);
    return TARGET_OK;
}

static void reaper_stats(struct target_instance *instance, struct target_stats *stats)
{
    pthread_mutex_lock(&instance->lock);
    settle_frees(instance);
    *stats = instance->stats;
    stats->largest_free_block_bytes = largest_hole(instance);
    pthread_mutex_unlock(&instance->lock);
}

static const char *reaper_message(struct target_instance *instance)
{
    (void)instance;
    return "no hole is large enough, or something was refused";
}

extern const struct target hbmstress_target;
const struct target hbmstress_target = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "reaper",
    .summary =
        "first fit with a thread that awaits queued frees: an example of a plug-in with threads",
    .option_help = "eager=yes|no\n",
    .open = reaper_open,
    .close = reaper_close,
    .alloc = reaper_alloc,
    .free = reaper_free,
    .stats = reaper_stats,
    .message = reaper_message,
};
