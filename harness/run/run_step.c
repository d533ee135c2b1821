/* Ops one by one: each is called, observed, judged and counted. */
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/often.h"
#include "harness/call/driver.h"
#include "harness/call/progress.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/rules/judge.h"
#include "harness/run/growth.h"
#include "harness/run/probe_watch.h"
#include "harness/run/run_state.h"

#include <string.h>

/* --- observing --- */

/* Two chains side by side: one would wait for each multiplication of the other. */
static inline uint64_t digest_words(uint64_t digest, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t other = digest ^ HASH_START;
#pragma GCC unroll 8
    for (size_t i = 0; i + 16 <= bytes; i += 16) {
        uint64_t word, next;
        memcpy(&word, at + i, sizeof word);
        memcpy(&next, at + i + 8, sizeof next);
        digest = hash_word(digest, word);
        other = (other ^ next) * HASH_PRIME;
        other ^= other >> 31;
    }
    return digest ^ other * HASH_PRIME;
}
static_assert(sizeof(struct observation) % 16 == 0, "observations are digested whole");

static void count_device_calls(const struct device *device, struct observation *seen)
{
    EACH_DEVICE_CALL(device, made) {
        const uint64_t words[] = {(uint64_t)made->kind << 8 | made->result, made->from, made->to,
                                  made->bytes};
        seen->calls_digest = digest_words(seen->calls_digest, words, sizeof words);
        seen->call_count++;
        if (made->result != DEVICE_OK) {
            continue;
        }
        seen->wait_count += made->kind == DEVICE_CALL_WAIT;
        seen->copy_count += made->kind == DEVICE_CALL_COPY;
        seen->stage_count += made->kind == DEVICE_CALL_STAGE_OUT;
        seen->unload_count += made->kind == DEVICE_CALL_UNLOAD;
        const bool moves = made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT;
        seen->copy_bytes += moves ? made->bytes : 0;
    }
    CHECK_COSTLY(seen->wait_count + seen->unload_count <= seen->call_count);
}

static void count_mitigations(struct run *run, const struct observation *seen)
{
    run->totals.drains += seen->wait_count;
    run->totals.moves += seen->copy_count + seen->stage_count;
    run->totals.stagings += seen->stage_count;
    run->totals.moved_bytes += seen->copy_bytes;
    run->totals.evictions += seen->unload_count;
    CHECK_COSTLY(run->totals.stagings <= run->totals.moves);
}

static void observe_call(struct run *run, const struct call *call, const char *message)
{
    CHECK_COSTLY(call->number < OP_NONE);
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
        CHECK_COSTLY(length < sizeof run->message);
        memcpy(run->message, message == NULL ? "" : message, length);
        run->message[length] = '\0';
        seen->message_digest = hash_string(HASH_START, run->message);
    }
}

static void observe_counters(struct run *run, const struct host *host)
{
    CHECK_COSTLY(host->timeline != NULL);
    CHECK_COSTLY(host->model != NULL);
    struct observation *seen = &run->observation;
    seen->now_ns = timeline_now_ns(host->timeline);
    seen->bytes_in_use = model_in_use_bytes(host->model);
    seen->bytes_reserved = model_reserved_bytes(host->model);
    run->digest = digest_words(run->digest, seen, sizeof *seen);
}

static void count_regret(struct run *run)
{
    const struct regret *regret = &run->judge.regret;
    CHECK_COSTLY(regret->kinds >> REGRET_KIND_COUNT == 0);
    struct run_totals *totals = &run->totals;
    totals->regrets_unknown += regret->is_unknown;
    if (regret->kinds == 0) {
        return;
    }
    totals->regretted++;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        totals->regrets[i] += regret->kinds >> i & 1;
        CHECK_COSTLY(totals->regrets[i] <= totals->regretted);
    }
    totals->regretted_evicted_bytes += regret->evicted_bytes;
    totals->regretted_moved_bytes += regret->moved_bytes;
    if (run->setup.has_regret_max && totals->regretted > run->setup.regret_max) {
        judge_regret(&run->judge, totals->regretted);
    }
}

/* True if the run cannot go on from what is broken. */
static bool is_end(const struct judge *judge, const struct verdict *verdict)
{
    const bool is_found = verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE;
    const bool is_harmless = is_found && rule_gravity(verdict->rule) < GRAVITY_HARM;
    return verdict->kind == VERDICT_DISPUTED || judge->cannot_follow ||
           (is_found && !(judge->goes_on && is_harmless));
}

