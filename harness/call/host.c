#include "harness/call/host.h"

#include "explore/accesses.h"
#include "harness/base/check.h"
#include "harness/base/target_option.h"
#include "harness/call/progress.h"
#include "harness/device/device_guard.h"
#include "harness/device/device.h"
#include "harness/device/host_memory.h"
#include "harness/model/model_update.h"
#include "harness/op/limits.h"
#include "harness/op/rounding.h"

#include <inttypes.h>
#include <stdio.h>

#define GRANULE_BYTES_MAX ((uint64_t)1 << 30)
#define HEADER_BYTES_MAX ((uint64_t)1 << 20)
/* No device is larger. */
#define REGION_STEP_BYTES_MAX ((uint64_t)1 << 50)

enum { LATENCY_PER_MILLE_MAX = 1000 };

/* --- life --- */

/* NULL: counting, limit and eviction are sound. */
static const char *find_counting_flaw(const struct target_contract *contract)
{
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        if (contract->counting[i] > TARGET_COUNT_ABSENT) {
            return "a counter has no valid counting";
        }
    }
    if (contract->limit != TARGET_LIMIT_DEVICE && contract->limit != TARGET_LIMIT_PROCESS) {
        return "its limit is none";
    }
    return contract->evicts_until_fits && !contract->evicts && !contract->program_evicts_program
               ? "it evicts until a request fits, but no request may evict"
               : NULL;
}

/* NULL, or what does not go with blocks that are no plain ranges. */
static const char *find_placement_flaw(const struct target_contract *contract)
{
    const uint64_t header = contract->header_bytes;
    const bool is_told = contract->placement == PLACEMENT_RANGES;
    if (contract->placement > PLACEMENT_PAGES) {
        return "its placement is none";
    }
    if ((!is_told || header > 0) && contract->defrag != DEFRAG_NONE) {
        return "it moves blocks that have no address, or headers";
    }
    if (contract->programs && (contract->placement == PLACEMENT_HIDDEN || header > 0)) {
        return "it has programs, and blocks that have no address, or headers";
    }
    if (header > 0 &&
        (!is_told || header > HEADER_BYTES_MAX || header % contract->granule_bytes != 0)) {
        return "its headers are no multiple of the granule up to 1 MiB, or have no address";
    }
    if (contract->rounding.kind != ROUNDING_ANY && contract->rounding.overhead_bytes < header) {
        return "its rounding allows no overhead of a header";
    }
    return NULL;
}

static const char *find_sleep_flaw(const struct target *target,
                                   const struct target_contract *contract)
{
    if ((unsigned)contract->sleeps > SLEEP_DISCARDS) {
        return "what it promises of sleep is no enum sleep_contract";
    }
    if (contract->sleeps != SLEEP_NONE && (target->sleep == NULL || target->wake == NULL)) {
        return "it promises to sleep but lacks sleep() or wake()";
    }
    return contract->sleeps != SLEEP_NONE && contract->placement != PLACEMENT_RANGES
               ? "it sleeps, and its blocks have no address that could stay"
               : NULL;
}

/* NULL, or what does not go with memory that is kept for a stream or a recording. */
static const char *find_kept_flaw(const struct target *target,
                                  const struct target_contract *contract)
{
    if (contract->records && (target->record_begin == NULL || target->record_end == NULL ||
                              target->record_drop == NULL)) {
        return "it promises recordings but lacks record_begin(), record_end() or record_drop()";
    }
    if (contract->records && contract->placement != PLACEMENT_RANGES) {
        return "it promises recordings, and its blocks have no address that could be kept";
    }
    if (contract->stream_ordered && (!contract->queues_frees || target->use == NULL)) {
        return "its frees are ordered by streams, but it does not accept both queued frees and uses";
    }
    const bool does_more = contract->defrag != DEFRAG_NONE || contract->programs ||
                           target->retire != NULL || contract->regions.grows ||
                           contract->sleeps != SLEEP_NONE || contract->order_binds;
    return (contract->stream_ordered || contract->records) && does_more
               ? "it has streams or recordings, and it moves, grows, sleeps, binds its order, or has "
                 "programs or retire()"
               : NULL;
}

