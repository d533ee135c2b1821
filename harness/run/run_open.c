/* Opens and closes a run. */
#include "harness/run/run_state.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/device/collectives.h"
#include "harness/device/timeline.h"
#include "harness/op/rounding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each has opened and sleeps before the next one is opened. */
static bool open_pool(struct run *run, char reason[RUN_REASON_BYTES])
{
    const uint64_t shared_bytes = setup_shared_bytes(&run->setup);
    if (run->setup.shared_hosts != 0 && shared_bytes < run->setup.capacity_bytes) {
        snprintf(
            reason, RUN_REASON_BYTES,
            "the shared device is smaller than the capacity, which each of its hosts has of it "
            "when it is awake");
        return false;
    }
    run->pool = (struct device_pool){.size_bytes = shared_bytes};
    shortages_init(&run->shortages);
    return true;
}

static bool open_hosts(struct run *run, const struct target *target, struct device_guard *guard,
                       char reason[RUN_REASON_BYTES])
{
    CHECK(run->setup.host_count <= OP_HOST_COUNT_MAX);
    CHECK(run->growth_count >= run->setup.host_count);
    if (!open_pool(run, reason)) {
        return false;
    }
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        struct host *host = &run->hosts[i];
        host->guard = guard;
        if (!host_open(host, (uint8_t)i, target, &run->setup,
                       run->timelines[run->setup.has_clocks ? i : 0], reason, RUN_REASON_BYTES)) {
            return false;
        }
        if ((run->setup.shared_hosts >> i & 1) != 0 &&
            !host_share(host, &run->pool, reason, RUN_REASON_BYTES)) {
            return false;
        }
        host->clock = (uint8_t)(run->setup.has_clocks ? i : 0);
        host->collectives = run->collectives;
        run->models[i] = run->hosts[i].model;
        growth_init(&run->growth[i]);
    }
    return true;
}

/* A chip's capacity is rounded down to the granule; a capacity that the user gave is not. */
static void complete_capacity(struct setup *setup)
{
    const struct chip *chip = setup->chip[0] == '\0' ? NULL : chip_find(setup->chip);
    if (chip != NULL &&
        (setup->capacity_bytes == 0 || setup->capacity_bytes == chip->capacity_bytes)) {
        const uint64_t granule = setup->granule_bytes == 0 ? 1 : setup->granule_bytes;
        setup->capacity_bytes = chip->capacity_bytes / granule * granule;
        CHECK(setup->capacity_bytes % granule == 0);
        CHECK(setup->capacity_bytes <= chip->capacity_bytes);
    }
}

/* growth has room for as many hosts as the run had at most: large, and growth_init() is all that it
 * needs. */
static void take_setup(struct run *run, const struct setup *setup)
{
    CHECK(setup->host_count >= 1);
    CHECK(setup->host_count <= OP_HOST_COUNT_MAX);
    if (setup->host_count > run->growth_count) {
        free(run->growth);
        run->growth = array_resized(NULL, setup->host_count * sizeof *run->growth);
        run->growth_count = setup->host_count;
    }
    setup_copy(&run->setup, setup);
    complete_capacity(&run->setup);
    CHECK(run->setup.capacity_bytes >= 1);
}

static struct run *make_run(const struct setup *setup)
{
    struct run *run = array_zeroed(1, sizeof *run);
    take_setup(run, setup);
    op_list_init(&run->ops);
    judge_init(&run->judge);
    return run;
}

/* Makes the target's choices part of the setup from here on.  A list without the line means plain
 * granules. */
static void take_contract(struct setup *setup, const struct target_contract *contract)
{
    setup->granule_bytes = contract->granule_bytes;
    setup->has_rounding = setup->has_rounding || !rounding_is_plain(&contract->rounding);
    if (setup->has_rounding) {
        setup->rounding = contract->rounding;
    }
}

/* The contracts of all hosts are alike. */
static void count_not_checked(struct run *run)
{
    const struct host *host = &run->hosts[0];
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        run->totals.not_checked[i] += not_checked_by((enum not_checked)i, host->target,
                                                     &host->contract);
    }
}

static void create_timelines(struct run *run)
{
    struct timeline *of_hosts[OP_HOST_COUNT_MAX];
    const bool has_clocks = run->setup.has_clocks;
    run->timelines[0] = timeline_create();
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        if (has_clocks && i > 0) {
            run->timelines[i] = timeline_create_beside(run->timelines[0]);
        }
        of_hosts[i] = run->timelines[has_clocks ? i : 0];
    }
    run->collectives = collectives_create(&run->setup, of_hosts);
}

