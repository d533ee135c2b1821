/* Each planted race is found by the strategies, by the rule that it breaks; shrinks; and repeats.
 * The right target keeps its promises on the same lists. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/signature.h"
#include "harness/shrink/shrink.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/races.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_COUNT = 9, SCHEDULE_COUNT_MAX = 50000 };

/* How often a shrunk list is repeated: HBMSTRESS_REPLAYS, 50 by default. */
static uint64_t replay_count(void)
{
    const char *text = getenv("HBMSTRESS_REPLAYS");
    return text == NULL ? 50 : strtoull(text, NULL, 10);
}

static size_t race_list_count(void)
{
    return sizeof race_lists / sizeof race_lists[0];
}

static void read_list(const struct race_list *list, struct setup *setup, struct op_list *ops)
{
    struct ops_file_error error;
    op_list_init(ops);
    ck_assert_msg(ops_file_parse(list->ops, strlen(list->ops), setup, ops, &error) == OPS_FILE_OK,
                  "%s", error.reason);
}

static void search_race(const struct target *target, const struct setup *setup,
                        const struct op_list *ops, const struct lanes_search *how,
                        struct trial *trial, struct lanes_found *found)
{
    char reason[RUN_REASON_BYTES];
    ck_assert_msg(lanes_search(target, setup, ops, how, NULL, trial, found, reason), "%s", reason);
}

static bool is_named(const char *rules, const char *rule)
{
    const char *at = strstr(rules, rule);
    const size_t length = strlen(rule);
    return at != NULL && (at == rules || at[-1] == ' ') &&
           (at[length] == '\0' || at[length] == ' ');
}

static int compare_counts(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int count_races(void)
{
    return (int)race_list_count();
}

EVERY_TEST(.timeout_s = 600);

TEST(pct_finds_the_race, .count = count_races)
{
    const struct race_list *list = &race_lists[_i];
    const struct target *target = target_find(list->target);
    struct setup setup;
    struct op_list ops;
    uint64_t counts[SEED_COUNT];
    struct lanes_found found;
    char rules[160] = "";
    ck_assert_ptr_nonnull(target);
    if (strcmp(target->breaks, "race") == 0) {
        printf(
            "%s: skipped, no switch shows it; tests/targets/test_races_order.c finds it where accesses are seen\n",
            list->target);
        return;
    }
    read_list(list, &setup, &ops);
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct trial trial;
        const struct lanes_search how = {.strategy = &strategy_pct,
                                         .seed = seed,
                                         .argument = 3,
                                         .schedule_count_max = SCHEDULE_COUNT_MAX,
                                         .backend = SCHEDULER_FIBERS};
        search_race(target, &setup, &ops, &how, &trial, &found);
        counts[seed] = trial.first.kind == VERDICT_NONE ? UINT64_MAX : found.schedule_count;
        const char *rule = rule_info(trial.first.rule)->name;
        if (!is_named(rules, rule)) {
            snprintf(rules + strlen(rules), sizeof rules - strlen(rules), "%s%s",
                     rules[0] == '\0' ? "" : " ", rule);
        }
        trial_deinit(&trial);
    }
    qsort(counts, SEED_COUNT, sizeof counts[0], compare_counts);
    printf("%s: median of %d seeds: %" PRId64 " schedules (most %" PRId64
           "); at least 1/%.0f a run promised (n = %" PRIu64 ", k = %" PRIu64 "); "
           "caught as %s, breaks %s\n",
           list->target, SEED_COUNT, counts[SEED_COUNT / 2], counts[SEED_COUNT - 1],
           1 / found.probability, found.pct_participants, found.pct_decisions, rules,
           target->breaks);
    fflush(stdout);
    op_list_deinit(&ops);
    ck_assert_uint_ne(counts[SEED_COUNT / 2], UINT64_MAX);
    ck_assert_msg(is_named(rules, target->breaks), "caught as %s", rules);
}

