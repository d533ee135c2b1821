/* The numbers of the moment that is explained: what is lost to fragmentation, the largest request,
 * the smallest device that would have done, the point of no return; with --timeline over time. */
#include "diagnosis/no_return.h"
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "measure/fixed_places.h"
#include "measure/needs.h"
#include "measure/smallest.h"
#include "present/screen.h"
#include "present/table.h"
#include "present/wrap.h"
#include "targets/plugin.h"

#include <inttypes.h>

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

static const char *print_size(uint64_t bytes, char text[SIZE_TEXT_BYTES])
{
    size_print_field(bytes, text);
    return text;
}

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
    struct list_lives lives;
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

/* --- in words --- */

static void append_place(const struct explanation *explanation, uint32_t op, struct writing *text)
{
    writing_append_format(text, "op %lu", (unsigned long)op);
    step_axis_append(explanation->steps, op, ", ", text);
}

static void append_lost(const struct headroom *headroom, struct writing *text)
{
    char lost[SIZE_TEXT_BYTES], whole[SIZE_TEXT_BYTES];
    if (headroom->is_hidden) {
        writing_append(text, "  Lost to fragmentation: not known, as no block's place is\n");
        return;
    }
    if (headroom->free_bytes == 0) {
        writing_append(text, "  Lost to fragmentation: nothing, as no memory is free\n");
        return;
    }
    const uint64_t percent = (uint64_t)((__uint128_t)headroom->lost_bytes * 100 /
                                        headroom->free_bytes);
    writing_append_format(text,
                          "  Lost to fragmentation: %s of the %s free (%" PRIu64
                          " %%) lie outside the largest hole\n",
                          print_size(headroom->lost_bytes, lost),
                          print_size(headroom->free_bytes, whole), percent);
}

static void append_largest(const struct headroom *headroom, struct writing *text)
{
    const struct oracle_largest *largest = &headroom->largest;
    char size[SIZE_TEXT_BYTES];
    if (largest->bytes == 0) {
        writing_append(text, largest->is_exact
                                 ? "  Requests succeed:      none, however small\n"
                                 : "  Requests succeed:      not found within the budget\n");
        return;
    }
    writing_append_format(text, "  Requests succeed:      up to %s%s%s\n",
                          largest->is_exact ? "" : "at least ", print_size(largest->bytes, size),
                          largest->is_exact ? "; larger ones fit nowhere" : "");
}

static void append_least(const struct explanation *explanation, const struct numbers *numbers,
                         struct writing *text)
{
    const bool is_other = explanation->contract->defrag != DEFRAG_NONE &&
                          !explain_may_move(explanation);
    const char *who = is_other ? "with an allocator that moves blocks" : "with this allocator";
    const struct smallest *least = &numbers->least;
    char size[SIZE_TEXT_BYTES];
    if (numbers->not_tried[0] != '\0') {
        writing_append_format(text, "    %-10s %s: not tried: %s\n", "?", who, numbers->not_tried);
        return;
    }
    writing_append_format(text, "    %-10s %s", print_size(least->bytes, size), who);
    if (least->try_count > 0) {
        writing_append_format(text, ", as %u more run%s of the list show%s", least->try_count,
                              least->try_count == 1 ? "" : "s", least->try_count == 1 ? "s" : "");
    }
    if (!explain_capacity_is_assumed(explanation)) {
        writing_append_format(text, " (the device has %s)",
                              print_size(numbers->headroom->capacity_bytes, size));
    }
    writing_append(text, "\n");
}

/* Whether as little as the bound is known to do, though nothing moves. */
static bool is_met(const struct numbers *numbers)
{
    return numbers->planned.bytes != 0 && numbers->planned.is_least;
}

static void append_planned(const struct numbers *numbers, struct writing *text)
{
    const uint64_t bytes = numbers->planned.bytes;
    char size[SIZE_TEXT_BYTES], above[SIZE_TEXT_BYTES];
    if (is_met(numbers)) {
        return;
    }
    if (bytes == 0 && numbers->not_planned[0] != '\0') {
        writing_append_format(
            text, "    %-10s planned knowing the future, one place for each block: not known: %s\n",
            "?", numbers->not_planned);
    } else if (bytes != 0) {
        writing_append_format(
            text,
            "    %-10s planned knowing the future, one place for each block: enough, %s above that\n",
            print_size(bytes, size), print_size(bytes - numbers->needs.packed.bytes, above));
    }
}

