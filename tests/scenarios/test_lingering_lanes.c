/* Calls that linger: libhbm has done what it was asked, and the call returns only later.  So the
 * order in which calls return says little of the order of their effects, and libhbm, which is
 * sound, must not be accused in any: three lists of each scenario. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"
#include "tests/scenarios/drawn_lanes.h"

#include <check.h>
#include <pthread.h>

/* --- the target --- */

static const struct target *quick; /* libhbm */
static pthread_mutex_t doorway = PTHREAD_MUTEX_INITIALIZER;

/* Two more points, at which others may go on.  The text of a failed call is asked for before. */
static enum target_result linger(enum target_result result)
{
    if (result == TARGET_OK) {
        (void)pthread_mutex_lock(&doorway);
        (void)pthread_mutex_unlock(&doorway);
    }
    return result;
}

static enum target_result alloc_slowly(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    return linger(quick->alloc(instance, request, block));
}

static enum target_result free_slowly(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    return linger(quick->free(instance, handle, event));
}

static enum target_result release_slowly(struct target_instance *instance, uint64_t handle)
{
    return linger(quick->release(instance, handle));
}

static enum target_result load_slowly(struct target_instance *instance,
                                      const struct target_program *program,
                                      struct target_block *image)
{
    return linger(quick->load(instance, program, image));
}

static enum target_result execute_slowly(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image)
{
    return linger(quick->execute(instance, handle, event, image));
}

static enum target_result unload_slowly(struct target_instance *instance, uint64_t handle)
{
    return linger(quick->unload(instance, handle));
}

static struct target lingering_target(void)
{
    quick = target_find("hbm");
    struct target target = *quick;
    target.name = "lingering";
    target.alloc = alloc_slowly;
    target.free = free_slowly;
    target.release = release_slowly;
    target.load = load_slowly;
    target.execute = execute_slowly;
    target.unload = unload_slowly;
    return target;
}

/* --- every interleaving of short lists --- */

#define HEAD "granule 512\ntarget hbm\n"

static const struct {
    const char *ops;
    uint64_t oom_count_min; /* in all interleavings together: else the list shows nothing */
} lists[] = {
    /* More is taken than was given back in its place. */
    {HEAD "capacity 4K\noption defrag=none\n"
          "0: alloc size=1K\n"
          "1: free block=0 lane=1\n"
          "2: alloc size=4K lane=2\n"
          "3: alloc size=512\n",
     5},
    /* The same for the image of a program that is loaded again, and is busy then. */
    {HEAD "capacity 4K\noption defrag=repack\n"
          "0: load size=4K stack=0\n"
          "1: alloc size=1K\n"
          "2: free block=1 lane=1\n"
          "3: execute program=0 delay=never lane=2\n"
          "4: alloc size=512\n",
     5},
    /* Two take what two give back; one gives back to an event that is done, one a reference. */
    {HEAD "capacity 4K\noption defrag=none\n"
          "0: alloc size=1K\n"
          "1: alloc size=512\n"
          "2: alloc size=1K\n"
          "3: hold block=2\n"
          "4: free block=2\n"
          "5: free block=0 lane=1\n"
          "6: alloc size=1536 lane=2\n"
          "7: release block=2 lane=3\n"
          "8: alloc size=512\n",
     5},
    /* A program goes for another one. */
    {HEAD "capacity 4K\noption defrag=slide\noption program_evicts_program=no\n"
          "0: load size=1K stack=512\n"
          "1: unload program=0 lane=1\n"
          "2: load size=3K stack=1K lane=2\n"
          "3: load size=512 stack=1K\n",
     5},
};

EVERY_TEST(.timeout_s = 1200);

TEST(no_interleaving_of_calls_that_linger_accuses, .to = sizeof lists / sizeof lists[0])
{
    const struct target target = lingering_target();
    const struct lanes_search how = {.strategy = &strategy_exhaustive,
                                     .argument = draws_period() == 1 ? 3 : 2,
                                     .seed = 1,
                                     .backend = SCHEDULER_FIBERS};
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    read_list(lists[_i].ops, &setup, &ops);
    ck_assert_msg(lanes_search(&target, &setup, &ops, &how, NULL, &trial, &found, reason), "%s",
                  reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "op %u: %s: %s", trial.first.op,
                  rule_info(trial.first.rule)->name, trial.first.reason);
    ck_assert_uint_ge(trial.totals.ooms, lists[_i].oom_count_min);
    ck_assert_uint_eq(trial.totals.ooms, trial.totals.justified);
    trial_deinit(&trial);
    op_list_deinit(&ops);
}

/* --- drawn lists --- */

TEST(no_drawn_list_of_calls_that_linger_accuses, .count = count_scenarios)
{
    const struct target target = lingering_target();
    const struct drawn_lanes lanes = {&target, draws_count(3, 1), 3, 2, 60, false};
    drawn_lanes_keep_promises(&lanes, scenarios[_i]);
}
