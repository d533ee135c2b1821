/* Depth-first search over the decisions of a run, by running it again and again; sleep sets keep
 * equivalent runs away (Godefroid: Partial-Order Methods for the Verification of Concurrent
 * Systems, LNCS 1032, 1996, chapter 5).
 *
 * What it asks of the choices.  A step without a decision was the only thing that could happen.  A
 * lane that can go on, or an event that can complete, still can after a step that is independent of
 * it.  Code that goes on without decisions while others could follows a step that may touch
 * anything (footprint 0), and so does a lane that gives way.
 *
 * What depends on what.  Two steps of lanes: when either may touch anything, or both touch one
 * object and one writes. A completion: with each step of a lane, with no other completion.  A
 * time-out: with everything.
 *
 * Under a bound, an equivalent run may take more preemptions, so that not to try an option because
 * an equivalent run is tried elsewhere would lose what elsewhere is beyond the bound.  Hence an
 * option sleeps only when its subtree was explored whole: nothing in it was left out because of the
 * bound, and no run in it was cut.  Within the bound no interleaving is lost up to equivalence, and
 * equivalent ones may be run more than once. */
#include "explore/private/check.h"
#include "explore/strategies/strategies.h"

#include <assert.h>
#include <stdlib.h>

enum { OPTION_COUNT_MAX = LANE_COUNT_MAX + EVENT_COUNT_MAX };
static_assert(OPTION_COUNT_MAX <= 64, "a bit per option");

struct explored_option {
    struct decision decision;
    struct footprint footprint; /* of a lane's step; 0 for a time-out */
};

/* One decision of the current run.  Masks have a bit per option. */
struct node {
    struct point at;
    uint64_t step_count;
    size_t option_first; /* into options */
    uint32_t option_count, current;
    uint64_t asleep; /* explored elsewhere */
    uint64_t left;   /* to be tried */
    uint64_t whole;  /* tried, and nothing below was left out */
    uint64_t costly; /* a preemption each */
    uint32_t spent;  /* preemptions before this decision */
    bool leaves_out; /* below options that were tried, or of the options themselves */
    bool current_leaves_out;
};

struct exhaustive {
    uint32_t bound; /* 0 = none */
    struct node *nodes;
    size_t node_count, node_room;
    struct explored_option *options; /* of all nodes, one node after the other */
    size_t option_count, option_room;
    size_t depth;      /* decisions of this run before the next */
    bool is_redundant; /* this run is equivalent to one that was tried */
    bool is_cut;       /* a run was */
    bool has_diverged, is_complete;
    uint64_t interleavings, pruned;
};

static void exhaustive_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)seed;
    const uint32_t bound = argument < UINT32_MAX ? (uint32_t)argument : UINT32_MAX;
    *(struct exhaustive *)state = (struct exhaustive){.bound = bound};
}

static void exhaustive_deinit(void *state)
{
    struct exhaustive *search = state;
    free(search->nodes);
    free(search->options);
}

static void exhaustive_begin(void *state, uint64_t run)
{
    (void)run;
    struct exhaustive *search = state;
    search->depth = 0;
    search->is_redundant = false;
}

/* items has room for count more of item_bytes each; *room grows to twice what is needed, so that it
 * seldom does. */
static void *make_node_room(void *items, size_t *room, size_t count, size_t item_bytes)
{
    if (count <= *room) {
        return items;
    }
    *room = 2 * count;
    void *moved = realloc(items, *room * item_bytes);
    EXPLORE_CHECK(moved != NULL);
    return moved;
}

/* --- options --- */

static bool is_option_equal(const struct explored_option *a, const struct explored_option *b)
{
    return decision_equal(&a->decision, &b->decision) &&
           a->footprint.object == b->footprint.object &&
           a->footprint.reads_only == b->footprint.reads_only;
}

static bool is_option_independent(const struct explored_option *a, const struct explored_option *b)
{
    if (a->decision.completes || b->decision.completes) {
        return a->decision.completes && b->decision.completes;
    }
    if (a->footprint.object == 0 || b->footprint.object == 0) {
        return false;
    }
    return a->footprint.object != b->footprint.object ||
           (a->footprint.reads_only && b->footprint.reads_only);
}

/* Behind those of all nodes; returns how many.  Time-outs only when there is nothing else. */
static uint32_t add_option(struct exhaustive *search, const struct choice *choice)
{
    EXPLORE_CHECK(choice->event_count <= EVENT_COUNT_MAX);
    const size_t room = search->option_count + OPTION_COUNT_MAX;
    search->options = make_node_room(search->options, &search->option_room, room,
                                     sizeof *search->options);
    struct explored_option *options = &search->options[search->option_count];
    uint32_t count = 0;
    for (uint64_t lanes = choice->lanes; lanes != 0; lanes &= lanes - 1) {
        const uint8_t lane = (uint8_t)__builtin_ctzll(lanes);
        options[count++] = (struct explored_option){.decision.lane = lane,
                                                    .footprint = choice->next[lane]};
    }
    for (uint32_t i = 0; i < choice->event_count; i++) {
        options[count++] = (struct explored_option){
            .decision = {.completes = true, .event = choice->events[i]}};
    }
    if (count > 0) {
        return count;
    }
    for (uint64_t sleepers = choice->sleepers; sleepers != 0; sleepers &= sleepers - 1) {
        options[count++] = (struct explored_option){
            .decision.lane = (uint8_t)__builtin_ctzll(sleepers)};
    }
    EXPLORE_CHECK(count > 0);
    return count;
}

