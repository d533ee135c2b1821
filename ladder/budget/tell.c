/* What budget found, as facts. */
#include "harness/op/ops_file.h"
#include "ladder/budget/budget.h"
#include "present/screen.h"
#include "recording/recording.h"

#include <inttypes.h>

static const struct {
    const char *unit;
    const char *words; /* in the table; NULL: the peak of a tag */
} kinds[] = {[BUDGET_PEAK] = {"bytes", "peak"},
             [BUDGET_TAG_PEAK] = {"bytes", NULL},
             [BUDGET_GROWTH] = {"bytes_per_step", "growth per step"},
             [BUDGET_FRAGMENTATION] = {"share", "fragmentation"},
             [BUDGET_OOMS] = {"requests", "out of memory"}};

/* --- records --- */

static void add_measured(const struct budget *budget, const struct budget_row *row,
                         struct facts *facts)
{
    const bool is_share = row->limit->kind == BUDGET_FRAGMENTATION;
    const struct budget_moment *moment = budget_moment_of(budget, row);
    facts_text(facts, "unit", kinds[row->limit->kind].unit);
    if (is_share) {
        facts_share(facts, "limit_value", row->limit->most, 100);
    } else {
        facts_count(facts, "limit_value", row->limit->most);
    }
    facts_boolean(facts, "measured", row->is_measured);
    if (row->is_measured && is_share) {
        facts_share(facts, "value", row->measured, moment->free_bytes);
        facts_size(facts, "free_bytes", moment->free_bytes);
        facts_size(facts, "largest_hole_bytes", moment->largest_hole_bytes);
        facts_size(facts, "over_bytes", row->over);
    } else if (row->is_measured) {
        facts_count(facts, "value", row->measured);
        facts_count(facts, "over", row->over);
    }
}

static void add_op(const struct budget *budget, const struct budget_row *row, struct facts *facts)
{
    char op_text[OP_TEXT_BYTES], tag[SETUP_NAME_BYTES];
    uint64_t step;
    if (row->op == OP_NONE) {
        return;
    }
    const struct op *op = &budget->recording.ops.ops[row->op];
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    facts_count(facts, "op", row->op);
    if (step_axis_number(&budget->steps.axis, row->op, &step)) {
        facts_count(facts, "step", step);
        if (!budget->steps.axis.is_said) {
            facts_boolean(facts, "step_is_about", true);
        }
    }
    facts_text(facts, "op_text", op_print(op, op_text));
    if (info->makes_block || info->makes_program) {
        facts_text(facts, "op_tag", setup_tag_name(&budget->recording.setup, op->tag, tag));
    }
    if (row->line > 0) {
        facts_count(facts, "line", row->line);
    }
}

static void add_floors(const struct budget *budget, const struct budget_row *row,
                       struct facts *facts)
{
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    if (row->limit->kind == BUDGET_GROWTH && row->is_measured &&
        budget_has_floors(&budget->hosts[row->host])) {
        facts_count(facts, "first_op", floors[BUDGET_HALF_FIRST].op);
        facts_size(facts, "first_floor_bytes", floors[BUDGET_HALF_FIRST].in_use_bytes);
        facts_size(facts, "last_floor_bytes", floors[BUDGET_HALF_LAST].in_use_bytes);
        facts_count(facts, "steps_between", budget->steps.distance);
    }
}

static void tell_row(const struct budget *budget, const struct budget_row *row, struct facts *facts)
{
    char tag[SETUP_NAME_BYTES];
    struct budget_holders holders;
    struct writing words = {0};
    facts_open(facts, "budget");
    facts_text(facts, "limit", budget_limit_name(row->limit->kind));
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        facts_text(facts, "tag", setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    }
    if (row->limit->kind != BUDGET_OOMS || row->op != OP_NONE) {
        facts_count(facts, "host", row->host);
    }
    facts_boolean(facts, "exceeded", row->is_exceeded);
    add_measured(budget, row, facts);
    add_op(budget, row, facts);
    add_floors(budget, row, facts);
    budget_find_holders(budget, row, &holders);
    facts_nest(facts, row->limit->kind == BUDGET_GROWTH ? "grew" : "holders", '[');
    for (size_t i = 0; i < holders.count; i++) {
        facts_nest(facts, NULL, '{');
        facts_text(facts, "tag",
                   setup_tag_name(&budget->recording.setup, holders.items[i].tag, tag));
        facts_size(facts, "bytes", holders.items[i].bytes);
        facts_unnest(facts, '}');
    }
    facts_unnest(facts, ']');
    if (row->is_exceeded) {
        budget_describe(budget, row, &words);
        facts_text(facts, "words", writing_string(&words));
    }
    facts_close(facts);
    writing_deinit(&words);
}