/* NULL, or what is wrong with its regions.  `count`: how many it holds when it is open. */
static const char *find_regions_flaw(const struct target *target,
                                     const struct target_contract *contract, size_t count)
{
    const struct target_regions *regions = &contract->regions;
    if (!regions->grows) {
        return regions->trims || regions->step_bytes != 0 || count != 0
                   ? "it gives regions back, has a step of them or holds one, but does not grow"
                   : NULL;
    }
    if (contract->defrag != DEFRAG_NONE || contract->programs || target->retire != NULL) {
        return "it grows in regions, which goes with neither moves, programs nor retire()";
    }
    if (contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0) {
        return "it grows in regions, and its blocks have no address, or headers";
    }
    if (contract->sleeps != SLEEP_NONE || contract->order_binds) {
        return "it grows in regions, and sleeps or binds its order";
    }
    return contract->granule_bytes > TARGET_REGION_ALIGN_BYTES
               ? "its granule is larger than 2 MiB, to which regions are aligned"
           : regions->step_bytes % contract->granule_bytes != 0 ||
                   regions->step_bytes > REGION_STEP_BYTES_MAX
               ? "the step of its regions is above 2^50, or no multiple of the granule"
               : NULL;
}

/* NULL, or what does not go with blocks that lie at multiples of their size. */
static const char *find_natural_flaw(const struct target_contract *contract)
{
    const struct target_rounding *rounding = &contract->rounding;
    if (!contract->aligns_naturally) {
        return NULL;
    }
    if (rounding->kind != ROUNDING_CLASSES || rounding->steps != 1 ||
        rounding->overhead_bytes != 0 ||
        (rounding->smallest_bytes & (rounding->smallest_bytes - 1)) != 0) {
        return "it aligns naturally, but its size classes are not the powers of two";
    }
    if (contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0) {
        return "it aligns naturally, and its blocks have no address, or headers";
    }
    return contract->defrag != DEFRAG_NONE || contract->programs || contract->regions.grows
               ? "it aligns naturally, which goes with neither moves, programs nor regions"
               : NULL;
}

/* NULL, or what is wrong with what it promises of the cost of ops. */
static const char *find_cost_flaw(const struct target_contract *contract)
{
    const struct target_cost *cost = &contract->cost;
    const struct target_latency *latency = &contract->latency;
    if ((unsigned)cost->calls > TARGET_GROWTH_LINEAR ||
        (unsigned)cost->moved_bytes > TARGET_GROWTH_LINEAR ||
        (unsigned)cost->accesses > TARGET_GROWTH_LINEAR) {
        return "what it promises of the growth of a cost is no enum target_growth";
    }
    if (latency->per_mille > LATENCY_PER_MILLE_MAX) {
        return "more than 1000 of 1000 ops keep to the bounds of its latency";
    }
    return (latency->per_mille > 0) != (latency->calls_max > 0 || latency->moved_bytes_max > 0)
               ? "its latency has bounds that no op must keep to, or ops and no bound"
               : NULL;
}

static bool is_cost_promised(const struct target_contract *contract)
{
    return contract->cost.calls != TARGET_GROWTH_UNDECLARED ||
           contract->cost.moved_bytes != TARGET_GROWTH_UNDECLARED ||
           contract->cost.accesses != TARGET_GROWTH_UNDECLARED || contract->latency.per_mille > 0;
}

/* Blocks are ranges of the whole device, and nothing is promised of an alloc or free that succeeds
 * but its range and the counters. */
static bool is_plain_contract(const struct target_contract *contract)
{
    bool is_late = false;
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        is_late = is_late || contract->counting[i] == TARGET_COUNT_LATE;
    }
    return !is_late && contract->placement == PLACEMENT_RANGES && contract->header_bytes == 0 &&
           contract->sleeps == SLEEP_NONE && !contract->regions.grows &&
           !contract->stream_ordered && !contract->records && !contract->aligns_naturally &&
           !contract->counts_owners;
}

