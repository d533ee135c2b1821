#include "fuzz/play.h"

#include "fuzz/finding.h"
#include "fuzz/player.h"
#include "fuzz/subject.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/model/model.h"
#include "harness/run/run_state.h"
#include "harness/run/trial.h"
#include "harness/trial/again.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One input in so many is run again: it costs as much as the first time, and more for guarded host
 * memory. */
enum { AGAIN_ONE_IN = 64, DIGEST_SHIFT = 20 };
/* One of so many of these is held against its related lists, which takes three runs more. */
enum { RELATED_ONE_IN = 4 };

/* Which ones depends on their bytes alone: played by itself an input is sampled as well, and what a
 * target does that cannot be replayed says nothing. */
static bool is_sampled(const uint8_t *bytes, size_t length)
{
    uint64_t digest = length;
    for (size_t i = 0; i + sizeof digest <= length; i += sizeof digest) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        digest = hash_word(digest, word);
    }
    return (digest >> DIGEST_SHIFT) % AGAIN_ONE_IN == 0;
}

static _Noreturn void end_trial(const char *fuzz_target, const struct trial *trial,
                                const struct verdict *verdict)
{
    finding_end(&(struct play_finding){fuzz_target, subject(), subject_name(), &trial->setup,
                                       &trial->ops, verdict});
}

/* Ends the trial when a list that broke nothing breaks something on another run. */
static void check_again(const char *fuzz_target, const struct run *run)
{
    struct trial trial = {.first = {.kind = VERDICT_NONE}};
    struct verdict verdict;
    trial_collect(&trial, run);
    if (again_breaks_soon(subject(), &trial, &verdict) ||
        (trial.digest % RELATED_ONE_IN == 0 && related_breaks(subject(), &trial, &verdict))) {
        end_trial(fuzz_target, &trial, &verdict);
    }
    trial_deinit(&trial);
}

static void check_regrets(const char *fuzz_target, const struct run *run)
{
    struct trial trial;
    if (regrets_find(subject(), run, regrets_forbidden(), &trial)) {
        end_trial(fuzz_target, &trial, &trial.first);
    }
}

/* Checks our own account of the device, on which the judging rests. */
static void check_models(const struct run *run)
{
    for (uint32_t host = 0; host < run_setup(run)->host_count; host++) {
        CHECK(model_invariants_hold(run_model(run, (uint8_t)host)));
    }
}

void play_input(const char *fuzz_target, const uint8_t *bytes, size_t length, bool slips_faults)
{
    static struct input input;
    static struct op_player *player;
    if (player == NULL) {
        input_init(&input);
        player = player_create(subject());
        if (regrets_forbidden() == 0) {
            player_judge_promises_only(player);
        }
    }
    input_decode(bytes, length, &input);
    if (!slips_faults) {
        input.faults.kinds = 0;
    } else if (input.faults.kinds == 0) {
        input.faults.kinds = FAULTING_ALL;
    }
    struct verdict verdict;
    const struct run *run = player_play(player, &input, NULL, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct play_finding){fuzz_target, subject(), subject_name(), run_setup(run),
                                           run_ops(run), &verdict});
    }
    if (run == NULL) {
        return;
    }
    check_models(run);
    check_regrets(fuzz_target, run);
    if (is_sampled(bytes, length)) {
        check_again(fuzz_target, run);
    }
}

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

struct play_search {
    uint32_t kinds;
    /* how many requests were, up to the first in one of the kinds; 0 = none is */
    uint64_t regretted;
};

static void look_at_run(void *context, const struct run *run, const struct verdict *verdict)
{
    struct play_search *search = context;
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
    struct play_search search = {.kinds = kinds};
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
