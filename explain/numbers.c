/* The numbers of the moment that is explained: what is lost to fragmentation, the largest request,
 * the smallest device that would have done, the point of no return; with --timeline over time. */
#include "diagnosis/no_return.h"
#include "explain/private/explanation.h"
#include "measure/fixed_places.h"
#include "measure/least.h"
#include "measure/needs.h"
#include "targets/plugin.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* A list is run on up to 16 other capacities when its ops times the blocks that live at once are no
 * more than this: about 0.2 s a run.  On a device that is nearly full, each op may move all blocks
 * where blocks move. */
#define MEASURED_WORK_MAX UINT64_C(20000000)
#define MEASURED_MOVING_WORK_MAX UINT64_C(2000000)
enum { INDENT = 4 };

/* What all forms print. */
struct numbers {
    const struct headroom *headroom;
    struct needs needs;
    bool is_bound;               /* packed: where nothing may move, more may be needed */
    struct fixed_places planned; /* where packed is a bound; bytes 0: there is no plan */
    char not_planned[96];        /* why there is none */
    struct smallest least;
    char not_tried[96]; /* why least is not known; "" = it was looked for */
    bool has_no_return;
    struct no_return no_return;
};

static bool is_oom(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_PREMATURE ||
           verdict->kind == VERDICT_UNKNOWN || verdict->kind == VERDICT_DISPUTED;
}

/* --- the smallest device --- */

static bool has_kind(const struct op_list *ops, enum op_kind kind)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Why running the list elsewhere says nothing, or is too dear; "" = it is to be tried. */
static void say_why_not(const struct explanation *explanation, const struct op_list *ops,
                        uint64_t block_count, char why[96])
{
    const struct setup *setup = run_setup(explanation->run);
    const uint64_t work_max = explanation->contract->defrag == DEFRAG_NONE
                                  ? MEASURED_WORK_MAX
                                  : MEASURED_MOVING_WORK_MAX;
    why[0] = '\0';
    if (explanation->history->has_lanes) {
        snprintf(why, 96, "the list has lanes");
    } else if (setup_filler_tag(setup) < OP_TAG_COUNT) {
        snprintf(why, 96, "the file shows one moment, not how it came about");
    } else if (plugin_is_named(setup->target)) {
        snprintf(why, 96, "the target is a plug-in: hbmstress compare measures it");
    } else if (has_kind(ops, OP_FAULT) || has_kind(ops, OP_RETIRE)) {
        snprintf(why, 96, "part of the device fails in this list");
    } else if ((__uint128_t)ops->count * block_count > work_max) {
        snprintf(why, 96, "%zu ops with up to %" PRIu64 " blocks would take too long", ops->count,
                 block_count);
    }
}