static bool is_sound_contract(const struct host *host, char *reason, size_t reason_bytes)
{
    const struct target *target = host->target;
    const struct target_contract *contract = &host->contract;
    const char *what = NULL;
    size_t region_count = 0;
    (void)device_regions(host->device, &region_count);
    if (contract->granule_bytes == 0 ||
        (contract->granule_bytes & (contract->granule_bytes - 1)) != 0 ||
        contract->granule_bytes > GRANULE_BYTES_MAX) {
        what = "its granule is not a power of two up to 1 GiB";
    } else if (contract->defrag != DEFRAG_NONE && target->locate == NULL) {
        what = "it moves blocks but has no locate()";
    } else if (contract->defrag != DEFRAG_NONE &&
               (!contract->queues_frees || target->use == NULL)) {
        what = "it moves blocks but does not accept both queued frees and uses";
    } else if (contract->drains && !contract->queues_frees) {
        what = "it awaits queued frees but accepts none";
    } else if (contract->programs &&
               (target->load == NULL || target->execute == NULL || target->unload == NULL)) {
        what = "it promises programs but lacks load(), execute() or unload()";
    } else {
        what = find_placement_flaw(contract);
        what = what == NULL ? find_sleep_flaw(target, contract) : what;
        what = what == NULL ? rounding_flaw(&contract->rounding) : what;
        what = what == NULL ? find_kept_flaw(target, contract) : what;
        what = what == NULL ? find_regions_flaw(target, contract, region_count) : what;
        what = what == NULL ? find_natural_flaw(contract) : what;
        what = what == NULL ? find_cost_flaw(contract) : what;
    }
    what = what == NULL ? find_counting_flaw(contract) : what;
    if (what != NULL) {
        snprintf(reason, reason_bytes, "target '%s': %s", target->name, what);
    }
    return what == NULL;
}

static bool are_limits_kept(const struct target *target, const struct setup *setup, char *reason,
                            size_t reason_bytes)
{
    char why[LIMITS_REASON_BYTES];
    const char *flaw = limits_flaw(&target->limits);
    if (flaw == NULL && !limits_take_capacity(&target->limits, setup->capacity_bytes, why)) {
        flaw = why;
    }
    if (flaw != NULL) {
        snprintf(reason, reason_bytes, "target '%s': %s", target->name, flaw);
    }
    return flaw == NULL;
}

/* The setup's rounding overrides the target's: a user can promise it for a plug-in that cannot. */
static void complete_rounding(struct host *host, const struct setup *setup)
{
    if (setup->has_rounding) {
        host->contract.rounding = setup->rounding;
    }
}

enum target_result host_open_target(struct host *host, const struct setup *setup, char *reason,
                                    size_t reason_bytes)
{
    struct target_option options[SETUP_OPTION_COUNT_MAX];
    for (uint32_t i = 0; i < setup->option_count; i++) {
        options[i] = (struct target_option){setup->options[i].key, setup->options[i].value};
    }
    const uint32_t *at = setup->coordinate;
    const struct target_setup target_setup = {
        .capacity_bytes = setup->capacity_bytes,
        .granule_bytes = setup->granule_bytes,
        .coordinate = {at[0] + host->index, at[1], at[2], at[3]},
        .options = options,
        .option_count = setup->option_count,
    };
    if (host->target->options != NULL &&
        !target_options_read(host->target->options, &target_setup, NULL, reason, reason_bytes)) {
        return TARGET_INVALID;
    }
    const struct device_services *services = host->guarded == NULL
                                                 ? device_services(host->device)
                                                 : guarded_device_services(host->guarded);
    const enum target_result result = host->target->open(&target_setup, services, &host->instance,
                                                         &host->contract, reason, reason_bytes);
    complete_rounding(host, setup);
    return result;
}

/* Contents are stamped with the slot. */
static bool find_image_owner(const void *context, uint64_t program, uint32_t *owner)
{
    const struct model *model = context;
    const uint64_t op = program - 1;
    *owner = op < OP_NONE ? model_slot_of_op(model, (uint32_t)op) : SLOT_NONE;
    return *owner != SLOT_NONE && model_block(model, *owner)->kind == BLOCK_PROGRAM &&
           model_block(model, *owner)->state == BLOCK_LIVE;
}

