#include "fuzz/regrets.h"

#include "fuzz/player.h"
#include "harness/model/model.h"
#include "harness/trial/trial_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "HBMSTRESS_FUZZ_REGRETS";

/* --- which ones --- */

static uint32_t find_kind(const char *name, size_t length)
{
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        const char *known = regret_info((enum regret_kind)kind)->name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return UINT32_C(1) << kind;
        }
    }
    (void)fprintf(stderr, "%s: there is no regret '%.*s'; docs/promise.md names them\n", variable,
                  (int)length, name);
    _exit(2); /* engines take a plain exit for a crash */
}

uint32_t regrets_forbidden(void)
{
    static bool is_read;
    static uint32_t kinds;
    const char *names = is_read ? NULL : getenv(variable);
    while (names != NULL && names[0] != '\0') {
        const size_t length = strcspn(names, ",");
        kinds |= find_kind(names, length);
        names += length + (names[length] == ',');
    }
    is_read = true;
    return kinds;
}

/* --- the first of them --- */

static bool has_one(const struct run *run, uint32_t kinds)
{
    uint64_t count = 0;
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        count += (kinds >> kind & 1) != 0 ? run_totals(run)->regrets[kind] : 0;
    }
    return count > 0;
}

/* True in the documented order: an allocator told to evict first is regretted for it. */
static bool is_documented_order(const struct run *run)
{
    const struct target_contract *contract = model_contract(run_model(run, 0));
    return contract->order[0] == MITIGATION_DRAIN && contract->order[1] == MITIGATION_DEFRAGMENT;
}

struct search {
    uint32_t kinds;
    /* how many requests were, up to the first in one of the kinds; 0 = none is */
    uint64_t regretted;
};

static void look_at_run(void *context, const struct run *run, const struct verdict *verdict)
{
    struct search *search = context;
    (void)verdict;
    if (search->regretted == 0 && has_one(run, search->kinds)) {
        search->regretted = run_totals(run)->regretted;
    }
}

/* 0: with all the nodes that the target takes none is in one of the kinds. */
static uint64_t count_regretted_until(const struct target *target, const struct setup *setup,
                                      const struct op_list *ops, uint32_t kinds)
{
    char reason[RUN_REASON_BYTES];
    struct trial trial;
    struct search search = {.kinds = kinds};
    const struct run_listener listener = {.context = &search, .judged = look_at_run};
    if (trial_replay(target, setup, ops, &listener, &trial, reason)) {
        trial_deinit(&trial);
    }
    return search.regretted;
}

bool regrets_find(const struct target *target, const struct run *run, uint32_t kinds,
                  struct trial *trial)
{
    if (!has_one(run, kinds) || !is_documented_order(run)) {
        return false;
    }
    char reason[RUN_REASON_BYTES];
    struct setup setup = *run_setup(run);
    (void)player_drop_bound(&setup);
    const uint64_t regretted = count_regretted_until(target, &setup, run_ops(run), kinds);
    setup.has_regret_max = regretted > 0;
    setup.regret_max = regretted - 1;
    if (!setup.has_regret_max || !trial_replay(target, &setup, run_ops(run), NULL, trial, reason)) {
        return false;
    }
    const bool is_broken = trial->first.kind == VERDICT_BROKEN && trial->first.rule == RULE_REGRET;
    if (!is_broken) {
        trial_deinit(trial);
    }
    return is_broken;
}
