#include "harness/run/run.h"

#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/call/driver.h"
#include "harness/call/progress.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/oracle/certificate.h"
#include "harness/rules/judge.h"
#include "harness/run/growth.h"
#include "harness/run/probe_watch.h"
#include "harness/run/run_state.h"

#include <stdlib.h>
#include <string.h>

/* --- life --- */

static bool open_hosts(struct run *run, const struct target *target, struct device_guard *guard,
                       char reason[RUN_REASON_BYTES])
{
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        run->hosts[i].guard = guard;
        if (!host_open(&run->hosts[i], (uint8_t)i, target, &run->setup, run->timeline, reason,
                       RUN_REASON_BYTES)) {
            return false;
        }
        run->models[i] = run->hosts[i].model;
        growth_init(&run->growth[i]);
    }
    return true;
}

/* A chip's capacity is rounded down to the granule; a capacity that the user gave is not. */
static void complete_capacity(struct setup *setup)
{
    const struct chip *chip = chip_find(setup->chip);
    if (chip != NULL &&
        (setup->capacity_bytes == 0 || setup->capacity_bytes == chip->capacity_bytes)) {
        const uint64_t granule = setup->granule_bytes == 0 ? 1 : setup->granule_bytes;
        setup->capacity_bytes = chip->capacity_bytes / granule * granule;
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
        run->growth = malloc(setup->host_count * sizeof *run->growth);
        CHECK(run->growth != NULL);
        run->growth_count = setup->host_count;
    }
    setup_copy(&run->setup, setup);
    complete_capacity(&run->setup);
    CHECK(run->setup.capacity_bytes >= 1);
}

static struct run *allocate(const struct setup *setup)
{
    struct run *run = calloc(1, sizeof *run);
    CHECK(run != NULL);
    take_setup(run, setup);
    op_list_init(&run->ops);
    judge_init(&run->judge);
    return run;
}

/* NULL: the target refused; the run is gone. */
static struct run *begin(struct run *run, const struct target *target, struct device_guard *guard,
                         char reason[RUN_REASON_BYTES])
{
    run->timeline = timeline_create();
    run->digest = HASH_START;
    if (!open_hosts(run, target, guard, reason)) {
        run_destroy(run);
        return NULL;
    }
    run->setup.granule_bytes = run->hosts[0].contract.granule_bytes;
    run->judge.hosts = run->hosts;
    run->judge.host_count = run->setup.host_count;
    run->judge.timeline = run->timeline;
    run->judge.ops = &run->ops;
    run->judge.looks_back = !run->promises_only || run->setup.has_regret_max;
    run->judge.nodes_max = run->setup.search_nodes_max;
    run->judge.verdict = &run->verdict;
    run->judge.message = run->message;
    return run;
}

struct run *run_create(const struct target *target, const struct setup *setup,
                       char reason[RUN_REASON_BYTES])
{
    return begin(allocate(setup), target, NULL, reason);
}

struct run *run_create_guarded(const struct target *target, const struct setup *setup,
                               struct device_guard *guard, char reason[RUN_REASON_BYTES])
{
    return begin(allocate(setup), target, guard, reason);
}

static void close_hosts(struct run *run)
{
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        if (run->hosts[i].device != NULL) {
            host_deinit(&run->hosts[i]);
        }
    }
    timeline_destroy(run->timeline);
    run->timeline = NULL;
}

void run_destroy(struct run *run)
{
    if (run == NULL) {
        return;
    }
    close_hosts(run);
    judge_deinit(&run->judge);
    op_list_deinit(&run->ops);
    free(run->growth);
    free(run);
}

void run_end(struct run *run)
{
    close_hosts(run);
    judge_reset(&run->judge);
    op_list_clear(&run->ops);
    run->watch = (struct probe_watch){0};
    memset(&run->verdict, 0, sizeof run->verdict);
    memset(&run->observation, 0, sizeof run->observation);
    memset(&run->totals, 0, sizeof run->totals);
    run->message[0] = '\0';
    run->unrecorded_count = 0;
    run->is_broken = false;
}

struct run *run_begin_again(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES])
{
    CHECK(run->timeline == NULL);
    CHECK(run->setup.host_count == setup->host_count);
    run->setup.granule_bytes = setup->granule_bytes; /* it may be the target's to choose */
    return begin(run, target, NULL, reason);
}