static const char *describe_packed(const struct numbers *numbers)
{
    if (is_met(numbers)) {
        return ": a plan that knows the future fits in it, one place for each block";
    }
    return numbers->is_bound ? ": at least, as not everything may move" : "";
}

static void append_capacities(const struct explanation *explanation, const struct numbers *numbers,
                              struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    writing_append(text, "  The smallest device that would have done:\n");
    writing_append_format(text, "    %-10s as the requests ask (",
                          print_size(numbers->needs.asked.bytes, size));
    append_place(explanation, numbers->needs.asked.op, text);
    writing_append_format(text, ")\n    %-10s packed without gaps%s\n",
                          print_size(numbers->needs.packed.bytes, size), describe_packed(numbers));
    append_planned(numbers, text);
    append_least(explanation, numbers, text);
}

static void append_no_return(const struct explanation *explanation, const struct numbers *numbers,
                             struct writing *text)
{
    const struct no_return *no_return = &numbers->no_return;
    char kept[SIZE_TEXT_BYTES], request[SIZE_TEXT_BYTES], capacity[SIZE_TEXT_BYTES];
    struct writing words;
    writing_init(&words);
    print_size(no_return->request_bytes, request);
    print_size(no_return->capacity_bytes, capacity);
    writing_append(&words, "Point of no return:    ");
    if (no_return->kind == NO_RETURN_OP) {
        append_place(explanation, no_return->op, &words);
        writing_append_format(
            &words,
            ". From then on %s that are never freed before the failure, and the request (%s), are more than %s, wherever they lie.",
            print_size(no_return->kept_by_op, kept), request, capacity);
    } else if (no_return->kind == NO_RETURN_START) {
        writing_append_format(&words, "from the start. The request alone (%s) is more than %s.",
                              request, capacity);
    } else {
        writing_append_format(
            &words,
            "never. What is kept (%s) and the request (%s) fit in %s to the end, once queued frees are done and memory lies together.",
            print_size(no_return->kept_bytes, kept), request, capacity);
    }
    writing_append(text, "  ");
    wrap_append(text, writing_string(&words), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&words);
}

static void say_numbers(struct explanation *explanation, const struct numbers *numbers)
{
    struct writing *text = &explanation->text;
    writing_append_format(text, "\nThe numbers, at the %s: ",
                          explanation->verdict->kind == VERDICT_NONE ? "peak" : "failure");
    append_place(explanation, explanation->moment.op, text);
    writing_append(text, "\n");
    if (explain_capacity_is_assumed(explanation)) {
        writing_append(
            text,
            "  What is free is not known, as the capacity is not in the file: --capacity SIZE\n");
    } else {
        append_lost(numbers->headroom, text);
        append_largest(numbers->headroom, text);
    }
    append_capacities(explanation, numbers, text);
    if (numbers->has_no_return) {
        append_no_return(explanation, numbers, text);
    }
}

/* --- as JSON --- */

static void add_headroom(const struct headroom *headroom, struct writing *text)
{
    json_add_number(text, "capacity_bytes", headroom->capacity_bytes);
    json_add_number(text, "in_use_bytes", headroom->in_use_bytes);
    json_add_number(text, "stack_bytes", headroom->stack_bytes);
    json_add_number(text, "free_bytes", headroom->free_bytes);
    if (!headroom->is_hidden) {
        json_add_number(text, "largest_hole_bytes", headroom->largest_hole_bytes);
        json_add_number(text, "lost_bytes", headroom->lost_bytes);
        json_add_fraction(text, "lost_share", headroom->lost_bytes, headroom->free_bytes);
    }
    json_add_number(text, "largest_request_bytes", headroom->largest.bytes);
    if (!headroom->largest.is_exact) {
        json_add_boolean(text, "largest_request_at_least", true);
    }
}

static void add_no_return(const struct explanation *explanation, const struct no_return *no_return,
                          struct writing *text)
{
    static const char *const names[] = {
        [NO_RETURN_NONE] = "never", [NO_RETURN_START] = "start", [NO_RETURN_OP] = "op"};
    json_nest(text, "no_return", '{');
    json_add_string(text, "kind", names[no_return->kind]);
    if (no_return->kind == NO_RETURN_OP) {
        json_add_number(text, "op", no_return->op);
        step_axis_add(explanation->steps, no_return->op, text);
        json_add_number(text, "kept_by_op_bytes", no_return->kept_by_op);
    }
    json_add_number(text, "kept_bytes", no_return->kept_bytes);
    json_add_number(text, "request_bytes", no_return->request_bytes);
    json_unnest(text, '}');
}

