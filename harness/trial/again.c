#include "harness/trial/again.h"

#include "explore/order.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "harness/device/host_memory.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/trial_run.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a build with sanitizers, whose heap is not malloc's; elsewhere it is NULL. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Whatever fills once, fills the first time; what grows each time is left behind. */
enum { REPLAY_COUNT = 4 };

static uint64_t heap_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
#if __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 heap = mallinfo2();
    return (uint64_t)heap.uordblks + (uint64_t)heap.hblkhd;
#else
    return 0; /* an older one counts in 32 bits */
#endif
}

struct replaying {
    const struct target *target;
    const struct trial *trial;
    struct verdict *broken;
};

/* host_memory_guard is of the whole process; nobody else runs meanwhile. */
static void *replay_list(void *context)
{
    const struct replaying *replaying = context;
    const struct trial *trial = replaying->trial;
    struct verdict *broken = replaying->broken;
    struct trial again;
    char reason[RUN_REASON_BYTES] = "";
    host_memory_guard(true);
    const bool ran = trial_replay(replaying->target, &trial->setup, &trial->ops, NULL, &again,
                                  reason);
    host_memory_guard(false);
    const bool same = ran && again.digest == trial->digest &&
                      again.findings.count == trial->findings.count;
    if (ran) {
        trial_deinit(&again);
    }
    if (same) {
        return NULL;
    }
    *broken = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_REPLAY};
    broken->op = trial->ops.count == 0 ? 0 : (uint32_t)(trial->ops.count - 1);
    snprintf(broken->reason, sizeof broken->reason,
             "the same ops gave different observations the second time%s%.180s",
             ran ? "" : ": refused: ", ran ? "" : reason);
    return NULL;
}

/* Returns by how much the heap grew.  In a thread of its own: at its end malloc takes back the
 * small pieces that it keeps for each thread, which look as if they were in use. */
static uint64_t replay_measured(struct replaying *replaying)
{
    pthread_t thread;
    const uint64_t before_bytes = heap_bytes();
    if (pthread_create(&thread, NULL, replay_list, replaying) != 0) {
        (void)replay_list(replaying);
        return 0;
    }
    (void)pthread_join(thread, NULL);
    const uint64_t after_bytes = heap_bytes();
    return after_bytes > before_bytes ? after_bytes - before_bytes : 0;
}

bool again_breaks(const struct target *target, const struct trial *trial, struct verdict *broken)
{
    uint64_t least_bytes = UINT64_MAX;
    struct replaying replaying = {target, trial, broken};
    broken->kind = VERDICT_NONE;
    for (unsigned i = 0; i < REPLAY_COUNT; i++) {
        const uint64_t grown_bytes = replay_measured(&replaying);
        if (broken->kind != VERDICT_NONE) {
            return true;
        }
        least_bytes = grown_bytes < least_bytes ? grown_bytes : least_bytes;
        if (least_bytes == 0) {
            return false;
        }
    }
    *broken = (struct verdict){
        .kind = VERDICT_BROKEN, .rule = RULE_HOST_MEMORY, .op = (uint32_t)trial->ops.count};
    snprintf(broken->reason, sizeof broken->reason,
             "each of %d runs left at least %" PRIu64 " bytes of the process's memory behind",
             REPLAY_COUNT, least_bytes);
    return true;
}

/* Runs the list once, as chance decides; one->ops has the schedule.  False: the target refused. */
static bool run_drawn(const struct target *target, const struct trial *trial, struct trial *one)
{
    char reason[RUN_REASON_BYTES];
    struct scheduler_report report;
    void *state = calloc(1, strategy_random.state_bytes);
    CHECK(state != NULL);
    strategy_random.init(state, trial->setup.seed, 0);
    struct lanes *lanes = lanes_create(lanes_backend(&trial->setup));
    const struct lanes_plan plan = {.target = target,
                                    .setup = &trial->setup,
                                    .ops = &trial->ops,
                                    .strategy = &strategy_random,
                                    .state = state,
                                    .order = trial->setup.checks_races ? order_create() : NULL};
    const bool was_run = lanes_run(lanes, &plan, NULL, one, &report, reason);
    lanes_destroy(lanes);
    if (plan.order != NULL) {
        order_destroy(plan.order);
    }
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
    if (was_run && one.first.kind != VERDICT_NONE) {
        *broken = one.first;
    } else if (was_run) {
        (void)again_breaks(target, &one, broken);
    }
    if (broken->kind != VERDICT_NONE) {
        op_list_copy(&trial->ops, &one.ops);
    }
    trial_deinit(&one);
    return broken->kind != VERDICT_NONE;
}