void run_note_finding(struct run *run)
{
    const struct verdict *verdict = &run->verdict;
    run->is_broken = is_end(&run->judge, verdict);
    if (verdict->kind == VERDICT_PREMATURE || verdict->kind == VERDICT_BROKEN ||
        verdict->kind == VERDICT_DISPUTED) {
        run_findings_add(&run->findings, verdict, &run->ops, run->message);
    }
}

/* oom_kind: the verdict on the out-of-memory; NONE: it was not judged, or there is none. */
static void count_verdict(struct run *run, const struct call *call, enum verdict_kind oom_kind)
{
    CHECK_COSTLY(run->judge.verdict == &run->verdict);
    struct run_totals *totals = &run->totals;
    const struct verdict *verdict = &run->verdict;
    const bool is_oom = call->result == TARGET_NO_MEMORY;
    totals->search_nodes += verdict->nodes;
    totals->ooms += is_oom;
    totals->justified += oom_kind == VERDICT_JUSTIFIED;
    totals->premature += oom_kind == VERDICT_PREMATURE;
    if (oom_kind == VERDICT_UNKNOWN) {
        totals->unknown++;
        totals->unknown_by_class[verdict->oom_class]++;
    }
    totals->excused += is_oom && oom_kind == VERDICT_NONE && verdict->kind != VERDICT_DISPUTED;
    totals->broken += verdict->kind == VERDICT_BROKEN;
    totals->disputed += verdict->kind == VERDICT_DISPUTED;
    totals->second_opinions += run->judge.has_second_opinion;
    totals->relations_checked += run->judge.relations_checked;
    run_note_finding(run);
    CHECK_COSTLY(run->totals.justified + run->totals.premature + run->totals.unknown <=
                 run->totals.ooms);
}

/* Not after a broken rule: what the op did was not taken in then.  A retry is the harness's own
 * question. */
static void count_hit_probes(struct run *run, const struct host *host, const struct call *call)
{
    if (run->promises_only || run->verdict.kind == VERDICT_BROKEN || call->is_pinned) {
        return;
    }
    const struct probe_sight sight = {
        .host = host, .call = call, .seen = &run->observation, .judge = &run->judge};
    const uint64_t hits = probes_hit(&run->watch, &sight);
    if (hits != 0) {
        probe_count(hits, run->totals.probes);
    }
}

/* --- steps --- */

static void begin_verdict(struct run *run, uint32_t number)
{
    CHECK_COSTLY(number != OP_NONE);
    struct verdict *verdict = &run->verdict;
    run->is_verdict_clear = false;
    verdict->op = number;
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
    verdict->requested_bytes = verdict->free_bytes = verdict->nodes = 0;
    verdict->premature_unless = (struct premature_unless){0};
    verdict->reason[0] = verdict->mechanism[0] = '\0';
}

static void count_retry(struct run *run, const struct call *call)
{
    const bool is_granted = call->result == TARGET_OK;
    run->totals.retries++;
    run->totals.retries_granted += is_granted && call->is_pinned;
    run->totals.late += is_granted && !call->is_pinned;
    CHECK_COSTLY(run->totals.retries_granted + run->totals.late <= run->totals.retries);
}

static void count_op(struct run *run, const struct call *call)
{
    CHECK_COSTLY(call->op.kind < OP_KIND_COUNT);
    const uint8_t kind = call->op.kind;
    if (call->skipped) {
        run->totals.skipped++;
        run->totals.skipped_by_kind[kind]++;
        return;
    }
    run->totals.ops++;
    run->totals.by_kind[kind]++;
    if ((call->op.flags & OP_RETRY) != 0) {
        count_retry(run, call);
    }
    CHECK_COSTLY(run->totals.by_kind[kind] <= run->totals.ops);
}

static void count_whole_cost(struct run *run, const struct host *host)
{
    if (run->judge.is_cost_counted && !run->promises_only) {
        op_costs_add(&run->totals.costs, &run->judge.cost,
                     model_counters(host->model)->block_count);
    }
}

static void sample_growth(struct run *run, const struct host *host, const struct call *call)
{
    if (!run->promises_only && call->number >= run->growth[host->index].next_op) {
        growth_sample(&run->growth[host->index], host->model, call->number);
    }
}

/* Whoever chooses the ops goes on as if what the harness does on its own had not been. */
static void end_taken_op(struct run *run, struct host *host, const struct call *call)
{
    if (call->op.kind == OP_FAULT || call->op.kind == OP_RETIRE || call->op.kind == OP_SWITCH) {
        model_end_unseen_op(host->model, call->skipped);
    } else {
        model_end_op(host->model, call->result, call->skipped);
    }
    observe_counters(run, host);
    sample_growth(run, host, call);
}

