/* The end of a run: what is still there is freed op by op, and what has to hold then is judged. */
#include "harness/base/check.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/rules/judge.h"
#include "harness/run/run_state.h"

/* An op of run_finish: executed and judged like any other, but not part of the list. */
static bool finish_step(struct run *run, struct host *host, enum op_kind kind, uint32_t ref)
{
    CHECK_COSTLY(host->index < run->setup.host_count);
    struct op op = op_make(kind);
    op.ref = ref;
    op.host = host->index;
    run_execute(run, host, &op, (uint32_t)run->ops.count + run->unrecorded_count++);
    CHECK(run->observation.skipped == 0); /* it names what the model has */
    /* If the target refuses to let go, that stays, and the loops below would not end. */
    return !run->is_broken && run->observation.result == TARGET_OK;
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

static bool drop_recordings(struct run *run, struct host *host)
{
    if (model_open_recording(host->model) != OP_NONE &&
        !finish_step(run, host, OP_RECORD_END, OP_NONE)) {
        return false;
    }
    while (model_recording_count(host->model) > 0) {
        if (!finish_step(run, host, OP_RECORD_DROP, model_recording(host->model, 0))) {
            return false;
        }
    }
    return true;
}

/* Looks where the blocks are that no move met, as far as that is not known yet. */
static bool look_again(struct run *run, struct host *host)
{
    run_begin_verdict(run, (uint32_t)run->ops.count);
    judge_look_again(&run->judge, host);
    if (run->verdict.kind == VERDICT_BROKEN) {
        run->totals.broken++;
        run->message[0] = '\0';
        run_note_finding(run);
    }
    return !run->is_broken;
}

static void finish_host(struct run *run, struct host *host)
{
    CHECK_COSTLY(!run->is_broken);
    CHECK_COSTLY(host->index < run->setup.host_count);
    if (!look_again(run, host) ||
        (model_is_asleep(host->model) && !finish_step(run, host, OP_WAKE, OP_NONE)) ||
        !release_all(run, host) || !free_all(run, host) || !drop_recordings(run, host)) {
        return;
    }
    run_begin_verdict(run, (uint32_t)run->ops.count);
    judge_empty_heap(&run->judge, host);
    host_close(host);
    judge_closed(&run->judge, host);
    run->totals.broken += run->verdict.kind == VERDICT_BROKEN;
    run->message[0] = '\0';
    run_note_finding(run);
}

/* Finishes all hosts.  One that is awake gives way to those that sleep and share its device. */
static void finish_hosts(struct run *run)
{
    uint64_t asleep = 0;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        const bool sleeps = model_is_asleep(run->hosts[i].model);
        asleep |= sleeps ? UINT64_C(1) << i & run->setup.shared_hosts : 0;
    }
    for (uint32_t i = 0; i < 2 * run->setup.host_count && !run->is_broken; i++) {
        const uint32_t host = i % run->setup.host_count;
        if ((asleep >> host & 1) == (i >= run->setup.host_count)) {
            finish_host(run, &run->hosts[host]);
        }
    }
}

static void count_hangs(struct run *run)
{
    struct hangs hangs;
    run_hangs(run, &hangs);
    for (size_t i = 0; i < hangs.count; i++) {
        const enum hang_cause cause = hangs.hangs[i].cause;
        run->totals.hangs += cause != HANG_LIST_ENDS;
        run->totals.hangs_of_oom += cause == HANG_OOM;
        run->totals.hangs_without_word += cause == HANG_GONE;
    }
}

const struct verdict *run_finish(struct run *run)
{
    CHECK_COSTLY(run->timelines[0] != NULL);
    if (run->is_broken) {
        return &run->verdict;
    }
    const struct run_totals before = run->totals;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        device_disarm_all(
            run->hosts[i].device); /* a free that a fault refuses for ever would never be over */
    }
    const struct wait_place place = run_wait_place(run);
    waits_note_end(&run->waits, &place);
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        struct timeline *timeline = run->hosts[i].timeline;
        while (timeline_pending_count(timeline) > 0) {
            timeline_complete(timeline, timeline_pending_at(timeline, 0));
        }
    }
    run_begin_verdict(run, (uint32_t)run->ops.count);
    judge_absorb_all(&run->judge);
    finish_hosts(run);
    /* A broken promise counts; the ops of cleaning up do not. */
    const uint64_t broken = run->totals.broken;
    CHECK_COSTLY(run->totals.broken >= before.broken);
    run->totals = before;
    run->totals.broken = broken;
    if (run->waits.total > 0) {
        count_hangs(run);
    }
    return &run->verdict;
}