struct run *run_begin_other(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES])
{
    CHECK(run->timeline == NULL);
    take_setup(run, setup);
    return begin(run, target, NULL, reason);
}

void run_judge_promises_only(struct run *run)
{
    run->promises_only = true;
}

void run_abandon(struct run *run)
{
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        run->hosts[i].instance = NULL;
    }
    run_destroy(run);
}

/* --- observing --- */

/* Two chains side by side: one would wait for each multiplication of the other. */
static uint64_t digest_words(uint64_t digest, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t other = digest ^ HASH_START;
    for (size_t i = 0; i + 16 <= bytes; i += 16) {
        uint64_t words[2];
        memcpy(words, at + i, sizeof words);
        digest = hash_word(digest, words[0]);
        other = (other ^ words[1]) * HASH_PRIME;
        other ^= other >> 31;
    }
    return digest ^ other * HASH_PRIME;
}
static_assert(sizeof(struct observation) % 16 == 0, "observations are digested whole");

static void count_device_calls(struct run *run, const struct device *device,
                               struct observation *seen)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(device, &count);
    seen->call_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t words[] = {(uint64_t)calls[i].kind << 8 | calls[i].result, calls[i].from,
                                  calls[i].to, calls[i].bytes};
        seen->calls_digest = digest_words(seen->calls_digest, words, sizeof words);
        if (calls[i].result != DEVICE_OK) {
            continue;
        }
        seen->wait_count += calls[i].kind == DEVICE_CALL_WAIT;
        seen->copy_count += calls[i].kind == DEVICE_CALL_COPY;
        seen->stage_count += calls[i].kind == DEVICE_CALL_STAGE_OUT;
        seen->unload_count += calls[i].kind == DEVICE_CALL_UNLOAD;
        const bool moves = calls[i].kind == DEVICE_CALL_COPY ||
                           calls[i].kind == DEVICE_CALL_STAGE_OUT;
        seen->copy_bytes += moves ? calls[i].bytes : 0;
    }
    run->totals.drains += seen->wait_count;
    run->totals.moves += seen->copy_count + seen->stage_count;
    run->totals.stagings += seen->stage_count;
    run->totals.moved_bytes += seen->copy_bytes;
    run->totals.evictions += seen->unload_count;
}

static void observe(struct run *run, const struct call *call, const char *message)
{
    struct observation *seen = &run->observation;
    memset(seen, 0, sizeof *seen);
    seen->op = call->number;
    seen->skipped = call->skipped;
    seen->result = (uint32_t)call->result;
    seen->address = call->block.address;
    seen->size_bytes = call->block.size_bytes;
    run->message[0] = '\0';
    if (call->result != TARGET_OK) {
        const size_t length = message == NULL ? 0 : strnlen(message, sizeof run->message - 1);
        memcpy(run->message, message == NULL ? "" : message, length);
        run->message[length] = '\0';
        seen->message_digest = hash_string(HASH_START, run->message);
    }
}

static void observe_after(struct run *run, const struct host *host)
{
    struct observation *seen = &run->observation;
    seen->now_ns = timeline_now_ns(run->timeline);
    seen->bytes_in_use = model_in_use_bytes(host->model);
    seen->bytes_reserved = model_reserved_bytes(host->model);
    run->digest = digest_words(run->digest, seen, sizeof *seen);
}

static void count_regret(struct run *run)
{
    const struct regret *regret = &run->judge.regret;
    struct run_totals *totals = &run->totals;
    totals->regrets_unknown += regret->is_unknown;
    if (regret->kinds == 0) {
        return;
    }
    totals->regretted++;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        totals->regrets[i] += regret->kinds >> i & 1;
    }
    totals->regretted_evicted_bytes += regret->evicted_bytes;
    totals->regretted_moved_bytes += regret->moved_bytes;
    if (run->setup.has_regret_max && totals->regretted > run->setup.regret_max) {
        judge_regret(&run->judge, totals->regretted);
    }
}

static void count_verdict(struct run *run, const struct call *call)
{
    struct run_totals *totals = &run->totals;
    const struct verdict *verdict = &run->verdict;
    totals->search_nodes += verdict->nodes;
    totals->ooms += call->result == TARGET_NO_MEMORY;
    totals->excused += call->result == TARGET_NO_MEMORY && verdict->kind == VERDICT_NONE;
    totals->justified += verdict->kind == VERDICT_JUSTIFIED;
    totals->premature += verdict->kind == VERDICT_PREMATURE;
    totals->unknown += verdict->kind == VERDICT_UNKNOWN;
    totals->broken += verdict->kind == VERDICT_BROKEN;
    totals->disputed += verdict->kind == VERDICT_DISPUTED;
    totals->second_opinions += run->judge.has_second_opinion;
    run->is_broken = verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE ||
                     verdict->kind == VERDICT_DISPUTED;
}