struct wait_place run_wait_place(const struct run *run)
{
    return (struct wait_place){.collectives = run->collectives,
                               .hosts = run->hosts,
                               .host_count = run->setup.host_count,
                               .ops = &run->ops};
}

/* Counts a standstill of the job: it breaks no promise.  With lanes a grant may go unheard. */
static void count_standstill(struct run *run, const struct host *host, const struct call *call)
{
    struct standstill found;
    if (run->standstills != NULL && host->clients == NULL &&
        standstill_watch_hear(run->standstills, host, call, &run->ops, run->judge.oracle, &found)) {
        run->totals.standstills++;
        run->totals.standstills_ordered += found.way == STANDSTILL_ORDER;
        run->totals.standstills_unknown += found.way == STANDSTILL_UNKNOWN;
    }
}

/* Counts a shortage of the job: it breaks no promise either. */
static void count_shortage(struct run *run, const struct host *host, const struct call *call)
{
    const uint64_t members = run->setup.shared_hosts;
    if ((members >> host->index & 1) != 0) {
        run->totals.shortages += shortages_hear(&run->shortages, run->hosts, members, host, call);
    }
}

/* Observes what the call had the device do. */
static void observe_device(struct run *run, struct host *host, const struct call *call)
{
    count_device_calls(host->device, &run->observation);
    if (call->op.kind != OP_SLEEP && call->op.kind != OP_WAKE) {
        count_mitigations(run, &run->observation);
    }
    if (run->observation.wait_count > 0) {
        const struct wait_place place = run_wait_place(run);
        waits_note_call(&run->waits, &place, host, call);
    }
}

/* Counts what is neither observed nor judged of a call that was made. */
static SELDOM void count_call(struct run *run, struct host *host, const struct call *call)
{
    count_hit_probes(run, host, call);
    count_standstill(run, host, call);
    count_shortage(run, host, call);
}

static SELDOM void take_whole_call(struct run *run, struct host *host, const struct call *call,
                                   const char *message, enum judge_road road)
{
    run->is_verdict_clear = false;
    observe_call(run, call, message);
    if (!device_was_quiet(host->device)) {
        observe_device(run, host, call);
    }
    if (call->skipped) {
        judge_absorb_all(&run->judge);
    } else {
        judge_call(&run->judge, host, call, road);
        count_regret(run);
        count_whole_cost(run, host);
        count_verdict(run, call, run->judge.oom_kind);
        count_call(run, host, call);
    }
    end_taken_op(run, host, call);
}

/* Observes a call that had the device do nothing.  It sets the fields one by one: what is 0 need
 * not be read again for the digest. */
static void observe_plain(struct run *run, const struct host *host, const struct call *call)
{
    struct observation *seen = &run->observation;
    seen->op = call->number;
    seen->skipped = seen->result = seen->call_count = 0;
    seen->address = call->block.address;
    seen->size_bytes = call->block.size_bytes;
    seen->wait_count = seen->copy_count = seen->stage_count = seen->unload_count = 0;
    seen->copy_bytes = seen->calls_digest = seen->message_digest = 0;
    run->message[0] = '\0';
    observe_counters(run, host);
}

/* Takes a call at the end of the short road. */
static void take_plain_call(struct run *run, struct host *host, const struct call *call)
{
    observe_plain(run, host, call);
    run->is_verdict_clear = true;
    if (run->standstills != NULL || run->setup.shared_hosts != 0 ||
        probes_may_be_hit(&run->watch, host->model)) {
        count_call(run, host, call);
    }
    if (!run->promises_only) {
        /* The device did nothing for it, but may have been asked how things stand. */
        plain_costs_add(&run->plain, &run->totals.costs, model_counters(host->model)->block_count,
                        run->judge.cost.calls, call->op.kind == OP_ALLOC ? call->op.size_bytes : 0);
    }
    model_end_op(host->model, TARGET_OK, false);
    sample_growth(run, host, call);
}

static void take_call(struct run *run, struct host *host, const struct call *call,
                      const char *message)
{
    if (run->is_verdict_clear) {
        run->verdict.op = call->number;
    } else {
        begin_verdict(run, call->number);
    }
    count_op(run, call);
    const enum judge_road road = judge_short(&run->judge, host, call);
    if (road == JUDGE_ROAD_SHORT) {
        take_plain_call(run, host, call);
    } else {
        take_whole_call(run, host, call, message, road);
    }
    if (run->hangs != NULL) {
        hang_watch_hear(run->hangs, run->collectives, &run->ops, &run->observation);
    }
}

