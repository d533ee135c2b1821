#include "harness/call/host.h"

#include "explore/accesses.h"
#include "harness/base/check.h"
#include "harness/base/target_option.h"
#include "harness/call/progress.h"
#include "harness/device/device.h"
#include "harness/device/device_guard.h"
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

struct flaw {
    bool is_there;
    const char *what;
};

/* NULL: none of them is there. */
static const char *find_first(const struct flaw *flaws, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (flaws[i].is_there) {
            return flaws[i].what;
        }
    }
    return NULL;
}
#define FIRST_OF(flaws) find_first((flaws), sizeof(flaws) / sizeof(flaws)[0])

/* NULL, or what it promises and lacks the calls for, or what does not go with blocks that are no
 * plain ranges.  The granule is sound. */
static const char *find_call_flaw(const struct target *target,
                                  const struct target_contract *contract)
{
    const bool moves = contract->defrag != DEFRAG_NONE, sleeps = contract->sleeps != SLEEP_NONE;
    const bool is_told = contract->placement == PLACEMENT_RANGES;
    const uint64_t header = contract->header_bytes;
    const struct flaw flaws[] = {
        {moves && target->locate == NULL, "it moves blocks but has no locate()"},
        {moves && (!contract->queues_frees || target->use == NULL),
         "it moves blocks but does not accept both queued frees and uses"},
        {contract->drains && !contract->queues_frees, "it awaits queued frees but accepts none"},
        {contract->programs &&
             (target->load == NULL || target->execute == NULL || target->unload == NULL),
         "it promises programs but lacks load(), execute() or unload()"},
        {contract->placement > PLACEMENT_PAGES, "its placement is none"},
        {(!is_told || header > 0) && moves, "it moves blocks that have no address, or headers"},
        {contract->programs && (contract->placement == PLACEMENT_HIDDEN || header > 0),
         "it has programs, and blocks that have no address, or headers"},
        {header > 0 &&
             (!is_told || header > HEADER_BYTES_MAX || header % contract->granule_bytes != 0),
         "its headers are no multiple of the granule up to 1 MiB, or have no address"},
        {contract->rounding.kind != ROUNDING_ANY && contract->rounding.overhead_bytes < header,
         "its rounding allows no overhead of a header"},
        {(unsigned)contract->sleeps > SLEEP_DISCARDS,
         "what it promises of sleep is no enum sleep_contract"},
        {sleeps && (target->sleep == NULL || target->wake == NULL),
         "it promises to sleep but lacks sleep() or wake()"},
        {sleeps && !is_told, "it sleeps, and its blocks have no address that could stay"},
    };
    return FIRST_OF(flaws);
}

/* NULL, or what does not go with memory that is kept for a stream or a recording, or with regions.
 * region_count: how many it holds when it is open. */
static const char *find_kept_flaw(const struct target *target,
                                  const struct target_contract *contract, size_t region_count)
{
    const struct target_regions *regions = &contract->regions;
    const bool is_told = contract->placement == PLACEMENT_RANGES;
    const bool moves = contract->defrag != DEFRAG_NONE || contract->programs ||
                       target->retire != NULL;
    const bool binds = contract->sleeps != SLEEP_NONE || contract->order_binds;
    const struct flaw flaws[] = {
        {contract->records && (target->record_begin == NULL || target->record_end == NULL ||
                               target->record_drop == NULL),
         "it promises recordings but lacks record_begin(), record_end() or record_drop()"},
        {contract->records && !is_told,
         "it promises recordings, and its blocks have no address that could be kept"},
        {contract->stream_ordered && (!contract->queues_frees || target->use == NULL),
         "its frees are ordered by streams, but it does not accept both queued frees and uses"},
        {(contract->stream_ordered || contract->records) && (moves || regions->grows || binds),
         "it has streams or recordings, and it moves, grows, sleeps, binds its order, or has "
         "programs or retire()"},
        {!regions->grows && (regions->trims || regions->step_bytes != 0 || region_count != 0),
         "it gives regions back, has a step of them or holds one, but does not grow"},
        {regions->grows && moves,
         "it grows in regions, which goes with neither moves, programs nor retire()"},
        {regions->grows && (!is_told || contract->header_bytes > 0),
         "it grows in regions, and its blocks have no address, or headers"},
        {regions->grows && binds, "it grows in regions, and sleeps or binds its order"},
        {regions->grows && contract->granule_bytes > TARGET_REGION_ALIGN_BYTES,
         "its granule is larger than 2 MiB, to which regions are aligned"},
        {regions->grows && (regions->step_bytes % contract->granule_bytes != 0 ||
                            regions->step_bytes > REGION_STEP_BYTES_MAX),
         "the step of its regions is above 2^50, or no multiple of the granule"},
    };
    return FIRST_OF(flaws);
}

static bool has_unknown_counting(const struct target_contract *contract)
{
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        if (contract->counting[i] > TARGET_COUNT_ABSENT) {
            return true;
        }
    }
    return false;
}

/* NULL, or what does not go with blocks that lie at multiples of their size, or is wrong with what
 * it promises of the cost of ops, and of counters, limit and eviction. */
static const char *find_other_flaw(const struct target_contract *contract)
{
    const struct target_rounding *rounding = &contract->rounding;
    const struct target_cost *cost = &contract->cost;
    const struct target_latency *latency = &contract->latency;
    const bool is_natural = contract->aligns_naturally;
    const struct flaw flaws[] = {
        {is_natural && (rounding->kind != ROUNDING_CLASSES || rounding->steps != 1 ||
                        rounding->overhead_bytes != 0 ||
                        (rounding->smallest_bytes & (rounding->smallest_bytes - 1)) != 0),
         "it aligns naturally, but its size classes are not the powers of two"},
        {is_natural && (contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0),
         "it aligns naturally, and its blocks have no address, or headers"},
        {is_natural &&
             (contract->defrag != DEFRAG_NONE || contract->programs || contract->regions.grows),
         "it aligns naturally, which goes with neither moves, programs nor regions"},
        {(unsigned)cost->calls > TARGET_GROWTH_LINEAR ||
             (unsigned)cost->moved_bytes > TARGET_GROWTH_LINEAR ||
             (unsigned)cost->accesses > TARGET_GROWTH_LINEAR,
         "what it promises of the growth of a cost is no enum target_growth"},
        {latency->per_mille > LATENCY_PER_MILLE_MAX,
         "more than 1000 of 1000 ops keep to the bounds of its latency"},
        {(latency->per_mille > 0) != (latency->calls_max > 0 || latency->moved_bytes_max > 0),
         "its latency has bounds that no op must keep to, or ops and no bound"},
        {has_unknown_counting(contract), "a counter has no valid counting"},
        {contract->limit != TARGET_LIMIT_DEVICE && contract->limit != TARGET_LIMIT_PROCESS,
         "its limit is none"},
        {contract->evicts_until_fits && !contract->evicts && !contract->program_evicts_program,
         "it evicts until a request fits, but no request may evict"},
    };
    return FIRST_OF(flaws);
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
    const uint64_t granule = contract->granule_bytes;
    const char *what = NULL;
    size_t region_count = 0;
    (void)device_regions(host->device, &region_count);
    if (granule == 0 || (granule & (granule - 1)) != 0 || granule > GRANULE_BYTES_MAX) {
        what = "its granule is not a power of two up to 1 GiB";
    } else {
        what = find_call_flaw(target, contract);
        what = what == NULL ? rounding_flaw(&contract->rounding) : what;
        what = what == NULL ? find_kept_flaw(target, contract, region_count) : what;
        what = what == NULL ? find_other_flaw(contract) : what;
    }
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