/* Not after a broken rule: what the op did was not taken in then. */
static void count_probes(struct run *run, const struct host *host, const struct call *call)
{
    if (run->promises_only || run->verdict.kind == VERDICT_BROKEN) {
        return;
    }
    const struct probe_sight sight = {
        .host = host, .call = call, .seen = &run->observation, .judge = &run->judge};
    const uint64_t hits = probes_hit(&run->watch, &sight);
    if (hits != 0) {
        probe_count(hits, run->totals.probes, run->totals.probe_pairs);
    }
}

/* --- steps --- */

static void begin_verdict(struct run *run, uint32_t number)
{
    struct verdict *verdict = &run->verdict;
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
    verdict->op = number;
    verdict->requested_bytes = verdict->free_bytes = verdict->nodes = 0;
    verdict->reason[0] = '\0';
}

static void count_call(struct run *run, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    run->totals.ops += !call->skipped;
    run->totals.skipped += call->skipped;
    run->totals.by_kind[kind] += !call->skipped;
    run->totals.skipped_by_kind[kind] += call->skipped;
}

/* Whoever chooses the ops goes on as if what the harness does on its own had not been. */
static void end_op(struct run *run, struct host *host, const struct call *call)
{
    if (call->op.kind == OP_FAULT || call->op.kind == OP_RETIRE || call->op.kind == OP_SWITCH) {
        model_end_unseen_op(host->model, call->skipped);
    } else {
        model_end_op(host->model, call->result, call->skipped);
    }
    observe_after(run, host);
    if (!run->promises_only) {
        growth_sample(&run->growth[host->index], host->model, call->number);
    }
}

void run_take_call(struct run *run, struct host *host, const struct call *call, const char *message)
{
    begin_verdict(run, call->number);
    model_begin_op(host->model, call->number);
    count_call(run, call);
    observe(run, call, message);
    count_device_calls(run, host->device, &run->observation);
    if (call->skipped) {
        judge_absorb_all(&run->judge);
    } else {
        judge_call(&run->judge, host, call);
        count_regret(run);
        count_verdict(run, call);
        count_probes(run, host, call);
    }
    end_op(run, host, call);
}

void run_take_overlapping(struct run *run, struct host *host, const struct call *call,
                          const char *message)
{
    count_call(run, call);
    observe(run, call, message);
    run->judge.has_second_opinion = false;
    if (!call->skipped) {
        count_verdict(run, call);
    }
    end_op(run, host, call);
}

void run_count_device_calls(struct run *run, const struct host *host)
{
    struct observation all = {0};
    count_device_calls(run, host->device, &all);
    run->digest = digest_words(run->digest, &all, sizeof all);
}

static void step(struct run *run, struct host *host, const struct op *op, uint32_t number)
{
    struct call call;
    model_begin_op(host->model, number);
    probe_watch_begin(&run->watch, host->model, op);
    progress_begin(number < run->ops.count ? PROGRESS_OP : PROGRESS_END, (enum op_kind)op->kind,
                   number);
    driver_call(host, run->timeline, &run->setup, op, number, &call);
    progress_end();
    run_take_call(run, host, &call,
                  call.result == TARGET_OK ? NULL : host->target->message(host->instance));
}

const struct verdict *run_step(struct run *run, const struct op *op)
{
    CHECK(op->kind < OP_KIND_COUNT);
    CHECK(op->host < run->setup.host_count);
    if (run->is_broken) {
        return &run->verdict;
    }
    struct host *host = &run->hosts[op->host];
    struct op resolved = *op;
    driver_resolve(host, run->timeline, &resolved);
    const uint32_t number = (uint32_t)run->ops.count;
    op_list_append(&run->ops, &resolved);
    step(run, host, &resolved, number);
    return &run->verdict;
}

/* An op of run_finish: executed and judged like any other, but not part of the list. */
static bool finish_step(struct run *run, struct host *host, enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.host = host->index;
    step(run, host, &op, (uint32_t)run->ops.count + run->unrecorded_count++);
    CHECK(run->observation.skipped == 0); /* it names what the model has: the loops below end */
    return !run->is_broken;
}