static void tell_end(const struct budget *budget, const char *death, enum exit_code code,
                     struct facts *facts)
{
    const struct run_totals *totals = &budget->run.totals;
    facts_open(facts, "end");
    facts_digits(facts, "seed", budget->recording.setup.seed);
    facts_count(facts, "limits", budget->limit_count);
    if (death != NULL) {
        facts_text(facts, "died", death);
        if (budget_death_op(budget) != OP_NONE) {
            facts_count(facts, "first_op", budget_death_op(budget));
        }
    } else {
        facts_count(facts, "exceeded", budget_count_exceeded(budget));
        facts_count(facts, "ops", totals->ops + totals->skipped);
        facts_count(facts, "ooms", totals->ooms);
        facts_count(facts, "justified", totals->justified);
        facts_count(facts, "premature", totals->premature);
        facts_count(facts, "unknown", totals->unknown);
        facts_count(facts, "broken", totals->broken);
        if (budget->run.code != EXIT_KEPT) {
            facts_count(facts, "first_op", budget->run.first_op);
            facts_text(facts, "reason", budget->run.first_reason);
        }
    }
    facts_count(facts, "exit", (uint64_t)code);
    facts_close(facts);
}

/* --- the table --- */

/* That by which it is exceeded the most; where it is not, that which comes nearest. */
static const struct budget_row *find_worst_row(const struct budget *budget,
                                               const struct budget_limit *limit)
{
    const struct budget_row *worst = NULL;
    for (size_t i = 0; i < budget->row_count; i++) {
        const struct budget_row *row = &budget->rows[i];
        if (row->limit == limit &&
            (worst == NULL || row->over > worst->over ||
             (row->over == worst->over && row->measured > worst->measured))) {
            worst = row;
        }
    }
    return worst;
}

static struct size_text print_measured(const struct budget *budget, const struct budget_row *row)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    if (!row->is_measured) {
        return (struct size_text){"-"};
    }
    return row->limit->kind == BUDGET_FRAGMENTATION
               ? share_text_of(moment->lost_bytes, moment->free_bytes)
               : budget_value_text(row, row->measured);
}

static void add_table_row(const struct budget *budget, const struct budget_row *row,
                          struct facts *facts)
{
    char tag[SETUP_NAME_BYTES];
    uint64_t step;
    facts_open(facts, NULL);
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        facts_cell_format(facts, "name", "peak of %s",
                          setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    } else {
        facts_cell(facts, "name", kinds[row->limit->kind].words);
    }
    facts_cell(facts, "result",
               row->is_exceeded   ? "EXCEEDED"
               : row->is_measured ? "met"
                                  : "not reached");
    facts_cell(facts, "measured", print_measured(budget, row).text);
    facts_cell(facts, "limit", budget_limit_text(row).text);
    facts_cell(facts, "over", row->is_exceeded ? budget_value_text(row, row->over).text : "");
    if (row->op != OP_NONE) {
        facts_cell_count(facts, "host", row->host);
        facts_cell_count(facts, "op", row->op);
        if (step_axis_number(&budget->steps.axis, row->op, &step)) {
            facts_cell_count(facts, "step", step);
        }
    }
    facts_close(facts);
}

static void tell_table(const struct budget *budget, struct facts *facts)
{
    static const struct facts_column columns[] = {
        {"name", ""},       {"result", "result"}, {"measured", "#measured"},
        {"limit", "limit"}, {"over", "over"},     {"host", "host"},
        {"op", "op"},       {"step", "step"}};
    facts_table(facts, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < budget->limit_count; i++) {
        add_table_row(budget, find_worst_row(budget, &budget->limits[i]), facts);
    }
    facts_table_end(facts);
}

/* --- what is exceeded --- */

static void say_op(const struct budget *budget, uint32_t number, size_t line, struct facts *facts)
{
    char op_text[OP_TEXT_BYTES], tag[SETUP_NAME_BYTES];
    const struct op *op = &budget->recording.ops.ops[number];
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    const bool has_tag = info->makes_block || info->makes_program;
    struct writing place = {0};
    if (line > 0) {
        writing_append_format(&place, ":%zu", line);
    }
    facts_line(facts, "  %s%s: op %" PRIu32 ": %s%s%s%s", budget->options->path,
               writing_string(&place), number, op_print(op, op_text), has_tag ? " of '" : "",
               has_tag ? setup_tag_name(&budget->recording.setup, op->tag, tag) : "",
               has_tag ? "'" : "");
    writing_deinit(&place);
}