/* --- nodes --- */

static bool is_point_equal(const struct point *a, const struct point *b)
{
    return a->lane == b->lane && a->kind == b->kind && a->op == b->op && a->number == b->number;
}

static const struct explored_option *get_option(const struct exhaustive *search,
                                                const struct node *node, uint32_t i)
{
    return &search->options[node->option_first + i];
}

/* The option of the node that is the same as this one; option_count: there is none. */
static uint32_t find_node(const struct exhaustive *search, const struct node *node,
                          const struct explored_option *option)
{
    uint32_t i = 0;
    while (i < node->option_count && !is_option_equal(get_option(search, node, i), option)) {
        i++;
    }
    return i;
}

static uint64_t find_costly_lanes(const struct exhaustive *search, const struct node *node,
                                  const struct choice *choice)
{
    const bool could_go_on = (choice->lanes >> choice->at.lane & 1) != 0;
    uint64_t costly = 0;
    for (uint32_t i = 0; i < node->option_count; i++) {
        const struct decision *decision = &get_option(search, node, i)->decision;
        const bool is_other = decision->completes || decision->lane != choice->at.lane;
        if ((could_go_on && is_other) || (decision->completes && choice->lanes != 0)) {
            costly |= UINT64_C(1) << i;
        }
    }
    return costly;
}

/* Returns what still sleeps once the current option was taken: what slept or was explored whole,
 * and is independent of it. */
static uint64_t find_sleeping_options(const struct exhaustive *search, const struct node *node)
{
    uint64_t sleepers = 0;
    for (uint64_t rest = node->asleep | node->whole; rest != 0; rest &= rest - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(rest);
        if (is_option_independent(get_option(search, node, i),
                                  get_option(search, node, node->current))) {
            sleepers |= UINT64_C(1) << i;
        }
    }
    return sleepers;
}

/* Returns what sleeps at the node that follows parent.  A step without a decision was the only
 * thing that could happen, and what slept still could: so it was the one that slept, and the whole
 * run is redundant.  When that is not borne out, nothing sleeps: that never loses a run. */
static uint64_t inherit_sleepers(struct exhaustive *search, const struct node *parent,
                                 const struct node *node)
{
    const uint64_t sleepers = find_sleeping_options(search, parent);
    const bool was_left_behind = node->step_count != parent->step_count + 1;
    uint64_t asleep = 0;
    for (uint64_t rest = sleepers; rest != 0; rest &= rest - 1) {
        const struct explored_option *option = get_option(search, parent,
                                                          (uint32_t)__builtin_ctzll(rest));
        const uint32_t found = find_node(search, node, option);
        const bool has_gone_on = !option->decision.completes &&
                                 option->decision.lane == node->at.lane;
        if (!was_left_behind && found < node->option_count) {
            asleep |= UINT64_C(1) << found;
        } else if (was_left_behind && (sleepers & (sleepers - 1)) == 0) {
            search->is_redundant = found == node->option_count || has_gone_on;
        }
    }
    return asleep;
}

/* The default comes first, so that the first run is the one that nobody disturbs. */
static void take_first_option(struct exhaustive *search, struct node *node,
                              const struct choice *choice)
{
    const struct decision first = decision_default(choice);
    node->current = (uint32_t)__builtin_ctzll(node->left);
    for (uint32_t i = 0; i < node->option_count; i++) {
        const struct decision *decision = &get_option(search, node, i)->decision;
        if ((node->left >> i & 1) != 0 && decision_equal(decision, &first)) {
            node->current = i;
        }
    }
    node->left &= ~(UINT64_C(1) << node->current);
}

static bool is_bound_reached(const struct exhaustive *search, uint32_t spent)
{
    return search->bound != 0 && spent >= search->bound;
}

static void fill_node(struct exhaustive *search, struct node *node, struct node *parent)
{
    const uint64_t all = ~UINT64_C(0) >> (64 - node->option_count);
    if (parent != NULL) {
        node->asleep = inherit_sleepers(search, parent, node);
        node->spent = parent->spent + (uint32_t)(parent->costly >> parent->current & 1);
    }
    const uint64_t beyond = is_bound_reached(search, node->spent) ? node->costly : 0;
    node->left = all & ~node->asleep & ~beyond;
    node->leaves_out = (all & ~node->asleep & beyond) != 0;
}