/* One that the portfolio finds, with its schedule. */
static void find_one(const struct race_list *list, struct setup *setup, struct trial *trial)
{
    struct op_list ops;
    struct lanes_found found;
    read_list(list, setup, &ops);
    const struct lanes_search how = {.strategy = &strategy_portfolio,
                                     .seed = 1,
                                     .schedule_count_max = SCHEDULE_COUNT_MAX,
                                     .backend = SCHEDULER_FIBERS};
    search_race(target_find(list->target), setup, &ops, &how, trial, &found);
    op_list_deinit(&ops);
    ck_assert_int_ne(trial->first.kind, VERDICT_NONE);
}

static size_t switch_count(const struct op_list *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += ops->ops[i].kind == OP_SWITCH;
    }
    return count;
}

/* Not even a switch, together with what names it. */
static size_t count_ops_that_can_go(const struct shrink_try *attempt, const struct op_list *ops)
{
    struct op_list rest;
    struct verdict first;
    size_t count = 0;
    bool *keep = malloc(ops->count);
    ck_assert_ptr_nonnull(keep);
    op_list_init(&rest);
    for (size_t gone = 0; gone < ops->count; gone++) {
        memset(keep, true, ops->count);
        keep[gone] = false;
        for (size_t i = 0; i < ops->count; i++) {
            const struct op *op = &ops->ops[i];
            keep[i] = keep[i] && (op->ref >= i || keep[op->ref]) &&
                      (op->event >= i || keep[op->event]);
        }
        op_list_copy(&rest, ops);
        op_list_filter(&rest, keep);
        count += attempt->is_same(attempt->context, attempt->setup, &rest, &first) &&
                 rest.count < ops->count;
    }
    free(keep);
    op_list_deinit(&rest);
    return count;
}

TEST(the_race_shrinks_and_repeats, .count = count_races)
{
    const struct race_list *list = &race_lists[_i];
    struct setup setup;
    struct trial trial;
    struct shrink_result shrunk;
    char reason[RUN_REASON_BYTES];
    if (strcmp(target_find(list->target)->breaks, "race") == 0) {
        return; /* as above */
    }
    find_one(list, &setup, &trial);
    struct shrink_replaying replaying = {.target = target_find(list->target)};
    const struct shrink_try attempt = {
        .context = &replaying, .is_same = shrink_replay, .setup = &setup};
    ck_assert(shrink(&attempt, &trial.ops, 20000, &shrunk));
    const size_t switches = switch_count(&shrunk.ops);
    printf("%s: %zu ops in %u lanes, %zu switches (from %zu and %zu): %s\n", list->target,
           shrunk.ops.count - switches, lanes_count(&shrunk.ops), switches,
           trial.ops.count - switch_count(&trial.ops), switch_count(&trial.ops),
           replaying.signature);
    fflush(stdout);
    ck_assert(shrunk.is_minimal);
    ck_assert_uint_eq(count_ops_that_can_go(&attempt, &shrunk.ops), 0);
    ck_assert_uint_le(lanes_count(&shrunk.ops), 4);
    ck_assert_uint_le(shrunk.ops.count - switches, 12);
    ck_assert_uint_le(switches, 6);
    for (uint64_t i = 0; i < replay_count(); i++) {
        struct trial again;
        ck_assert(
            trial_replay(target_find(list->target), &setup, &shrunk.ops, NULL, &again, reason));
        ck_assert_int_eq(again.first.rule, shrunk.first.rule);
        ck_assert_uint_eq(again.first.op, shrunk.first.op);
        trial_deinit(&again);
    }
    op_list_deinit(&shrunk.ops);
    trial_deinit(&trial);
}

TEST(the_right_target_keeps_its_promises, .count = count_races)
{
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    struct lanes_found found;
    read_list(&race_lists[_i], &setup, &ops);
    const struct lanes_search how = {.strategy = &strategy_portfolio,
                                     .seed = 1,
                                     .schedule_count_max = 5000,
                                     .backend = SCHEDULER_FIBERS};
    snprintf(setup.target, sizeof setup.target, "threaded");
    search_race(target_find("threaded"), &setup, &ops, &how, &trial, &found);
    if (trial.first.kind != VERDICT_NONE) {
        ops_file_print(stdout, &setup, &trial.ops, trial.first.reason);
        fflush(stdout);
    }
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: op %u: %s: %s", race_lists[_i].target,
                  trial.first.op, rule_info(trial.first.rule)->name, trial.first.reason);
    trial_deinit(&trial);
    op_list_deinit(&ops);
}