bool host_open(struct host *host, uint8_t index, const struct target *target,
               const struct setup *setup, struct timeline *timeline, char *reason,
               size_t reason_bytes)
{
    *host = (struct host){.target = target,
                          .guard = host->guard,
                          .timeline = timeline,
                          .refused_op = OP_NONE,
                          .index = index};
    if (!are_limits_kept(target, setup, reason, reason_bytes)) {
        return false;
    }
    host->device = device_create(setup->capacity_bytes, timeline);
    device_set_clock(host->device, &setup->clocks[index]);
    host->guarded = host->guard == NULL
                        ? NULL
                        : guarded_device_create(host->guard, device_services(host->device));
    reason[0] = '\0';
    progress_begin(PROGRESS_OPEN, OP_KIND_COUNT, 0);
    const enum target_result opened = host_open_target(host, setup, reason, reason_bytes);
    progress_end();
    if (opened != TARGET_OK) {
        host->instance = NULL;
        if (reason[0] == '\0') {
            snprintf(reason, reason_bytes, "target '%s' refused the setup", target->name);
        }
        host_deinit(host);
        return false;
    }
    host_memory_opened(device_host_memory(host->device));
    const uint64_t granule = host->contract.granule_bytes;
    bool is_good = is_sound_contract(host, reason, reason_bytes);
    if (is_good && setup->capacity_bytes % granule != 0) {
        snprintf(reason, reason_bytes,
                 "the capacity is not a multiple of the granule (%" PRIu64 ")", granule);
        is_good = false;
    }
    if (!is_good) {
        host_deinit(host);
        return false;
    }
    host->has_cost = is_cost_promised(&host->contract);
    host->is_plain = is_plain_contract(&host->contract) && !host->has_cost;
    host->model = model_create(setup->capacity_bytes, &host->contract, timeline);
    size_t region_count = 0;
    const struct device_region *regions = device_regions(host->device, &region_count);
    model_set_regions(host->model, regions, region_count);
    device_set_resumes(host->device, host->contract.resumes);
    device_set_images(host->device, &(struct device_images){find_image_owner, host->model});
    return true;
}

bool host_share(struct host *host, struct device_pool *pool, char *reason, size_t reason_bytes)
{
    const char *name = host->target->name;
    if (host->contract.regions.grows) {
        device_join_pool(host->device, pool, true);
        return true;
    }
    if (host->contract.sleeps == SLEEP_NONE) {
        snprintf(reason, reason_bytes,
                 "the hosts share a device, and target '%s', which neither grows nor sleeps, has "
                 "all of it",
                 name);
        return false;
    }
    host_begin_call(host);
    progress_begin(PROGRESS_OPEN, OP_SLEEP, 0);
    const enum target_result result = host->target->sleep(host->instance);
    progress_end();
    host_end_call(host);
    if (result != TARGET_OK) {
        snprintf(reason, reason_bytes, "target '%s' promises to sleep, but not when it was opened",
                 name);
        return false;
    }
    model_set_asleep(host->model, true);
    host->kept_bytes = device_mapped_bytes(host->device);
    device_join_pool(host->device, pool, false);
    return true;
}

void host_close(struct host *host)
{
    if (host->instance != NULL) {
        device_begin_op(host->device,
                        host->model == NULL ? HOST_DEVICE_CALLS_MIN : host_device_calls_max(host));
        progress_begin(PROGRESS_CLOSE, OP_KIND_COUNT, 0);
        host->target->close(host->instance);
        progress_end();
        host->instance = NULL;
        device_leave_pool(host->device);
    }
}

void host_deinit(struct host *host)
{
    host_close(host);
    model_destroy(host->model);
    device_destroy(host->device);
    guarded_device_destroy(host->guarded);
    *host = (struct host){0};
}

/* --- calls --- */

void host_set_clients(struct host *host, const struct clients *clients)
{
    CHECK(host->call_count == 0);
    CHECK(clients == NULL || host->clients == NULL);
    host->clients = clients;
    if (clients != NULL) {
        model_set_unordered(host->model);
    }
}

void host_begin_call(struct host *host)
{
    if (host->call_count++ == 0) {
        device_begin_op(host->device, host_device_calls_max(host));
    } else {
        device_join_op(host->device, host_device_calls_max(host));
    }
    if (host->has_cost) {
        host->access_count = accesses_count();
    }
}

void host_end_call(struct host *host)
{
    CHECK(host->call_count > 0);
    if (host->has_cost) {
        host->access_count = accesses_count() - host->access_count;
    }
    if (--host->call_count == 0) {
        (void)device_end_op(host->device);
    }
}
