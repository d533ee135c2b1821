#include "harness/lanes/lanes_search.h"

#include "explore/order.h"
#include "explore/strategies/strategies.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/run/trial.h"

#include <stdlib.h>
#include <string.h>

struct searching {
    const struct lanes_search *search;
    const struct run_listener *listener;
    struct lanes *lanes;
    struct lanes_plan plan;
    struct trial *trial; /* of all runs */
    struct lanes_found *found;
    char *reason;
    void *state; /* of search->strategy */
};

/* --- the strategy that decides, with somebody who looks on --- */

static void watched_begin(void *state, uint64_t run)
{
    const struct searching *searching = state;
    const struct lanes_witness *witness = searching->search->witness;
    witness->begins(witness->context, searching->plan.setup, searching->plan.ops);
    searching->search->strategy->begin(searching->state, run);
}

/* Completions are told even where they are the default: see strategy_replay_set().
 */
static struct decision watched_choose(void *state, const struct choice *choice)
{
    const struct searching *searching = state;
    const struct lanes_witness *witness = searching->search->witness;
    const struct decision otherwise = decision_default(choice);
    const struct decision decision = searching->search->strategy->choose(searching->state, choice);
    if (decision.completes || !decision_equal(&decision, &otherwise)) {
        const struct schedule_switch taken = {.lane = choice->at.lane,
                                              .op = choice->at.op,
                                              .number = choice->at.number,
                                              .completes = decision.completes,
                                              .to = decision.lane,
                                              .event = decision.event};
        witness->decided(witness->context, &taken);
    }
    return decision;
}

/* The strategy that lanes_run() calls. */
static const struct strategy_kind strategy_watched = {
    .name = "watched",
    .summary = "Forwards the decisions of another strategy, and reports them.",
    .state_bytes = sizeof(struct searching),
    .begin = watched_begin,
    .choose = watched_choose,
};

/* --- the search --- */

static void begin_search(struct searching *searching)
{
    const struct lanes_search *search = searching->search;
    if (search->is_free_running) {
        return;
    }
    searching->state = array_zeroed(1, search->strategy->state_bytes + 1);
    search->strategy->init(searching->state, search->seed, search->argument);
    searching->lanes = lanes_create(search->backend);
    CHECK(searching->lanes != NULL);
    searching->plan.strategy = search->witness == NULL ? search->strategy : &strategy_watched;
    searching->plan.state = search->witness == NULL ? searching->state : searching;
    searching->plan.order = search->checks_order ? order_create() : NULL;
}

/* Asks the strategy what it knows at the end. */
static void ask_strategy(struct searching *searching)
{
    struct lanes_found *found = searching->found;
    struct strategy_bound bound;
    if (searching->search->strategy == &strategy_exhaustive) {
        struct exhaustive_count count;
        strategy_exhaustive_count(searching->state, &count);
        found->interleavings = count.interleavings;
        found->pruned = count.pruned;
        found->bound = count.bound;
        found->is_complete = count.is_complete;
        found->diverged = strategy_exhaustive_diverged(searching->state);
    } else if (searching->search->strategy == &strategy_pct &&
               strategy_pct_bound(searching->state, &bound)) {
        found->probability = bound.probability;
        CHECK(found->probability <= 1);
        found->pct_participants = bound.n;
        found->pct_decisions = bound.k;
        found->pct_depth = bound.depth;
    }
}

static void end_search(struct searching *searching)
{
    if (searching->search->is_free_running) {
        return;
    }
    CHECK(searching->state != NULL);
    CHECK(searching->lanes != NULL);
    ask_strategy(searching);
    if (searching->search->strategy->deinit != NULL) {
        searching->search->strategy->deinit(searching->state);
    }
    free(searching->state);
    lanes_destroy(searching->lanes);
    if (searching->plan.order != NULL) {
        order_destroy(searching->plan.order);
    }
}

