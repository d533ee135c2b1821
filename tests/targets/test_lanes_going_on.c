/* The search of a list's schedules goes on behind findings that do no harm, and each finding has
 * the schedule that shows it. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- a target with two defects --- */

static const char harmless[] = "status: alloc returned FAILED";
static const char harmful[] = "too_small: answer";
enum { FAILING_BYTES = 3072, HARMED_BYTES = 2048 };

static bool has_harm;
static unsigned under_way_count;

static enum target_result open_with_defects(const struct target_setup *setup,
                                            const struct device_services *services,
                                            struct target_instance **instance,
                                            struct target_contract *contract, char *reason,
                                            size_t reason_bytes)
{
    under_way_count = 0;
    return target_threaded.open(setup, services, instance, contract, reason, reason_bytes);
}

/* A request of 3K fails; one of 2K that meets another is told too small a size. */
static enum target_result alloc_with_defects(struct target_instance *instance,
                                             const struct target_request *request,
                                             struct target_block *block)
{
    if (request->size_bytes == FAILING_BYTES) {
        return TARGET_FAILED;
    }
    const bool is_alone = under_way_count++ == 0;
    const enum target_result result = target_threaded.alloc(instance, request, block);
    under_way_count--;
    if (result == TARGET_OK && !is_alone && has_harm && request->size_bytes == HARMED_BYTES) {
        block->size_bytes = request->size_bytes - 1;
    }
    return result;
}

static const char *say(struct target_instance *instance)
{
    const char *text = target_threaded.message(instance);
    return text == NULL || text[0] == '\0' ? "no reason" : text;
}

/* --- a list --- */

/* The last request never fits. */
static const char list_text[] = "hbmstress-ops 1\n"
                                "capacity 16K\n"
                                "target threaded\n"
                                "0: alloc size=1K\n"
                                "1: alloc size=3K\n"
                                "2: alloc size=2K lane=1\n"
                                "3: alloc size=4K\n"
                                "4: alloc size=15K\n";

static struct rig {
    struct target target;
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    struct lanes_found found;
} rig;

static void prepare_list(bool with_harm)
{
    struct ops_file_error error;
    memset(&rig, 0, sizeof rig);
    has_harm = with_harm;
    rig.target = target_threaded;
    rig.target.open = open_with_defects;
    rig.target.alloc = alloc_with_defects;
    rig.target.message = say;
    op_list_init(&rig.ops);
    ck_assert_msg(ops_file_parse(list_text, sizeof list_text - 1, &rig.setup, &rig.ops, &error) ==
                      OPS_FILE_OK,
                  "%s", error.reason);
}

static void search_list(const struct strategy_kind *strategy, bool goes_on, const char *signature)
{
    char reason[RUN_REASON_BYTES];
    const bool is_whole = strategy == &strategy_exhaustive;
    const struct lanes_search how = {.strategy = strategy,
                                     .seed = 1,
                                     .schedule_count_max = is_whole ? 0 : 200,
                                     .backend = SCHEDULER_FIBERS,
                                     .goes_on = goes_on,
                                     .signature = signature};
    ck_assert_msg(
        lanes_search(&rig.target, &rig.setup, &rig.ops, &how, NULL, &rig.trial, &rig.found, reason),
        "%s", reason);
}

static void forget_list(void)
{
    trial_deinit(&rig.trial);
    op_list_deinit(&rig.ops);
}

static const struct run_finding *get_finding(size_t i)
{
    ck_assert_uint_lt(i, rig.trial.findings.count);
    return &rig.trial.findings.findings[i];
}

/* Runs the list of the finding by itself. */
static void check_replay(const struct run_finding *finding, size_t finding_count)
{
    char reason[RUN_REASON_BYTES];
    struct trial again;
    ck_assert(trial_replay(&rig.target, &rig.trial.setup, trial_list(&rig.trial, finding), NULL,
                           &again, reason));
    const struct run_finding *shown = run_findings_find(&again.findings, finding->signature);
    ck_assert_msg(shown != NULL, "%s is not shown", finding->signature);
    ck_assert_str_eq(shown->verdict.reason, finding->verdict.reason);
    ck_assert_uint_eq(shown->verdict.op, finding->verdict.op);
    ck_assert_uint_eq(again.findings.count, finding_count);
    trial_deinit(&again);
}

/* --- tests --- */

static const struct strategy_kind *const kinds[] = {&strategy_exhaustive, &strategy_random};

TEST(harm_is_found_behind_what_does_none, .to = sizeof kinds / sizeof kinds[0])
{
    prepare_list(true);
    search_list(kinds[_i], true, NULL);
    ck_assert_uint_eq(rig.trial.findings.count, 2);
    ck_assert_str_eq(get_finding(0)->signature, harmless);
    ck_assert_str_eq(get_finding(1)->signature, harmful);
    ck_assert_int_eq((int)rig.trial.first.rule, (int)RULE_TOO_SMALL);
    ck_assert_uint_gt(rig.found.schedule_count, 1);
    /* The first schedule shows the harmless one alone; the other ends with both. */
    check_replay(get_finding(0), 1);
    check_replay(get_finding(1), 2);
    ck_assert_uint_eq(rig.trial.ops.count, trial_list(&rig.trial, get_finding(1))->count);
    ck_assert_uint_eq(rig.trial.searched.count, rig.ops.count);
    forget_list();
}

TEST(a_search_that_does_not_go_on_ends_with_the_first_that_finds_something,
     .to = sizeof kinds / sizeof kinds[0])
{
    prepare_list(true);
    search_list(kinds[_i], false, NULL);
    ck_assert_uint_eq(rig.found.schedule_count, 1);
    ck_assert_uint_eq(rig.trial.findings.count, 1);
    ck_assert_str_eq(get_finding(0)->signature, harmless);
    forget_list();
}

/* Each schedule is run to its end, and counts each of its out-of-memories. */
TEST(a_search_goes_on_to_its_last_schedule, .to = sizeof kinds / sizeof kinds[0])
{
    prepare_list(false);
    search_list(kinds[_i], true, NULL);
    const struct run_totals *totals = &rig.trial.totals;
    ck_assert_uint_gt(rig.found.schedule_count, 1);
    ck_assert(kinds[_i] != &strategy_exhaustive || rig.found.is_complete);
    ck_assert_uint_eq(totals->ops, rig.found.schedule_count * rig.ops.count);
    ck_assert_uint_eq(totals->ooms, rig.found.schedule_count);
    ck_assert_uint_eq(totals->justified, totals->ooms);
    ck_assert_uint_eq(totals->broken, rig.found.schedule_count);
    ck_assert_uint_eq(rig.trial.findings.count, 1);
    ck_assert_uint_eq(get_finding(0)->count, totals->broken);
    forget_list();
}

TEST(a_search_for_a_finding_ends_where_it_shows, .to = sizeof kinds / sizeof kinds[0])
{
    prepare_list(true);
    search_list(kinds[_i], true, harmless);
    ck_assert_uint_eq(rig.found.schedule_count, 1);
    forget_list();
    prepare_list(true);
    search_list(kinds[_i], true, harmful);
    ck_assert_uint_gt(rig.found.schedule_count, 1);
    ck_assert_ptr_nonnull(run_findings_find(&rig.trial.findings, harmful));
    forget_list();
}
