/* What budget found, as JSON lines. */
#include "harness/base/json.h"
#include "harness/op/ops_file.h"
#include "ladder/budget/private/holders.h"
#include "present/json_lines.h"

static const char *const units[] = {[BUDGET_PEAK] = "bytes",
                                    [BUDGET_TAG_PEAK] = "bytes",
                                    [BUDGET_GROWTH] = "bytes_per_step",
                                    [BUDGET_FRAGMENTATION] = "share",
                                    [BUDGET_OOMS] = "requests"};

static void add_measured(const struct budget *budget, const struct budget_row *row,
                         struct writing *text)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    json_add_string(text, "unit", units[row->limit->kind]);
    if (row->limit->kind == BUDGET_FRAGMENTATION) {
        json_add_fraction(text, "limit_value", row->limit->most, 100);
    } else {
        json_add_number(text, "limit_value", row->limit->most);
    }
    json_add_boolean(text, "measured", row->is_measured);
    if (!row->is_measured) {
        return;
    }
    if (row->limit->kind == BUDGET_FRAGMENTATION) {
        json_add_fraction(text, "value", row->measured, moment->free_bytes);
        json_add_number(text, "free_bytes", moment->free_bytes);
        json_add_number(text, "largest_hole_bytes", moment->largest_hole_bytes);
        json_add_number(text, "over_bytes", row->over);
        return;
    }
    json_add_number(text, "value", row->measured);
    json_add_number(text, "over", row->over);
}

static void add_op(const struct budget *budget, const struct budget_row *row, struct writing *text)
{
    char op_text[OP_TEXT_BYTES], tag[SETUP_NAME_BYTES];
    if (row->op == OP_NONE) {
        return;
    }
    const struct op *op = &budget->recording.ops.ops[row->op];
    json_add_number(text, "op", row->op);
    step_axis_add(&budget->steps.axis, row->op, text);
    json_add_string(text, "op_text", op_print(op, op_text));
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (info->makes_block || info->makes_program) {
        json_add_string(text, "op_tag", setup_tag_name(&budget->recording.setup, op->tag, tag));
    }
    if (row->line > 0) {
        json_add_number(text, "line", row->line);
    }
}

static void add_floors(const struct budget *budget, const struct budget_row *row,
                       struct writing *text)
{
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    if (row->limit->kind != BUDGET_GROWTH || !row->is_measured ||
        !budget_has_floors(&budget->hosts[row->host])) {
        return;
    }
    json_add_number(text, "first_op", floors[BUDGET_HALF_FIRST].op);
    json_add_number(text, "first_floor_bytes", floors[BUDGET_HALF_FIRST].in_use_bytes);
    json_add_number(text, "last_floor_bytes", floors[BUDGET_HALF_LAST].in_use_bytes);
    json_add_number(text, "steps_between", budget->steps.distance);
}

static void add_holders(const struct budget *budget, const struct budget_row *row,
                        struct writing *text)
{
    struct holders holders;
    char tag[SETUP_NAME_BYTES];
    holders_find(budget, row, &holders);
    json_nest(text, row->limit->kind == BUDGET_GROWTH ? "grew" : "holders", '[');
    for (size_t i = 0; i < holders.count; i++) {
        json_nest(text, NULL, '{');
        json_add_string(text, "tag",
                        setup_tag_name(&budget->recording.setup, holders.items[i].tag, tag));
        json_add_number(text, "bytes", holders.items[i].bytes);
        json_unnest(text, '}');
    }
    json_unnest(text, ']');
}

static void append_row(const struct budget *budget, const struct budget_row *row,
                       struct writing *text)
{
    char tag[SETUP_NAME_BYTES];
    struct writing words;
    json_open(text, "budget");
    json_add_string(text, "limit", budget_limit_name(row->limit->kind));
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        json_add_string(text, "tag",
                        setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    }
    if (row->limit->kind != BUDGET_OOMS || row->op != OP_NONE) {
        json_add_number(text, "host", row->host);
    }
    json_add_boolean(text, "exceeded", row->is_exceeded);
    add_measured(budget, row, text);
    add_op(budget, row, text);
    add_floors(budget, row, text);
    add_holders(budget, row, text);
    if (row->is_exceeded) {
        writing_init(&words);
        budget_describe(budget, row, &words);
        json_add_string(text, "words", writing_string(&words));
        writing_deinit(&words);
    }
    json_close(text);
}

static void append_end(const struct budget *budget, bool died, int exit_code, struct writing *text)
{
    const struct budget_run *run = &budget->run;
    char words[DEATH_WORDS_BYTES];
    json_open(text, "end");
    json_add_digits(text, "seed", budget->recording.setup.seed);
    json_add_number(text, "limits", budget->limit_count);
    if (died) {
        death_describe(&budget->death, words);
        json_add_string(text, "died", words);
        if (budget_death_op(budget) != OP_NONE) {
            json_add_number(text, "first_op", budget_death_op(budget));
        }
    } else {
        json_add_number(text, "exceeded", budget_count_exceeded(budget));
        json_add_number(text, "ops", run->ops);
        json_add_number(text, "ooms", run->ooms);
        json_add_number(text, "justified", run->justified);
        json_add_number(text, "premature", run->premature);
        json_add_number(text, "unknown", run->unknown);
        json_add_number(text, "broken", run->broken);
        if (run->code != EXIT_KEPT) {
            json_add_number(text, "first_op", run->first_op);
            json_add_string(text, "reason", run->first_reason);
        }
    }
    json_add_number(text, "exit", (uint64_t)exit_code);
    json_close(text);
}

void budget_lines(const struct budget *budget, bool died, int exit_code, struct writing *text)
{
    const struct report_start start = {.subcommand = "budget",
                                       .setup = &budget->recording.setup,
                                       .file = budget->options->path,
                                       .duration_ns = UINT64_MAX};
    json_line_start(text, &start);
    for (size_t i = 0; i < budget->row_count; i++) {
        append_row(budget, &budget->rows[i], text);
    }
    append_end(budget, died, exit_code, text);
}