/* Releases every hold of the blocks of one list; dying ones go away while we count. */
static bool release_all(struct run *run, struct host *host)
{
    for (size_t i = 0; i < model_live_count(host->model); i++) {
        while (model_live(host->model, i)->hold_count > 0) {
            if (!finish_step(run, host, OP_RELEASE, model_live(host->model, i)->op)) {
                return false;
            }
        }
    }
    while (model_dying_count(host->model) > 0) {
        /* All events are done: only holds keep a dying block. */
        CHECK(model_dying(host->model, 0)->hold_count > 0);
        if (!finish_step(run, host, OP_RELEASE, model_dying(host->model, 0)->op)) {
            return false;
        }
    }
    return true;
}

static bool free_all(struct run *run, struct host *host)
{
    while (model_live_count(host->model) > 0) {
        if (!finish_step(run, host, OP_FREE, model_live(host->model, 0)->op)) {
            return false;
        }
    }
    while (model_program_count(host->model) > 0) {
        if (!finish_step(run, host, OP_UNLOAD, model_program(host->model, 0)->op)) {
            return false;
        }
    }
    return true;
}

static void finish_host(struct run *run, struct host *host)
{
    if (!release_all(run, host) || !free_all(run, host)) {
        return;
    }
    begin_verdict(run, (uint32_t)run->ops.count);
    judge_empty_heap(&run->judge, host);
    host_close(host);
    judge_closed(&run->judge, host);
    run->totals.broken += run->verdict.kind == VERDICT_BROKEN;
    run->is_broken = run->verdict.kind == VERDICT_BROKEN;
}

const struct verdict *run_finish(struct run *run)
{
    if (run->is_broken) {
        return &run->verdict;
    }
    const struct run_totals before = run->totals;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        device_disarm_all(
            run->hosts[i].device); /* a free that a fault refuses for ever would never be over */
    }
    while (timeline_pending_count(run->timeline) > 0) {
        timeline_complete(run->timeline, timeline_pending_at(run->timeline, 0));
    }
    begin_verdict(run, (uint32_t)run->ops.count);
    judge_absorb_all(&run->judge);
    for (uint32_t i = 0; i < run->setup.host_count && !run->is_broken; i++) {
        finish_host(run, &run->hosts[i]);
    }
    /* What was broken counts; the ops of cleaning up do not. */
    const uint64_t broken = run->totals.broken;
    run->totals = before;
    run->totals.broken = broken;
    return &run->verdict;
}

/* --- reading --- */

bool run_is_broken(const struct run *run)
{
    return run->is_broken;
}

const struct observation *run_observation(const struct run *run)
{
    return &run->observation;
}

const char *run_message(const struct run *run)
{
    return run->message;
}

void run_print_certificate(const struct run *run, FILE *file)
{
    const enum verdict_kind kind = run->verdict.kind;
    struct verdict verdict = {.op = run->verdict.op};
    CHECK(kind == VERDICT_JUSTIFIED || kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
          kind == VERDICT_DISPUTED);
    const struct proof *proof = oracle_prove(run->judge.oracle, &run->judge.oom,
                                             run->judge.nodes_max, &verdict);
    CHECK(verdict.kind == kind || kind == VERDICT_DISPUTED);
    certificate_print(&run->judge.oom, proof, &verdict, file);
}

const struct op_list *run_ops(const struct run *run)
{
    return &run->ops;
}

const struct run_totals *run_totals(const struct run *run)
{
    return &run->totals;
}

const struct setup *run_setup(const struct run *run)
{
    return &run->setup;
}

const struct model *run_model(const struct run *run, uint32_t host)
{
    CHECK(host < run->setup.host_count);
    return run->models[host];
}

struct device *run_device(const struct run *run, uint32_t host)
{
    CHECK(host < run->setup.host_count);
    return run->hosts[host].device;
}

uint64_t run_digest(const struct run *run)
{
    return run->digest;
}

void run_view(const struct run *run, struct scenario_view *view)
{
    view->hosts = run->models;
    view->host_count = run->setup.host_count;
    view->op_number = (uint32_t)run->ops.count;
}

bool run_growing_tag(const struct run *run, uint32_t host, struct growth *growth)
{
    CHECK(host < run->setup.host_count);
    return growth_find(&run->growth[host], run->models[host], growth);
}