static void put_numbers(struct explanation *explanation, const struct numbers *numbers)
{
    struct writing *text = &explanation->text;
    json_open(text, "numbers");
    json_add_string(text, "at", explanation->verdict->kind == VERDICT_NONE ? "peak" : "failure");
    json_add_number(text, "op", explanation->moment.op);
    step_axis_add(explanation->steps, explanation->moment.op, text);
    json_add_number(text, "host", explanation->moment.host);
    add_headroom(numbers->headroom, text);
    json_add_number(text, "asked_peak_bytes", numbers->needs.asked.bytes);
    json_add_number(text, "packed_peak_bytes", numbers->needs.packed.bytes);
    json_add_boolean(text, "packed_peak_at_least", numbers->is_bound);
    if (numbers->planned.bytes != 0) {
        json_add_number(text, "planned_capacity_bytes", numbers->planned.bytes);
        json_add_boolean(text, "planned_capacity_is_least", numbers->planned.is_least);
    } else if (numbers->not_planned[0] != '\0') {
        json_add_string(text, "planned_capacity_not_known", numbers->not_planned);
    }
    if (numbers->not_tried[0] != '\0') {
        json_add_string(text, "least_capacity_not_tried", numbers->not_tried);
    } else {
        json_add_number(text, "least_capacity_bytes", numbers->least.bytes);
        json_add_number(text, "least_capacity_runs", numbers->least.try_count);
    }
    if (numbers->has_no_return) {
        add_no_return(explanation, &numbers->no_return, text);
    }
    json_close(text);
}

/* --- over time --- */

static void put_row(struct table *table, const struct explanation *explanation,
                    const struct moment_row *row)
{
    const struct headroom *headroom = &row->headroom;
    const uint64_t sizes[] = {headroom->in_use_bytes + headroom->stack_bytes, headroom->free_bytes,
                              headroom->largest_hole_bytes, headroom->lost_bytes,
                              headroom->largest.bytes};
    char size[SIZE_TEXT_BYTES];
    uint64_t step = 0;
    table_put_number(table, row->op);
    if (step_axis_number(explanation->steps, row->op, &step)) {
        table_put_number(table, step);
    } else if (explanation->steps->count > 0) {
        table_put(table, "");
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        table_put(table, print_size(sizes[i], size));
    }
}

static void say_timeline(struct explanation *explanation)
{
    static const char *const heads[] = {"op",           "step", "in use",         "free",
                                        "largest hole", "lost", "largest request"};
    const size_t head_count = sizeof heads / sizeof *heads;
    const bool has_steps = explanation->steps->count > 0;
    struct table table;
    table_init(&table, has_steps ? head_count : head_count - 1, 0);
    for (size_t i = 0; i < head_count; i++) {
        if (i != 1 || has_steps) {
            table_put(&table, heads[i]);
        }
    }
    for (size_t i = 0; i < explanation->row_count; i++) {
        put_row(&table, explanation, &explanation->rows[i]);
    }
    writing_append_format(&explanation->text, "\nOver time, each %s when it was fullest\n",
                          has_steps ? "step, or row of steps," : "part of the list");
    table_print(&table, 2, &explanation->text);
    table_deinit(&table);
}

static void put_timeline(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    for (size_t i = 0; i < explanation->row_count; i++) {
        const struct moment_row *row = &explanation->rows[i];
        json_open(text, "numbers_at");
        json_add_number(text, "op", row->op);
        step_axis_add(explanation->steps, row->op, text);
        json_add_number(text, "host", explanation->moment.host);
        add_headroom(&row->headroom, text);
        json_close(text);
    }
}

void explain_numbers(struct explanation *explanation)
{
    struct numbers numbers;
    if (!explanation->moment.is_taken || explanation->verdict->kind == VERDICT_BROKEN ||
        explanation->recording->view == IMPORT_SUMS) {
        return;
    }
    take_numbers(explanation, &numbers);
    const bool has_rows = explanation->row_count > 0 &&
                          explanation->moment.host == explanation->host;
    if (explanation->is_json) {
        put_numbers(explanation, &numbers);
    } else {
        say_numbers(explanation, &numbers);
    }
    fixed_places_deinit(&numbers.planned);
    if (has_rows) {
        (explanation->is_json ? put_timeline : say_timeline)(explanation);
    }
}
