/* How large blocks may be where calls overlap: sizes are held to the contract, and an out-of-memory
 * is judged by what the request needs by it. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/op/rounding.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- a target of powers of two --- */

static enum target_result open_classes(const struct target_setup *setup,
                                       const struct device_services *services,
                                       struct target_instance **instance,
                                       struct target_contract *contract, char *reason,
                                       size_t reason_bytes)
{
    const enum target_result result = target_threaded.open(setup, services, instance, contract,
                                                           reason, reason_bytes);
    contract->rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
    return result;
}

static enum target_result alloc_power(struct target_instance *instance,
                                      const struct target_request *request,
                                      struct target_block *block)
{
    struct target_request bent = *request;
    bent.size_bytes = 512;
    while (bent.size_bytes < request->size_bytes) {
        bent.size_bytes *= 2;
    }
    return target_threaded.alloc(instance, &bent, block);
}

/* --- two lanes --- */

/* 2K, 4K and 4K leave 6K: the last request needs 8K, though its 4.5K would fit. */
static const char list_text[] = "hbmstress-ops 1\n"
                                "capacity 16K\n"
                                "target threaded\n"
                                "0: alloc size=1500\n"
                                "1: alloc size=2500 lane=1\n"
                                "2: alloc size=2500 lane=2\n"
                                "3: alloc size=4500 lane=1\n"
                                "4: alloc size=1K lane=2\n";

/* Runs the list in many interleavings; rounding: "" = the contract's.  The result is the rule that
 * one of them breaks. */
static enum rule search_list(const char *rounding, uint64_t *justified)
{
    struct target target = target_threaded;
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    struct trial trial;
    struct lanes_found found;
    struct rounding_error wrong;
    char reason[RUN_REASON_BYTES];
    target.open = open_classes;
    target.alloc = alloc_power;
    op_list_init(&ops);
    ck_assert_msg(ops_file_parse(list_text, sizeof list_text - 1, &setup, &ops, &error) ==
                      OPS_FILE_OK,
                  "%s", error.reason);
    setup.has_rounding = rounding[0] != '\0';
    ck_assert(!setup.has_rounding ||
              rounding_parse(rounding, strlen(rounding), &setup.rounding, &wrong));
    const struct lanes_search how = {.strategy = &strategy_random,
                                     .seed = 1,
                                     .schedule_count_max = 500,
                                     .backend = SCHEDULER_FIBERS};
    ck_assert_msg(lanes_search(&target, &setup, &ops, &how, NULL, &trial, &found, reason), "%s",
                  reason);
    *justified = trial.totals.justified;
    const enum rule rule = trial.first.rule;
    ck_assert(rule != RULE_NONE || trial.first.kind == VERDICT_NONE);
    trial_deinit(&trial);
    op_list_deinit(&ops);
    return rule;
}

TEST(overlapping_requests_are_judged_by_their_classes)
{
    uint64_t justified = 0;
    ck_assert_int_eq((int)search_list("", &justified), (int)RULE_NONE);
    ck_assert_uint_gt(justified, 0);
    ck_assert_int_eq((int)search_list("granule", &justified), (int)RULE_TOO_LARGE);
    /* Blocks of any size, but each request as small as it is. */
    ck_assert_int_eq((int)search_list("any", &justified), (int)RULE_PREMATURE);
}