/* The most that one of the hosts needs: no device of the job may be smaller. */
static uint64_t find_need(const struct explanation *explanation, const struct op_list *ops)
{
    const struct setup *setup = run_setup(explanation->run);
    uint64_t most = 1;
    for (uint32_t host = 0; host < setup->host_count; host++) {
        const uint64_t bytes = needs_find(ops, ops->count, host, explanation->contract,
                                          setup_filler_tag(setup))
                                   .packed.bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void run_elsewhere(const struct explanation *explanation, const struct op_list *ops,
                          uint64_t from_bytes, uint64_t served_bytes, struct numbers *numbers)
{
    say_why_not(explanation, ops, numbers->needs.block_count_max, numbers->not_tried);
    if (numbers->not_tried[0] != '\0') {
        return;
    }
    numbers->least = least_capacity_find(
        explanation->recording->target, run_setup(explanation->run), ops, from_bytes, served_bytes);
    if (numbers->least.bytes == 0) {
        snprintf(numbers->not_tried, sizeof numbers->not_tried,
                 "%u devices of up to 8 times that did not do", numbers->least.try_count);
    }
}

/* How small the device could be if each block had one place for life, chosen with the list at hand.
 */
static void plan_places(const struct explanation *explanation, const struct op_list *ops,
                        struct numbers *numbers)
{
    static const char *const reasons[] = {
        [LIVES_EVICTED] = "programs may be evicted",
        [LIVES_TOO_LARGE] = "the requests are too large to add up"};
    const char *reason = NULL;
    struct lives lives;
    const enum lives_result result = lives_take(
        ops, ops->count, explanation->moment.host, explanation->contract,
        setup_filler_tag(run_setup(explanation->run)), &lives);
    if (result != LIVES_OK) {
        reason = reasons[result];
    } else {
        fixed_places_find(&lives, numbers->needs.packed.bytes, FIXED_PLACES_WORK,
                          &numbers->planned);
        reason = numbers->planned.bytes == 0 ? "it would take too long" : "";
    }
    snprintf(numbers->not_planned, sizeof numbers->not_planned, "%s", reason);
    lives_deinit(&lives);
}

/* Of the ops up to the failure, or of all of them.  Where nothing failed, the device that there is
 * does. */
static void measure_least(const struct explanation *explanation, struct numbers *numbers)
{
    const struct target_contract *contract = explanation->contract;
    const struct op_list *ops = run_ops(explanation->run);
    const uint64_t capacity_bytes = numbers->headroom->capacity_bytes;
    const bool is_served = explanation->verdict->kind == VERDICT_NONE &&
                           run_totals(explanation->run)->ooms == 0;
    numbers->needs = needs_find(ops, ops->count, explanation->moment.host, contract,
                                setup_filler_tag(run_setup(explanation->run)));
    numbers->is_bound = contract->placement != PLACEMENT_PAGES &&
                        (contract->defrag != DEFRAG_REPACK || !explain_may_move(explanation));
    if (contract->placement != PLACEMENT_PAGES) {
        plan_places(explanation, ops, numbers);
    }
    const uint64_t from_bytes = find_need(explanation, ops);
    if (is_served && from_bytes >= capacity_bytes) {
        numbers->least.bytes = capacity_bytes;
        return;
    }
    run_elsewhere(explanation, ops, from_bytes, is_served ? capacity_bytes : 0, numbers);
}

static void take_numbers(const struct explanation *explanation, struct numbers *numbers)
{
    *numbers = (struct numbers){.headroom = &explanation->moment.headroom};
    measure_least(explanation, numbers);
    if (is_oom(explanation->verdict) && explanation->op != NULL &&
        explanation->recording->view == IMPORT_EVENTS) {
        numbers->has_no_return = true;
        no_return_find(explanation->run, explanation->verdict, &numbers->no_return);
    }
}

/* --- what is told of them --- */

/* "op 12, step 3", within a call. */
struct place_text {
    char text[64];
};
static struct place_text place_text_of(const struct explanation *explanation, uint32_t op)
{
    struct place_text place;
    snprintf(place.text, sizeof place.text, "op %" PRIu32 "%s", op,
             explain_step(explanation->steps, op, ", ").text);
    return place;
}

static void add_headroom(struct facts *facts, const struct headroom *headroom)
{
    facts_size(facts, "capacity_bytes", headroom->capacity_bytes);
    facts_size(facts, "in_use_bytes", headroom->in_use_bytes);
    facts_size(facts, "stack_bytes", headroom->stack_bytes);
    facts_size(facts, "free_bytes", headroom->free_bytes);
    if (!headroom->is_hidden) {
        facts_size(facts, "largest_hole_bytes", headroom->largest_hole_bytes);
        facts_size(facts, "lost_bytes", headroom->lost_bytes);
        facts_share(facts, "lost_share", headroom->lost_bytes, headroom->free_bytes);
    }
    facts_size(facts, "largest_request_bytes", headroom->largest.bytes);
    if (!headroom->largest.is_exact) {
        facts_boolean(facts, "largest_request_at_least", true);
    }
}

static void say_headroom(struct facts *facts, const struct headroom *headroom)
{
    const struct oracle_largest *largest = &headroom->largest;
    if (headroom->is_hidden) {
        facts_answer(facts, "  Lost to fragmentation: not known, as no block's place is");
    } else if (headroom->free_bytes == 0) {
        facts_answer(facts, "  Lost to fragmentation: nothing, as no memory is free");
    } else {
        facts_answer(facts,
                     "  Lost to fragmentation: %s of the %s free (%" PRIu64
                     " %%) lie outside the largest hole",
                     size_text_of(headroom->lost_bytes).text,
                     size_text_of(headroom->free_bytes).text,
                     share_of(headroom->lost_bytes, headroom->free_bytes, 100));
    }
    if (largest->bytes == 0) {
        facts_answer(facts, "  Requests succeed:      %s",
                     largest->is_exact ? "none, however small" : "not found within the budget");
    } else {
        facts_answer(facts, "  Requests succeed:      up to %s%s%s",
                     largest->is_exact ? "" : "at least ", size_text_of(largest->bytes).text,
                     largest->is_exact ? "; larger ones fit nowhere" : "");
    }
}

/* Whether as little as the bound is known to do, though nothing moves. */
static bool is_met(const struct numbers *numbers)
{
    return numbers->planned.bytes != 0 && numbers->planned.is_least;
}

static void tell_planned(struct facts *facts, const struct numbers *numbers)
{
    static const char words[] = "planned knowing the future, one place for each block";
    const uint64_t bytes = numbers->planned.bytes;
    if (bytes != 0) {
        facts_size(facts, "planned_capacity_bytes", bytes);
        facts_boolean(facts, "planned_capacity_is_least", numbers->planned.is_least);
    } else {
        facts_text_if(facts, "planned_capacity_not_known", numbers->not_planned);
    }
    if (bytes != 0 && !is_met(numbers)) {
        facts_answer(facts, "    %-10s %s: enough, %s above that", size_text_of(bytes).text, words,
                     size_text_of(bytes - numbers->needs.packed.bytes).text);
    } else if (bytes == 0 && numbers->not_planned[0] != '\0') {
        facts_answer(facts, "    %-10s %s: not known: %s", "?", words, numbers->not_planned);
    }
}

static void tell_least(struct explanation *explanation, const struct numbers *numbers)
{
    struct facts *facts = &explanation->facts;
    const bool is_other = explanation->contract->defrag != DEFRAG_NONE &&
                          !explain_may_move(explanation);
    const char *who = is_other ? "with an allocator that moves blocks" : "with this allocator";
    const struct smallest *least = &numbers->least;
    char runs[64] = "", device[64] = "";
    if (numbers->not_tried[0] != '\0') {
        facts_text(facts, "least_capacity_not_tried", numbers->not_tried);
        facts_answer(facts, "    %-10s %s: not tried: %s", "?", who, numbers->not_tried);
        return;
    }
    facts_size(facts, "least_capacity_bytes", least->bytes);
    facts_count(facts, "least_capacity_runs", least->try_count);
    if (least->try_count > 0) {
        snprintf(runs, sizeof runs, ", as %u more run%s of the list show%s", least->try_count,
                 plural(least->try_count, "", "s"), plural(least->try_count, "s", ""));
    }
    if (!explain_capacity_is_assumed(explanation)) {
        snprintf(device, sizeof device, " (the device has %s)",
                 size_text_of(numbers->headroom->capacity_bytes).text);
    }
    facts_answer(facts, "    %-10s %s%s%s", size_text_of(least->bytes).text, who, runs, device);
}

static void say_no_return(struct explanation *explanation, const struct no_return *no_return)
{
    static const char lead[] = "Point of no return:   ";
    struct facts *facts = &explanation->facts;
    const struct size_text request = size_text_of(no_return->request_bytes);
    const struct size_text capacity = size_text_of(no_return->capacity_bytes);
    if (no_return->kind == NO_RETURN_OP) {
        facts_say(facts, "  ", INDENT,
                  "%s %s. From then on %s that are never freed before the failure, and the request "
                  "(%s), are more than %s, wherever they lie.",
                  lead, place_text_of(explanation, no_return->op).text,
                  size_text_of(no_return->kept_by_op).text, request.text, capacity.text);
    } else if (no_return->kind == NO_RETURN_START) {
        facts_say(facts, "  ", INDENT, "%s from the start. The request alone (%s) is more than %s.",
                  lead, request.text, capacity.text);
    } else {
        facts_say(facts, "  ", INDENT,
                  "%s never. What is kept (%s) and the request (%s) fit in %s to the end, once "
                  "queued frees are done and memory lies together.",
                  lead, size_text_of(no_return->kept_bytes).text, request.text, capacity.text);
    }
}

static void tell_no_return(struct explanation *explanation, const struct no_return *no_return)
{
    static const char *const names[] = {
        [NO_RETURN_NONE] = "never", [NO_RETURN_START] = "start", [NO_RETURN_OP] = "op"};
    struct facts *facts = &explanation->facts;
    facts_nest(facts, "no_return", '{');
    facts_text(facts, "kind", names[no_return->kind]);
    if (no_return->kind == NO_RETURN_OP) {
        explain_add_op(facts, explanation->steps, no_return->op);
        facts_size(facts, "kept_by_op_bytes", no_return->kept_by_op);
    }
    facts_size(facts, "kept_bytes", no_return->kept_bytes);
    facts_size(facts, "request_bytes", no_return->request_bytes);
    facts_unnest(facts, '}');
    say_no_return(explanation, no_return);
}

static void tell_numbers(struct explanation *explanation, const struct numbers *numbers)
{
    struct facts *facts = &explanation->facts;
    const struct needs *needs = &numbers->needs;
    const uint32_t op = explanation->moment.op;
    const char *at = explanation->verdict->kind == VERDICT_NONE ? "peak" : "failure";
    facts_open(facts, "numbers");
    facts_text(facts, "at", at);
    explain_add_op(facts, explanation->steps, op);
    facts_count(facts, "host", explanation->moment.host);
    add_headroom(facts, numbers->headroom);
    facts_heading(facts, "The numbers, at the %s: %s", at, place_text_of(explanation, op).text);
    if (explain_capacity_is_assumed(explanation)) {
        facts_answer(facts, "  What is free is not known, as the capacity is not in the file: "
                            "--capacity SIZE");
    } else {
        say_headroom(facts, numbers->headroom);
    }
    facts_answer(facts, "  The smallest device that would have done:");
    facts_size(facts, "asked_peak_bytes", needs->asked.bytes);
    facts_answer(facts, "    %-10s as the requests ask (%s)", size_text_of(needs->asked.bytes).text,
                 place_text_of(explanation, needs->asked.op).text);
    facts_size(facts, "packed_peak_bytes", needs->packed.bytes);
    facts_boolean(facts, "packed_peak_at_least", numbers->is_bound);
    facts_answer(facts, "    %-10s packed without gaps%s", size_text_of(needs->packed.bytes).text,
                 is_met(numbers)
                     ? ": a plan that knows the future fits in it, one place for each block"
                 : numbers->is_bound ? ": at least, as not everything may move"
                                     : "");
    tell_planned(facts, numbers);
    tell_least(explanation, numbers);
    if (numbers->has_no_return) {
        tell_no_return(explanation, &numbers->no_return);
    }
    facts_close(facts);
}

/* --- over time --- */

static void tell_row(struct explanation *explanation, const struct moment_row *row)
{
    struct facts *facts = &explanation->facts;
    const struct headroom *headroom = &row->headroom;
    uint64_t step;
    facts_open(facts, "numbers_at");
    explain_add_op(facts, explanation->steps, row->op);
    facts_count(facts, "host", explanation->moment.host);
    add_headroom(facts, headroom);
    if (step_axis_number(explanation->steps, row->op, &step)) {
        facts_cell_count(facts, "step", step);
    }
    facts_cell_size(facts, "used", headroom->in_use_bytes + headroom->stack_bytes);
    facts_cell_size(facts, "hole", headroom->largest_hole_bytes);
    facts_cell_size(facts, "lost", headroom->lost_bytes);
    facts_close(facts);
}

static void tell_timeline(struct explanation *explanation)
{
    static const struct facts_column columns[] = {{"op", "#op"},
                                                  {"step", "#step"},
                                                  {"used", "#in use"},
                                                  {"free_bytes", "#free"},
                                                  {"hole", "#largest hole"},
                                                  {"lost", "#lost"},
                                                  {"largest_request_bytes", "#largest request"}};
    enum { COLUMN_COUNT = sizeof columns / sizeof *columns };
    static_assert(sizeof columns == sizeof explanation->row_columns, "each column is copied");
    struct facts *facts = &explanation->facts;
    const bool has_steps = explanation->steps->count > 0;
    memcpy(explanation->row_columns, columns, sizeof columns);
    if (!has_steps) {
        explanation->row_columns[1].title = "";
    }
    facts_heading(facts, "Over time, each %s when it was fullest",
                  has_steps ? "step, or row of steps," : "part of the list");
    facts_table_in(facts, 2, explanation->row_columns, COLUMN_COUNT);
    for (size_t i = 0; i < explanation->row_count; i++) {
        tell_row(explanation, &explanation->rows[i]);
    }
    facts_table_end(facts);
}

void explain_numbers(struct explanation *explanation)
{
    struct numbers numbers;
    if (!explanation->moment.is_taken || explanation->verdict->kind == VERDICT_BROKEN ||
        explanation->recording->view == IMPORT_SUMS) {
        return;
    }
    take_numbers(explanation, &numbers);
    tell_numbers(explanation, &numbers);
    fixed_places_deinit(&numbers.planned);
    if (explanation->row_count > 0 && explanation->moment.host == explanation->host) {
        tell_timeline(explanation);
    }
}
