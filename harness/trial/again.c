#include "harness/trial/again.h"

#include "explore/strategies/strategies.h"
#include "harness/base/array.h"
#include "harness/device/host_memory.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/process_memory.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Whatever fills once, fills the first time; what grows each time is left behind. */
enum { REPLAY_COUNT = 4, REPLAY_COUNT_MAX = 8 };

struct list_replaying {
    const struct target *target;
    const struct trial *trial;
    struct verdict *broken;
    bool is_not_modelled; /* the run ended early, and shows nothing */
    bool is_renamed;      /* under other ids, until that shows something else */
    bool names_differ;    /* it did */
};

/* host_memory_guard is of the whole process; nobody else runs meanwhile. */
static void *replay_list(void *context)
{
    struct list_replaying *replaying = context;
    const struct trial *trial = replaying->trial;
    struct verdict *broken = replaying->broken;
    struct trial again;
    char reason[RUN_REASON_BYTES] = "";
    host_memory_guard(true);
    const bool ran = (replaying->is_renamed ? trial_confirm_renamed : trial_confirm)(
        replaying->target, &trial->setup, &trial->ops, &again, reason);
    host_memory_guard(false);
    replaying->is_not_modelled = ran && again.totals.not_modelled > 0;
    const bool same = ran && again.digest == trial->digest &&
                      again.findings.count == trial->findings.count;
    if (ran) {
        trial_deinit(&again);
    }
    if (same || replaying->is_not_modelled) {
        return NULL;
    }
    if (replaying->is_renamed) {
        replaying->is_renamed = false;
        replaying->names_differ = true;
        return replay_list(replaying);
    }
    *broken = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_REPLAY};
    broken->op = trial->ops.count == 0 ? 0 : (uint32_t)(trial->ops.count - 1);
    snprintf(broken->reason, sizeof broken->reason,
             "the same ops gave different observations the second time%s%.180s",
             ran ? "" : ": refused: ", ran ? "" : reason);
    return NULL;
}

/* Replays in a thread of its own: at its end malloc takes back the small pieces that it keeps for
 * each thread, and its arena. */
static void replay_in_thread(struct list_replaying *replaying)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, replay_list, replaying) != 0) {
        (void)replay_list(replaying);
        return;
    }
    (void)pthread_join(thread, NULL);
}

/* The leftovers of the runs before in the process, from one look to the next. */
struct leftovers {
    uint32_t thread_count;
    bool is_known; /* the looks say something */
    struct process_memory last;
    unsigned run_count;   /* that could be measured */
    uint64_t least_bytes; /* that one of them left behind */
};

static void leftovers_take_run(struct leftovers *leftovers)
{
    struct process_memory now;
    leftovers->is_known = leftovers->is_known && process_memory_look(leftovers->thread_count, &now);
    if (!leftovers->is_known) {
        return;
    }
    const struct process_memory last = leftovers->last;
    leftovers->last = now;
    if (now.arena_count != last.arena_count) {
        return;
    }
    const uint64_t grown_bytes = now.held_bytes > last.held_bytes ? now.held_bytes - last.held_bytes
                                                                  : 0;
    leftovers->run_count++;
    leftovers->least_bytes = grown_bytes < leftovers->least_bytes ? grown_bytes
                                                                  : leftovers->least_bytes;
}

/* Runs until one leaves nothing behind, or enough of them did. */
static bool breaks_again(struct list_replaying *replaying, uint32_t thread_count)
{
    struct leftovers leftovers = {.thread_count = thread_count, .least_bytes = UINT64_MAX};
    leftovers.is_known = process_memory_look(thread_count, &leftovers.last);
    for (unsigned i = 0; i < REPLAY_COUNT_MAX && leftovers.run_count < REPLAY_COUNT; i++) {
        replay_in_thread(replaying);
        if (replaying->broken->kind != VERDICT_NONE) {
            return true;
        }
        leftovers_take_run(&leftovers);
        if (replaying->is_not_modelled || !leftovers.is_known || leftovers.least_bytes == 0) {
            return false;
        }
    }
    if (leftovers.run_count < REPLAY_COUNT) {
        return false;
    }
    *replaying->broken = (struct verdict){.kind = VERDICT_BROKEN,
                                          .rule = RULE_HOST_MEMORY,
                                          .op = (uint32_t)replaying->trial->ops.count};
    snprintf(replaying->broken->reason, sizeof replaying->broken->reason,
             "each of %d runs left at least %" PRIu64 " bytes of the process's memory behind",
             REPLAY_COUNT, leftovers.least_bytes);
    return true;
}

bool again_breaks(const struct target *target, const struct trial *trial, struct verdict *broken)
{
    struct list_replaying replaying = {.target = target, .trial = trial, .broken = broken};
    broken->kind = VERDICT_NONE;
    return breaks_again(&replaying, process_thread_count());
}

bool again_breaks_renamed(const struct target *target, const struct trial *trial,
                          struct verdict *broken)
{
    struct list_replaying replaying = {
        .target = target, .trial = trial, .broken = broken, .is_renamed = true};
    broken->kind = VERDICT_NONE;
    return breaks_again(&replaying, process_thread_count()) ||
           (replaying.names_differ &&
            related_breaks_one(target, trial, RELATED_NAMES, broken, NULL));
}

bool again_breaks_soon(const struct target *target, const struct trial *trial,
                       struct verdict *broken)
{
    struct list_replaying replaying = {.target = target, .trial = trial, .broken = broken};
    broken->kind = VERDICT_NONE;
    const uint32_t thread_count = process_thread_count();
    const uint64_t before_bytes = process_memory_glance();
    replay_in_thread(&replaying);
    if (broken->kind != VERDICT_NONE) {
        return true;
    }
    return !replaying.is_not_modelled &&
           (before_bytes == 0 || process_memory_glance() > before_bytes) &&
           breaks_again(&replaying, thread_count);
}

/* Runs the list once, as chance decides; one->ops has the schedule.  False: the target refused. */
static bool run_drawn(const struct target *target, const struct trial *trial, struct trial *one)
{
    char reason[RUN_REASON_BYTES];
    void *state = array_zeroed(1, strategy_random.state_bytes);
    strategy_random.init(state, trial->setup.seed, 0);
    const struct lanes_plan plan = {.target = target,
                                    .setup = &trial->setup,
                                    .ops = &trial->searched,
                                    .strategy = &strategy_random,
                                    .state = state};
    const bool was_run = lanes_run_once(plan, NULL, one, reason);
    if (strategy_random.deinit != NULL) {
        strategy_random.deinit(state);
    }
    free(state);
    return was_run;
}

bool again_breaks_lanes(const struct target *target, struct trial *trial, struct verdict *broken)
{
    struct trial one;
    broken->kind = VERDICT_NONE;
    const bool was_run = run_drawn(target, trial, &one);
    if (was_run && trial_is_ended(&one)) {
        *broken = one.first;
    } else if (was_run && one.totals.not_modelled == 0 && again_breaks(target, &one, broken)) {
        run_findings_set(&one.findings, broken, &trial->searched);
    }
    if (broken->kind == VERDICT_NONE) { /* what broke in one run more breaks no comparison */
        trial->totals.ooms += one.totals.premature;
        trial->totals.premature += one.totals.premature;
        trial->totals.broken += one.totals.broken;
    }
    trial_take_findings(trial, &one);
    trial_lead(trial);
    trial_deinit(&one);
    return broken->kind != VERDICT_NONE;
}