/* NULL: the target refused; the run is gone. */
static struct run *begin_run(struct run *run, const struct target *target,
                             struct device_guard *guard, char reason[RUN_REASON_BYTES])
{
    CHECK(run->timelines[0] == NULL);
    CHECK(run->ops.count == 0);
    CHECK(run->setup.host_count >= 1);
    create_timelines(run);
    if (run->setup.host_count > 1) {
        run->hangs = hang_watch_create(&run->setup);
        run->waits.watch = run->hangs;
    }
    run->standstills = run->promises_only ? NULL : standstill_watch_create(&run->setup);
    run->digest = HASH_START;
    run->plain = (struct plain_costs){.class = &run->totals.costs.classes[0]};
    if (!open_hosts(run, target, guard, reason)) {
        run_destroy(run);
        return NULL;
    }
    take_contract(&run->setup, &run->hosts[0].contract);
    count_not_checked(run);
    run->judge.hosts = run->hosts;
    run->judge.host_count = run->setup.host_count;
    run->judge.ops = &run->ops;
    run->judge.setup = &run->setup;
    run->judge.looks_back = !run->promises_only || run->setup.has_regret_max;
    oracle_set_terse(run->judge.oracle, run->promises_only);
    run->judge.nodes_max = run->setup.search_nodes_max;
    run->judge.verdict = &run->verdict;
    run->judge.message = run->message;
    run->judge.hosts_differ = run->setup.shared_hosts != 0;
    return run;
}

struct run *run_create(const struct target *target, const struct setup *setup,
                       char reason[RUN_REASON_BYTES])
{
    return begin_run(make_run(setup), target, NULL, reason);
}

struct run *run_create_guarded(const struct target *target, const struct setup *setup,
                               struct device_guard *guard, char reason[RUN_REASON_BYTES])
{
    return begin_run(make_run(setup), target, guard, reason);
}

static void close_hosts(struct run *run)
{
    CHECK(run->setup.host_count <= OP_HOST_COUNT_MAX);
    CHECK(run->growth_count >= run->setup.host_count);
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        if (run->hosts[i].device != NULL) {
            host_deinit(&run->hosts[i]);
        }
    }
    collectives_destroy(run->collectives);
    run->collectives = NULL;
    hang_watch_destroy(run->hangs);
    run->hangs = NULL;
    run->waits.watch = NULL;
    standstill_watch_destroy(run->standstills);
    run->standstills = NULL;
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX && run->timelines[i] != NULL; i++) {
        timeline_destroy(run->timelines[i]);
        run->timelines[i] = NULL;
    }
}

static void forget_given(struct run *run)
{
    if (run->given != NULL) {
        op_list_init(&run->ops);
        run->given = NULL;
    }
}

void run_expect(struct run *run, const struct op_list *given)
{
    CHECK(run->ops.count == 0 && run->given == NULL);
    op_list_deinit(&run->ops);
    run->ops.ops = given->ops;
    run->given = given;
}

void run_destroy(struct run *run)
{
    if (run == NULL) {
        return;
    }
    close_hosts(run);
    judge_deinit(&run->judge);
    forget_given(run);
    op_list_deinit(&run->ops);
    free(run->growth);
    free(run);
}

void run_end(struct run *run)
{
    CHECK(run->timelines[0] != NULL);
    close_hosts(run);
    judge_reset(&run->judge);
    forget_given(run);
    op_list_clear(&run->ops);
    CHECK(run->ops.count == 0);
    run->watch = (struct probe_watch){0};
    memset(&run->verdict, 0, sizeof run->verdict);
    memset(&run->observation, 0, sizeof run->observation);
    memset(&run->totals, 0, sizeof run->totals);
    run->findings.count = 0;
    run->waits.count = 0;
    run->waits.total = 0;
    run->message[0] = '\0';
    run->unrecorded_count = 0;
    run->is_broken = false;
}

struct run *run_begin_again(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES])
{
    CHECK(run->timelines[0] == NULL);
    CHECK(run->setup.host_count == setup->host_count);
    run->setup.granule_bytes = setup->granule_bytes; /* they may be the target's to choose */
    run->setup.has_rounding = setup->has_rounding;
    run->setup.rounding = setup->rounding;
    return begin_run(run, target, NULL, reason);
}

struct run *run_begin_other(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES])
{
    CHECK(run->timelines[0] == NULL);
    take_setup(run, setup);
    return begin_run(run, target, NULL, reason);
}

void run_judge_promises_only(struct run *run)
{
    CHECK(run->setup.host_count >= 1);
    run->promises_only = true;
    run->judge.looks_back = run->setup.has_regret_max;
    oracle_set_terse(run->judge.oracle, true);
}

void run_go_on(struct run *run)
{
    CHECK(run->ops.count == 0);
    run->judge.goes_on = true;
}

void run_hold_to(struct run *run, const struct target_contract *promised)
{
    CHECK(run->ops.count == 0);
    run->judge.promised = promised;
}

void run_rename(struct run *run)
{
    CHECK(run->ops.count == 0);
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        device_rename(run->hosts[i].device);
    }
}

void run_abandon(struct run *run)
{
    CHECK(run->timelines[0] != NULL);
    CHECK(run->setup.host_count <= OP_HOST_COUNT_MAX);
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        run->hosts[i].instance = NULL;
    }
    run_destroy(run);
}