static void say_exceeded(const struct budget *budget, const struct budget_row *worst,
                         struct facts *facts)
{
    enum { INDENT = 2 };
    const char *between = "  also on host ";
    struct writing words = {0};
    budget_describe(budget, worst, &words);
    facts_line(facts, "%s", "");
    facts_say(facts, "", INDENT, "EXCEEDED %s: %s", budget_limit_name(worst->limit->kind),
              writing_string(&words));
    say_op(budget, worst->op, worst->line, facts);
    writing_clear(&words);
    for (size_t i = 0; i < budget->row_count; i++) {
        const struct budget_row *row = &budget->rows[i];
        if (row != worst && row->limit == worst->limit && row->is_exceeded) {
            writing_append_format(&words, "%s%" PRIu32, between, row->host);
            between = ", ";
        }
    }
    if (words.length > 0) {
        facts_line(facts, "%s", writing_string(&words));
    }
    writing_deinit(&words);
}

/* --- words around it --- */

static void say_head(const struct budget *budget, struct facts *facts)
{
    const struct step_axis *axis = &budget->steps.axis;
    const size_t warmup_count = budget->steps.warmup_count;
    struct writing head = {0}, steps = {0};
    writing_append_visible(&head, budget->options->path);
    writing_append(&head, " on target ");
    writing_append_visible(&head, budget->recording.setup.target);
    writing_append_format(&head, ": %zu ops", budget->recording.ops.count);
    if (axis->count > 0) {
        writing_append_format(&steps, "%zu steps%s, %zu of them warm-up%s", axis->count,
                              axis->is_said      ? ""
                              : axis->are_cycles ? " as memory rises and falls"
                                                 : " as the requests repeat",
                              warmup_count, plural(warmup_count, "", "s"));
    }
    if (steps.length > 0 &&
        text_width(writing_string(&head)) + steps.length + 2 > screen_columns()) {
        facts_line(facts, "%s,", writing_string(&head));
        facts_line(facts, "  %s", writing_string(&steps));
    } else {
        facts_line(facts, "%s%s%s", writing_string(&head), steps.length > 0 ? ", " : "",
                   writing_string(&steps));
    }
    facts_line(facts, "%s", "");
    writing_deinit(&steps);
    writing_deinit(&head);
}

/* The same list on the same target. */
static void say_next(const struct budget *budget, struct facts *facts)
{
    struct writing line = {0};
    repeat_word(&line, budget->options->path);
    repeat_option(&line, "--format", budget->options->reading.format);
    repeat_setup(&line, budget->options->reading.run);
    facts_heading(facts, "Next: hbmstress explain%s", writing_string(&line));
    writing_deinit(&line);
}

static void say_death(const struct budget *budget, const char *death, struct facts *facts)
{
    const uint32_t op = budget_death_op(budget);
    facts_line(facts, "nothing was measured: %s", death);
    if (op != OP_NONE) {
        say_op(budget, op, budget_line_of(budget, op), facts);
    }
    say_next(budget, facts);
}

static void say_closing(const struct budget *budget, size_t exceeded_count, struct facts *facts)
{
    const struct budget_run *run = &budget->run;
    const char *const besides[] = {[EXIT_KEPT] = "",
                                   [EXIT_BROKEN] = "; a promise was broken",
                                   [EXIT_USAGE] = "",
                                   [EXIT_UNKNOWN] = "; an out-of-memory stayed unknown",
                                   [EXIT_HARNESS] = "; the judges disagree"};
    if (run->code == EXIT_BROKEN) {
        facts_heading(facts, "BROKEN: op %" PRIu32 " broke a promise: %s", run->first_op,
                      run->first_reason);
    }
    if (exceeded_count > 0 || run->code != EXIT_KEPT) {
        say_next(budget, facts);
    }
    facts_heading(facts, "%s: %zu of %zu limit%s exceeded%s",
                  exceeded_count > 0 ? "over budget" : "within budget", exceeded_count,
                  budget->limit_count, plural(budget->limit_count, "", "s"), besides[run->code]);
}

void budget_tell(const struct budget *budget, const char *death, enum exit_code code,
                 struct facts *facts)
{
    size_t exceeded_count = 0;
    say_head(budget, facts);
    for (size_t i = 0; i < budget->row_count; i++) {
        tell_row(budget, &budget->rows[i], facts);
    }
    tell_end(budget, death, code, facts);
    if (death != NULL) {
        say_death(budget, death, facts);
        return;
    }
    tell_table(budget, facts);
    for (size_t i = 0; i < budget->limit_count; i++) {
        const struct budget_row *worst = find_worst_row(budget, &budget->limits[i]);
        if (worst->is_exceeded) {
            say_exceeded(budget, worst, facts);
            exceeded_count++;
        }
    }
    say_closing(budget, exceeded_count, facts);
}
