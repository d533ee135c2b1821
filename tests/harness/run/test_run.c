/* Whole runs: a recorded list is the run again, as ops and as text, and a shrunk list breaks the
 * same promise. */
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/shrink/shrink.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/deadly.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_COUNT = 3, OPS_MAX = 1500, REPLAYS_MAX = 400 };

static void check_replay(const char *target, const struct setup *setup, const struct op_list *ops,
                         const struct trial *first)
{
    struct trial again;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(trial_replay(target_find(target), setup, ops, NULL, &again, reason), "%s",
                  reason);
    ck_assert_uint_eq(again.digest, first->digest);
    ck_assert_int_eq(again.first.kind, first->first.kind);
    ck_assert_int_eq(again.first.rule, first->first.rule);
    ck_assert_str_eq(again.first.reason, first->first.reason);
    ck_assert_uint_eq(again.ops.count, first->ops.count);
    ck_assert_mem_eq(&again.totals, &first->totals, sizeof again.totals);
    for (size_t i = 0; i < again.ops.count; i++) {
        ck_assert(op_equal(&again.ops.ops[i], &first->ops.ops[i]));
    }
    trial_deinit(&again);
}

/* Through the text and back: every op is the same in every byte. */
static void check_text(const char *target, const struct trial *first)
{
    struct setup setup;
    struct op_list ops;
    char *text = list_text(&first->setup, &first->ops, NULL);
    read_list(text, &setup, &ops);
    ck_assert_uint_eq(ops.count, first->ops.count);
    for (size_t i = 0; i < ops.count; i++) {
        char line[OP_TEXT_BYTES];
        ck_assert_msg(op_equal(&ops.ops[i], &first->ops.ops[i]), "%zu: %s", i,
                      op_print(&ops.ops[i], line));
    }
    check_replay(target, &setup, &ops, first);
    op_list_deinit(&ops);
    free(text);
}

EVERY_TEST(.timeout_s = 600);

TEST(a_recorded_list_is_the_run_again, .count = count_scenarios)
{
    const char *const names[] = {"hbm", "first_fit"};
    /* first_fit neither sleeps nor grows. */
    for (int i = 0; i < (scenarios[_i]->shares_device ? 1 : 2); i++) {
        for (uint64_t seed = 1; seed <= draws_count(SEED_COUNT, 1); seed++) {
            struct trial trial;
            wish_play(&(struct trial_wish){names[i], scenarios[_i], seed, .op_count_max = OPS_MAX},
                      &trial);
            check_replay(names[i], &trial.setup, &trial.ops, &trial);
            check_text(names[i], &trial);
            trial_deinit(&trial);
        }
    }
}

TEST(a_run_keeps_the_list_that_it_is_given_until_it_differs)
{
    struct trial trial, same, other;
    char reason[RUN_REASON_BYTES] = "";
    wish_play(&(struct trial_wish){"hbm", scenarios[0], 1, .op_count_max = OPS_MAX}, &trial);
    ck_assert(trial_repeat(target_find("hbm"), &trial.setup, &trial.ops, NULL, &same, reason));
    ck_assert_uint_eq(same.digest, trial.digest);
    ck_assert_uint_eq(same.ops.count, 0);
    trial_deinit(&same);
    ck_assert(trial_confirm(target_find("hbm"), &trial.setup, &trial.ops, &same, reason));
    ck_assert_uint_eq(same.digest, trial.digest);
    ck_assert_uint_eq(same.findings.count, trial.findings.count);
    struct op_list unresolved;
    size_t at = trial.ops.count * 3 / 4;
    op_list_init(&unresolved);
    op_list_copy(&unresolved, &trial.ops);
    while (trial.ops.ops[at].kind != OP_ALLOC) {
        at++;
        ck_assert_uint_lt(at, trial.ops.count);
    }
    unresolved.ops[at]
        .flags |= OP_RELATIVE; /* it names no block: it is recorded without the flag */
    ck_assert(trial_repeat(target_find("hbm"), &trial.setup, &unresolved, NULL, &other, reason));
    ck_assert_uint_eq(other.digest, trial.digest);
    ck_assert_uint_eq(other.ops.count, trial.ops.count);
    for (size_t i = 0; i < trial.ops.count; i++) {
        ck_assert(op_equal(&other.ops.ops[i], &trial.ops.ops[i]));
    }
    trial_deinit(&other);
    op_list_deinit(&unresolved);
    trial_deinit(&same);
    trial_deinit(&trial);
}

/* --- shorter lists --- */

static bool names_an_earlier_op(uint32_t reference, size_t i)
{
    return reference == OP_NONE || reference < i;
}