/* One schedule; false: the target was not run.  *has_more: the strategy has another one. */
static bool run_schedule(struct searching *searching, struct trial *one, bool *has_more)
{
    CHECK(searching->lanes != NULL);
    CHECK(searching->plan.strategy != NULL);
    struct lanes_found *found = searching->found;
    struct scheduler_report report;
    searching->plan.run = found->schedule_count;
    searching->plan.is_again = found->schedule_count > 0;
    if (!lanes_run(searching->lanes, &searching->plan, searching->listener, one, &report,
                   searching->reason)) {
        return false;
    }
    found->schedule_count++;
    found->point_count += report.step_count;
    found->switch_count += report.switch_count;
    CHECK(found->schedule_count > 0);
    CHECK(found->point_count >= report.step_count);
    *has_more = searching->search->strategy->end(searching->state, &report.summary);
    return true;
}

/* Runs in the same way where nobody decides. */
static bool run_freely(struct searching *searching, struct trial *one)
{
    CHECK(searching->search->is_free_running);
    struct lanes_free_found more;
    struct lanes_free_found *all = &searching->found->free_running;
    const uint64_t seed = random_derive(searching->search->seed, searching->found->schedule_count);
    if (!lanes_run_free(&searching->plan, seed, searching->listener, one, &more,
                        searching->reason)) {
        return false;
    }
    searching->found->schedule_count++;
    CHECK(more.overlapping_count <= more.call_count);
    all->call_count += more.call_count;
    all->overlapping_count += more.overlapping_count;
    all->longest_count = more.longest_count > all->longest_count ? more.longest_count
                                                                 : all->longest_count;
    return true;
}

/* True if what the run found ends the search. */
static bool is_last_run(const struct lanes_search *search, const struct trial *one)
{
    if (search->signature != NULL && run_findings_find(&one->findings, search->signature) != NULL) {
        return true;
    }
    return search->goes_on ? trial_is_ended(one) : one->first.kind != VERDICT_NONE;
}

/* Takes in what one run more found. */
static void take_run(struct searching *searching, const struct trial *one,
                     const struct lanes_found *before)
{
    const struct lanes_found *found = searching->found;
    struct trial *trial = searching->trial;
    CHECK(found->schedule_count == before->schedule_count + 1);
    run_totals_add(&trial->totals, &one->totals);
    trial->totals.schedules++;
    CHECK(trial->totals.schedules == found->schedule_count);
    trial->totals.points += found->point_count - before->point_count;
    trial->totals.switches += found->switch_count - before->switch_count;
    trial_take_findings(trial, one);
    trial->digest ^= one->digest * (found->schedule_count | 1);
    if (one->totals.not_modelled > 0) {
        memcpy(trial->why_not_modelled, one->why_not_modelled, sizeof trial->why_not_modelled);
    }
    if (!searching->plan.is_again || one->first.kind != VERDICT_NONE) {
        trial->setup = one->setup;
    }
}

/* One run; false: it is the last. */
static bool run_once(struct searching *searching, bool *was_run)
{
    struct trial *one = array_resized(NULL, sizeof *one); /* large for a stack */
    bool has_more = true;
    const struct lanes_found before = *searching->found;
    *was_run = searching->search->is_free_running ? run_freely(searching, one)
                                                  : run_schedule(searching, one, &has_more);
    if (*was_run) {
        take_run(searching, one, &before);
        has_more = has_more && !is_last_run(searching->search, one) &&
                   one->totals.not_modelled == 0;
    }
    trial_deinit(one);
    free(one);
    return *was_run && has_more;
}

bool lanes_search(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct lanes_search *search, const struct run_listener *listener,
                  struct trial *trial, struct lanes_found *found, char reason[RUN_REASON_BYTES])
{
    const uint64_t count_max = search->schedule_count_max;
    struct searching searching = {.search = search,
                                  .listener = listener,
                                  .plan = {.target = target, .setup = setup, .ops = ops},
                                  .trial = trial,
                                  .found = found,
                                  .reason = reason};
    bool was_run = true;
    memset(trial, 0, sizeof *trial);
    *found = (struct lanes_found){0};
    op_list_init(&trial->ops);
    op_list_copy(&trial->ops, ops);
    op_list_copy(&trial->searched, ops);
    begin_search(&searching);
    while ((count_max == 0 || found->schedule_count < count_max) &&
           run_once(&searching, &was_run)) {
    }
    trial_lead(trial);
    CHECK(trial->totals.schedules == found->schedule_count);
    CHECK(count_max == 0 || found->schedule_count <= count_max);
    end_search(&searching);
    return was_run;
}