void run_take_call(struct run *run, struct host *host, const struct call *call, const char *message)
{
    model_begin_op(host->model, call->number);
    run->is_verdict_clear = false; /* others may have said something that was not taken */
    take_call(run, host, call, message);
}

void run_take_overlapping(struct run *run, struct host *host, const struct call *call,
                          const char *message)
{
    CHECK_COSTLY(!run->is_broken);
    CHECK_COSTLY(host->index < run->setup.host_count);
    count_op(run, call);
    observe_call(run, call, message);
    run->judge.has_second_opinion = false;
    run->judge.relations_checked = 0;
    /* A finding at the end of an overlap is told for its last call, and that may be a skipped one.
     */
    if (!call->skipped || run->verdict.kind != VERDICT_NONE) {
        count_verdict(run, call, run->judge.oom_kind);
    }
    end_taken_op(run, host, call);
}

void run_count_device_calls(struct run *run, const struct host *host)
{
    CHECK_COSTLY(host->index < run->setup.host_count);
    struct observation all = {0};
    count_device_calls(host->device, &all);
    count_mitigations(run, &all);
    CHECK_COSTLY(all.copy_count + all.stage_count <= all.call_count);
    run->digest = digest_words(run->digest, &all, sizeof all);
}

static void execute_op(struct run *run, struct host *host, const struct op *op, uint32_t number)
{
    struct call *call = &run->call;
    model_begin_op(host->model, number);
    probe_watch_begin(&run->watch, host->model, op);
    progress_begin(number < run->ops.count ? PROGRESS_OP : PROGRESS_END, (enum op_kind)op->kind,
                   number);
    driver_call(host, &run->setup, op, number, call);
    progress_end();
    take_call(run, host, call,
              call->result == TARGET_OK ? NULL : host->target->message(host->instance));
}

/* The op before is asked again, whatever has become of it in a shorter list. */
static void resolve_retry(const struct run *run, struct op *op)
{
    const struct op *before = run->ops.count == 0 ? NULL : &run->ops.ops[run->ops.count - 1];
    if ((op->flags & OP_RETRY) == 0 || before == NULL || before->host != op->host ||
        !op_kind_info(op->kind)->can_be_refused || !op_kind_info(before->kind)->can_be_refused) {
        return;
    }
    *op = *before;
    op->flags = (uint8_t)((before->flags & ~(OP_SPMD | OP_COLLECTIVE)) | OP_RETRY);
    op_clear_unused(op);
}

/* The list is one of its own from here on. */
static SELDOM void leave_given(struct run *run)
{
    const struct op_list given = run->ops;
    op_list_init(&run->ops);
    op_list_copy(&run->ops, &given);
    run->given = NULL;
}

static void record_op(struct run *run, const struct op *op)
{
    const size_t number = run->ops.count;
    if (run->given != NULL && number < run->given->count &&
        op_equal(&run->given->ops[number], op)) {
        run->ops.count++;
        return;
    }
    if (run->given != NULL) {
        leave_given(run);
    }
    op_list_append(&run->ops, op);
}

static SELDOM void record_resolved(struct run *run, const struct host *host, const struct op *op)
{
    struct op resolved = *op;
    resolve_retry(run, &resolved);
    driver_resolve(host, &resolved);
    record_op(run, &resolved);
}

OFTEN const struct verdict *run_step(struct run *run, const struct op *op)
{
    CHECK(op->kind < OP_KIND_COUNT);
    CHECK(op->host < run->setup.host_count);
    if (run->is_broken) {
        return &run->verdict;
    }
    struct host *host = &run->hosts[op->host];
    const uint32_t number = (uint32_t)run->ops.count;
    if (driver_is_resolved(op)) {
        record_op(run, op);
    } else {
        record_resolved(run, host, op);
    }
    execute_op(run, host, &run->ops.ops[number], number);
    return &run->verdict;
}

void run_set_due(struct run *run, uint32_t host, uint32_t op, uint64_t due_ns)
{
    CHECK(host < run->setup.host_count);
    struct timeline *timeline = run->hosts[host].timeline;
    const uint64_t event = (uint64_t)op + 1;
    if (timeline_state(timeline, event) == EVENT_PENDING) {
        timeline_start_at(timeline, event, due_ns);
    }
}

/* --- for the end of a run: run_step() has its own of these, which are part of it --- */

void run_begin_verdict(struct run *run, uint32_t number)
{
    begin_verdict(run, number);
}

void run_execute(struct run *run, struct host *host, const struct op *op, uint32_t number)
{
    execute_op(run, host, op, number);
}