TEST(filtering_keeps_references_or_drops_them, .count = count_scenarios)
{
    struct trial trial;
    wish_play(&(struct trial_wish){"hbm", scenarios[_i], 1, .op_count_max = OPS_MAX}, &trial);
    struct op_list list;
    op_list_init(&list);
    bool *keep = malloc(trial.ops.count + 1);
    uint32_t *numbers = malloc((trial.ops.count + 1) * sizeof *numbers);
    ck_assert_ptr_nonnull(keep);
    ck_assert_ptr_nonnull(numbers);
    for (size_t step = 2; step < 7; step++) {
        uint32_t kept = 0;
        for (size_t i = 0; i < trial.ops.count; i++) {
            keep[i] = i % step != 0;
            numbers[i] = keep[i] ? kept++ : OP_NONE;
        }
        op_list_copy(&list, &trial.ops);
        op_list_filter(&list, keep);
        ck_assert_uint_eq(list.count, kept);
        for (size_t i = 0; i < trial.ops.count; i++) {
            if (!keep[i]) {
                continue;
            }
            const struct op *was = &trial.ops.ops[i];
            const struct op *is = &list.ops[numbers[i]];
            ck_assert(names_an_earlier_op(is->ref, numbers[i]) &&
                      names_an_earlier_op(is->event, numbers[i]));
            ck_assert(is->ref == OP_NONE || is->ref == numbers[was->ref]);
            ck_assert(is->event == OP_NONE || is->event == numbers[was->event]);
            /* What waited for an event that went must not wait for one of its own. */
            ck_assert(was->event == OP_NONE || is->event != OP_NONE || is->ref == OP_NONE);
        }
        struct trial replayed;
        char reason[RUN_REASON_BYTES] = "";
        ck_assert(trial_replay(target_find("hbm"), &trial.setup, &list, NULL, &replayed, reason));
        /* Any op is legal in any state. */
        ck_assert_msg(replayed.first.kind == VERDICT_NONE, "%s", replayed.first.reason);
        trial_deinit(&replayed);
    }
    free(keep);
    free(numbers);
    op_list_deinit(&list);
    trial_deinit(&trial);
}

static void check_shrunk(const struct target *target, const struct trial *trial,
                         uint64_t replays_max)
{
    struct shrink_result result;
    char reason[RUN_REASON_BYTES] = "", signature[SIGNATURE_BYTES];
    struct shrink_replaying replaying = {.target = target};
    const struct shrink_try attempt = {.context = &replaying,
                                       .is_same = shrink_replay,
                                       .setup = &trial->setup,
                                       .search_count_max = 100};
    ck_assert(shrink(&attempt, &trial->ops, replays_max, &result));
    signature_print(&trial->first, &trial->ops, signature);
    ck_assert_str_eq(replaying.signature, signature);
    ck_assert_uint_le(result.replays, replays_max + 1);
    ck_assert_uint_le(result.ops.count, trial->ops.count);
    ck_assert_int_eq(result.first.kind, trial->first.kind);
    ck_assert_int_eq(result.first.rule, trial->first.rule);
    ck_assert(!result.is_minimal || result.replays <= replays_max);
    struct trial again;
    ck_assert(trial_replay(target, &trial->setup, &result.ops, NULL, &again, reason));
    const struct run_finding *shown = run_findings_find(&again.findings, replaying.signature);
    ck_assert_ptr_nonnull(shown);
    ck_assert_int_eq(shown->verdict.rule, trial->first.rule);
    ck_assert_str_eq(shown->verdict.reason, result.first.reason);
    trial_deinit(&again);
    op_list_deinit(&result.ops);
}

enum { FOUND_MAX = 2 };

/* A short run shrinks so many in each scenario, and begins with other plants than in the next one.
 */
TEST(a_shrunk_list_breaks_the_same_promise_within_its_budget, .count = count_scenarios)
{
    int found = 0, target_count = 0;
    while (targets[target_count] != NULL) {
        target_count++;
    }
    if (scenarios[_i]->shares_device) { /* nearly all of them neither sleep nor grow */
        return;
    }
    for (int n = 0; n < target_count && (draws_period() == 1 || found < FOUND_MAX); n++) {
        const int i = (n + 5 * _i) % target_count;
        struct trial trial;
        if (targets[i]->breaks == NULL || strcmp(targets[i]->breaks, "replay") == 0 ||
            strcmp(targets[i]->breaks, "relation") == 0 || is_deadly(targets[i])) {
            continue;
        }
        wish_play(&(struct trial_wish){targets[i]->name, scenarios[_i], 1, .op_count_max = OPS_MAX},
                  &trial);
        if (trial.first.kind != VERDICT_NONE) {
            check_shrunk(targets[i], &trial, 0);
            check_shrunk(targets[i], &trial, 7);
            check_shrunk(targets[i], &trial, REPLAYS_MAX);
            found++;
        }
        trial_deinit(&trial);
    }
    ck_assert_int_gt(found, 0);
}

TEST(a_list_that_breaks_nothing_is_not_shrunk)
{
    struct trial trial;
    struct shrink_result result;
    wish_play(&(struct trial_wish){"hbm", scenarios[0], 1, .op_count_max = OPS_MAX}, &trial);
    struct shrink_replaying replaying = {.target = target_find("hbm")};
    const struct shrink_try attempt = {
        .context = &replaying, .is_same = shrink_replay, .setup = &trial.setup};
    ck_assert(!shrink(&attempt, &trial.ops, 10, &result));
    ck_assert_uint_eq(result.replays, 1);
    trial_deinit(&trial);
}