/* A decision that no run has met before.  False: there is nothing to try, and the run is redundant.
 */
static bool push_node(struct exhaustive *search, const struct choice *choice)
{
    const uint32_t count = add_option(search, choice);
    search->nodes = make_node_room(search->nodes, &search->node_room, search->node_count + 1,
                                   sizeof *search->nodes);
    struct node *node = &search->nodes[search->node_count];
    struct node *parent = search->node_count > 0 ? node - 1 : NULL;
    *node = (struct node){.at = choice->at,
                          .step_count = choice->step_count,
                          .option_first = search->option_count,
                          .option_count = count};
    node->costly = find_costly_lanes(search, node, choice);
    fill_node(search, node, parent);
    if (search->is_redundant) {
        return false;
    }
    if (node->left == 0) {
        EXPLORE_CHECK(parent != NULL);
        parent->current_leaves_out |= node->leaves_out;
        search->is_redundant = true;
        return false;
    }
    take_first_option(search, node, choice);
    search->node_count++;
    search->option_count += count;
    return true;
}

/* --- the search --- */

/* The choice is the one that the node was made of. */
static bool is_node_met_again(struct exhaustive *search, const struct node *node,
                              const struct choice *choice)
{
    if (add_option(search, choice) != node->option_count ||
        !is_point_equal(&node->at, &choice->at) || node->step_count != choice->step_count) {
        return false;
    }
    for (uint32_t i = 0; i < node->option_count; i++) {
        if (!is_option_equal(get_option(search, node, i),
                             &search->options[search->option_count + i])) {
            return false;
        }
    }
    return true;
}

static struct decision exhaustive_choose(void *state, const struct choice *choice)
{
    struct exhaustive *search = state;
    if (search->is_redundant || search->has_diverged) {
        return decision_default(choice);
    }
    if (search->depth < search->node_count) {
        search->has_diverged = !is_node_met_again(search, &search->nodes[search->depth], choice);
    } else if (!push_node(search, choice)) {
        return decision_default(choice);
    }
    if (search->has_diverged) {
        return decision_default(choice);
    }
    const struct node *node = &search->nodes[search->depth++];
    return get_option(search, node, node->current)->decision;
}

/* Counts the run.  An option that sleeps after the last decision could still go on, so it did: then
 * the run is equivalent to another one. */
static void exhaustive_count_run(struct exhaustive *search, bool is_cut)
{
    struct node *last = search->node_count > 0 ? &search->nodes[search->node_count - 1] : NULL;
    if (!search->is_redundant && is_cut) {
        search->is_cut = true;
        if (last != NULL) {
            last->current_leaves_out = true;
        }
    } else if (!search->is_redundant && last != NULL) {
        search->is_redundant = find_sleeping_options(search, last) != 0;
    }
    search->pruned += search->is_redundant;
    search->interleavings += !search->is_redundant;
}

/* The current option was explored; true: there is another one. */
static bool advance_node(struct node *node)
{
    if (node->current_leaves_out) {
        node->leaves_out = true;
    } else {
        node->whole |= UINT64_C(1) << node->current;
    }
    node->current_leaves_out = false;
    if (node->left == 0) {
        return false;
    }
    node->current = (uint32_t)__builtin_ctzll(node->left);
    node->left &= node->left - 1;
    return true;
}

static bool exhaustive_end(void *state, const struct run_summary *summary)
{
    struct exhaustive *search = state;
    search->has_diverged |= search->depth < search->node_count;
    if (search->has_diverged) {
        return false;
    }
    exhaustive_count_run(search, summary->is_cut);
    while (search->node_count > 0) {
        struct node *node = &search->nodes[search->node_count - 1];
        if (advance_node(node)) {
            return true;
        }
        search->option_count = node->option_first;
        search->node_count--;
        if (search->node_count > 0) {
            node[-1].current_leaves_out |= node->leaves_out;
        }
    }
    search->is_complete = !search->is_cut;
    return false;
}

void strategy_exhaustive_count(const void *state, struct exhaustive_count *count)
{
    const struct exhaustive *search = state;
    *count = (struct exhaustive_count){.interleavings = search->interleavings,
                                       .pruned = search->pruned,
                                       .is_complete = search->is_complete,
                                       .bound = search->bound};
}

bool strategy_exhaustive_diverged(const void *state)
{
    return ((const struct exhaustive *)state)->has_diverged;
}

const struct strategy_kind strategy_exhaustive = {
    .name = "exhaustive",
    .summary = "Every interleaving once, up to equivalence, within a bound on preemptions.",
    .state_bytes = sizeof(struct exhaustive),
    .init = exhaustive_init,
    .deinit = exhaustive_deinit,
    .begin = exhaustive_begin,
    .choose = exhaustive_choose,
    .end = exhaustive_end,
};
