/* The trials before one: which are known, how they are regenerated, and which of them bring a
 * finding back. */
#include "campaign/trials/earlier.h"
#include "harness/base/check.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define LIST                                                                             \
    "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget hbm\nseed 1\n0: alloc size=1K\n" \
    "1: defragment\n2: report\n"
#define FAR_NS UINT64_C(60000000000)

static struct part part;
static struct plan plan;
static struct target special;
static struct trial_result result;
static struct last_words *words;
static unsigned open_count, refused_from;

/* It lives in this process alone, which never runs it: each child begins anew. */
OPEN(open_counted)
{
    open_count++;
    return target_find("hbm")->open(target_setup, services, instance, contract, reason,
                                    reason_bytes);
}

DEFRAGMENT(defragment_by_count)
{
    return open_count >= refused_from ? TARGET_INVALID : target_find("hbm")->defragment(instance);
}

/* A trial that broke what the target breaks from that instance on. */
static void begin(unsigned from)
{
    trial_player_load(LIST, "the part", &part);
    special = *part.target;
    special.open = open_counted;
    special.defragment = defragment_by_count;
    part.target = &special;
    plan = (struct plan){.parts = &part, .count = 1, .shard_count = 1};
    refused_from = from;
    words = last_words_create();
    CHECK(words != NULL);
    trial_result_init(&result);
    open_count = from;
    const struct task task = {.trial = 7, .op_count_max = 100};
    trial_result_make(&plan, &task, words, &result);
    open_count = 0;
}

static void add_earlier(uint64_t trial, bool is_sampled)
{
    const struct task task = {.trial = trial, .op_count_max = 100, .is_sampled = is_sampled};
    earlier_tasks_add(&result.earlier, &task, 1000);
}

static void end(void)
{
    snap_rest();
    trial_result_deinit(&result);
    last_words_destroy(words);
    op_list_deinit(&trial_player_ops);
}

EVERY_TEST(.teardown = end);

/* Which trials the lists are of, and how long they are. */
static void show_earlier(const struct earlier *earlier)
{
    for (size_t i = 0; i < earlier->count; i++) {
        for (uint64_t trial = 0; trial < 200; trial++) {
            if (earlier->lists[i]->setup.seed == plan_trial_seed(&part, trial)) {
                show("trial %u, %zu ops\n", (unsigned)trial, earlier->lists[i]->ops.count);
            }
        }
    }
}

/* Whether the trial's finding shows again, and behind which trials. */
static void show_repeated(void)
{
    struct repeated repeated;
    repeated_find(&plan, &result, &result.ops, &repeated);
    show("%s, %u ops, %zu before it\n",
         repeated.end == REPEATED_ALONE   ? "alone"
         : repeated.end == REPEATED_AFTER ? "after others"
                                          : "not again",
         (unsigned)repeated.op_count, repeated.earlier.count);
    show_earlier(&repeated.earlier);
    repeated_deinit(&repeated);
}

TEST(the_last_trials_of_a_process_are_known)
{
    struct earlier_tasks tasks = {0}, copy = {0};
    earlier_tasks_copy(&copy, &tasks);
    ck_assert_uint_eq(copy.count, 0);
    for (uint64_t i = 0; i < 5000; i++) {
        const struct task task = {.trial = i};
        earlier_tasks_add(&tasks, &task, 2 * i);
    }
    earlier_tasks_copy(&copy, &tasks);
    ck_assert_uint_eq(copy.count, 1024);
    for (size_t i = 0; i < copy.count; i++) {
        ck_assert_uint_eq(copy.tasks[i].task.trial, 5000 - 1024 + i);
        ck_assert_uint_eq(copy.tasks[i].elapsed_ns, 2 * (5000 - 1024 + i));
    }
    earlier_tasks_deinit(&copy);
    earlier_tasks_clear(&tasks);
    earlier_tasks_add(&tasks, &(struct task){.trial = 9}, 1);
    earlier_tasks_copy(&copy, &tasks);
    ck_assert(copy.count == 1 && copy.tasks[0].task.trial == 9);
    earlier_tasks_deinit(&copy);
    earlier_tasks_deinit(&tasks);
}

TEST(earlier_trials_are_regenerated_as_often_as_they_ran)
{
    struct earlier earlier;
    begin(1000);
    add_earlier(3, false);
    add_earlier(4, true); /* it was run again, at least once */
    add_earlier(5, false);
    ck_assert(earlier_collect(&plan, &result.earlier, FAR_NS, &earlier));
    SHOW(earlier.owned_count);
    ck_assert_uint_ge(earlier.count, 4); /* how often the second one ran, its time decides */
    __typeof__(*earlier.lists) lists[] = {earlier.lists[0], earlier.lists[1], earlier.lists[2],
                                          earlier.lists[earlier.count - 1]};
    const struct earlier few = {.lists = lists, .count = 4};
    show_earlier(&few);
    ck_assert_ptr_eq(earlier.lists[0]->target, &special);
    earlier_deinit(&earlier);
    /* Only the last ones fit into that time. */
    ck_assert(earlier_collect(&plan, &result.earlier, 1500, &earlier) || earlier.count == 0);
    ck_assert_uint_le(earlier.owned_count, 1);
    earlier_deinit(&earlier);
    earlier_tasks_clear(&result.earlier);
    ck_assert(!earlier_collect(&plan, &result.earlier, FAR_NS, &earlier));
}

TEST(a_list_that_shows_its_finding_needs_no_other)
{
    begin(1);
    ck_assert_str_eq(result.head.signature, "status: defragment returned INVALID");
    add_earlier(3, false);
    show_repeated();
}

/* No more of their lists than is needed, and up to the op that broke. */
TEST(the_fewest_earlier_trials_bring_a_finding_back)
{
    begin(4);
    for (uint64_t i = 0; i < 20; i++) {
        add_earlier(100 + i, false);
    }
    show_repeated();
}

TEST(what_no_earlier_trial_brings_back_is_not_repeated)
{
    begin(30);
    show_repeated(); /* there is none */
    add_earlier(100, false);
    add_earlier(101, false);
    show_repeated();
}
