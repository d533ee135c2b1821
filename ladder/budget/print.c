/* What budget found, for people. */
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "ladder/budget/private/holders.h"
#include "present/screen.h"
#include "present/table.h"
#include "present/wrap.h"
#include "recording/recording.h"

#include <inttypes.h>

enum { INDENT = 2 };

const char *budget_limit_name(enum budget_kind kind)
{
    static const char *const names[] = {[BUDGET_PEAK] = "peak",
                                        [BUDGET_TAG_PEAK] = "tag_peak",
                                        [BUDGET_GROWTH] = "growth_per_step",
                                        [BUDGET_FRAGMENTATION] = "fragmentation",
                                        [BUDGET_OOMS] = "ooms"};
    return names[kind];
}

/* --- numbers --- */

static struct size_text print_value(const struct budget_row *row, uint64_t value)
{
    struct size_text text = size_text_of(value);
    if (row->limit->kind == BUDGET_OOMS) {
        snprintf(text.text, sizeof text.text, "%" PRIu64, value);
    }
    return text;
}

static struct size_text print_limit(const struct budget_row *row)
{
    struct size_text text = print_value(row, row->limit->most);
    if (row->limit->kind == BUDGET_FRAGMENTATION) {
        snprintf(text.text, sizeof text.text, "%" PRIu64 " %%", row->limit->most);
    }
    return text;
}

static struct size_text print_measured(const struct budget *budget, const struct budget_row *row)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    if (!row->is_measured) {
        return (struct size_text){"-"};
    }
    return row->limit->kind == BUDGET_FRAGMENTATION
               ? share_text_of(moment->lost_bytes, moment->free_bytes)
               : print_value(row, row->measured);
}

/* --- words of a row --- */

static void append_host(const struct budget *budget, const struct budget_row *row,
                        struct writing *words)
{
    char name[DEVICE_NAME_BYTES];
    if (budget->recording.setup.host_count > 1) {
        writing_append_format(words, " on %s", device_name(&budget->recording, row->host, name));
    }
}

static void append_where(const struct budget *budget, const struct budget_row *row,
                         struct writing *words)
{
    append_host(budget, row, words);
    writing_append_format(words, " at op %" PRIu32, row->op);
    step_axis_append(&budget->steps.axis, row->op, ", ", words);
}

static void append_over(const struct budget_row *row, struct writing *words)
{
    writing_append_format(words, ": %s more than the limit of %s", print_value(row, row->over).text,
                          print_limit(row).text);
}

static void describe_use(const struct budget *budget, const struct budget_row *row,
                         struct writing *words)
{
    char tag[SETUP_NAME_BYTES];
    writing_append_format(words, "%s (%" PRIu64 " bytes) ", size_text_of(row->measured).text,
                          row->measured);
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        writing_append_format(words, "of '%s' ",
                              setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    }
    writing_append(words, "in use");
    append_where(budget, row, words);
    append_over(row, words);
}

static void append_floor(const struct budget *budget, const struct budget_floor *floor,
                         struct writing *words)
{
    writing_append_format(words, "%s (op %" PRIu32, size_text_of(floor->in_use_bytes).text,
                          floor->op);
    step_axis_append(&budget->steps.axis, floor->op, ", ", words);
    writing_append(words, ")");
}

static void describe_growth(const struct budget *budget, const struct budget_row *row,
                            struct writing *words)
{
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    writing_append_format(words, "%s (%" PRIu64 " bytes) a step", size_text_of(row->measured).text,
                          row->measured);
    append_host(budget, row, words);
    append_over(row, words);
    if (!budget_has_floors(&budget->hosts[row->host])) {
        return;
    }
    writing_append(words, ". The least in use rose from ");
    append_floor(budget, &floors[BUDGET_HALF_FIRST], words);
    writing_append(words, " to ");
    append_floor(budget, &floors[BUDGET_HALF_LAST], words);
    writing_append(words, " in ");
    writing_append_count(words, budget->steps.distance, "step");
}

static void describe_fragmentation(const struct budget *budget, const struct budget_row *row,
                                   struct writing *words)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    writing_append_share(words, moment->lost_bytes, moment->free_bytes);
    writing_append(words, " of what is free");
    append_where(budget, row, words);
    writing_append_format(
        words, ": %s of %s lie outside the largest hole, %s more than %" PRIu64 " %%",
        size_text_of(moment->lost_bytes).text, size_text_of(moment->free_bytes).text,
        size_text_of(row->over).text, row->limit->most);
}

static void describe_ooms(const struct budget *budget, const struct budget_row *row,
                          struct writing *words)
{
    writing_append_count(words, row->measured, "request");
    writing_append_format(words, " %s refused, %" PRIu64 " may be",
                          plural(row->measured, "was", "were"), row->limit->most);
    writing_append_format(words, "; %s of %s",
                          row->limit->most == 0 ? "the first one" : "the first one too many",
                          size_text_of(budget->run.oom_bytes).text);
    append_where(budget, row, words);
}

static void append_holders(const struct budget *budget, const struct budget_row *row,
                           struct writing *words)
{
    struct holders holders;
    char tag[SETUP_NAME_BYTES];
    holders_find(budget, row, &holders);
    for (size_t i = 0; i < holders.count; i++) {
        writing_append_format(words, "%s%s %s",
                              i > 0                               ? ", "
                              : row->limit->kind == BUDGET_GROWTH ? "; grew: "
                                                                  : "; held by: ",
                              setup_tag_name(&budget->recording.setup, holders.items[i].tag, tag),
                              size_text_of(holders.items[i].bytes).text);
    }
}

void budget_describe(const struct budget *budget, const struct budget_row *row,
                     struct writing *words)
{
    static void (*const describe[])(const struct budget *, const struct budget_row *,
                                    struct writing *) = {
        [BUDGET_PEAK] = describe_use,
        [BUDGET_TAG_PEAK] = describe_use,
        [BUDGET_GROWTH] = describe_growth,
        [BUDGET_FRAGMENTATION] = describe_fragmentation,
        [BUDGET_OOMS] = describe_ooms};
    describe[row->limit->kind](budget, row, words);
    append_holders(budget, row, words);
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

static void put_name(struct table *table, const struct budget *budget,
                     const struct budget_limit *limit)
{
    char tag[SETUP_NAME_BYTES], name[SETUP_NAME_BYTES + 16];
    static const char *const names[] = {[BUDGET_PEAK] = "peak",
                                        [BUDGET_GROWTH] = "growth per step",
                                        [BUDGET_FRAGMENTATION] = "fragmentation",
                                        [BUDGET_OOMS] = "out of memory"};
    if (limit->kind == BUDGET_TAG_PEAK) {
        snprintf(name, sizeof name, "peak of %s",
                 setup_tag_name(&budget->recording.setup, limit->tag, tag));
        table_put(table, name);
        return;
    }
    table_put(table, names[limit->kind]);
}

static void put_place(struct table *table, const struct budget *budget,
                      const struct budget_row *row)
{
    uint64_t step;
    if (row->op == OP_NONE) {
        table_put(table, "");
        table_put(table, "");
        table_put(table, "");
        return;
    }
    table_put_number(table, row->host);
    table_put_number(table, row->op);
    if (step_axis_number(&budget->steps.axis, row->op, &step)) {
        table_put_number(table, step);
    } else {
        table_put(table, "");
    }
}

static void append_table(const struct budget *budget, struct writing *text)
{
    static const char *const heads[] = {"limit", "result", "measured", "limit",
                                        "over",  "host",   "op",       "step"};
    enum { HEAD_COUNT = sizeof heads / sizeof *heads };
    struct table table;
    table_init(&table, HEAD_COUNT, 2);
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        table_put(&table, i == 0 ? "" : heads[i]);
    }
    for (size_t i = 0; i < budget->limit_count; i++) {
        const struct budget_row *row = find_worst_row(budget, &budget->limits[i]);
        put_name(&table, budget, row->limit);
        table_put(&table, row->is_exceeded ? "EXCEEDED" : row->is_measured ? "met" : "not reached");
        table_put(&table, print_measured(budget, row).text);
        table_put(&table, print_limit(row).text);
        table_put(&table, row->is_exceeded ? print_value(row, row->over).text : "");
        put_place(&table, budget, row);
    }
    table_print(&table, 0, text);
    table_deinit(&table);
}

/* --- what is exceeded --- */

static void append_others(const struct budget *budget, const struct budget_row *worst,
                          struct writing *text)
{
    size_t count = 0;
    for (size_t i = 0; i < budget->row_count; i++) {
        const struct budget_row *row = &budget->rows[i];
        if (row != worst && row->limit == worst->limit && row->is_exceeded) {
            writing_append_format(text, "%s%" PRIu32, count++ == 0 ? "  also on host " : ", ",
                                  row->host);
        }
    }
    writing_append(text, count > 0 ? "\n" : "");
}

static void append_op(const struct budget *budget, uint32_t i, size_t line, struct writing *text)
{
    const struct setup *setup = &budget->recording.setup;
    char op_text[OP_TEXT_BYTES], tag[SETUP_NAME_BYTES];
    const struct op *op = &budget->recording.ops.ops[i];
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    writing_append(text, "  ");
    writing_append_visible(text, budget->options->path);
    if (line > 0) {
        writing_append_format(text, ":%zu", line);
    }
    writing_append_format(text, ": op %" PRIu32 ": %s", i, op_print(op, op_text));
    if (info->makes_block || info->makes_program) {
        writing_append(text, " of '");
        writing_append_visible(text, setup_tag_name(setup, op->tag, tag));
        writing_append(text, "'");
    }
    writing_append(text, "\n");
}

static void append_exceeded(const struct budget *budget, const struct budget_row *row,
                            struct writing *text)
{
    struct writing words, visible;
    writing_init(&words);
    writing_init(&visible);
    writing_append_format(&words, "EXCEEDED %s: ", budget_limit_name(row->limit->kind));
    budget_describe(budget, row, &words);
    writing_append_visible(&visible, writing_string(&words));
    writing_append(text, "\n");
    wrap_append(text, writing_string(&visible), INDENT, screen_columns());
    writing_append(text, "\n");
    append_op(budget, row->op, row->line, text);
    append_others(budget, row, text);
    writing_deinit(&visible);
    writing_deinit(&words);
}

static void append_head(const struct budget *budget, struct writing *text)
{
    const struct budget_steps *steps = &budget->steps;
    struct writing words;
    writing_init(&words);
    writing_append_visible(text, budget->options->path);
    writing_append(text, " on target ");
    writing_append_visible(text, budget->recording.setup.target);
    writing_append_format(text, ": %zu ops", budget->recording.ops.count);
    if (steps->axis.count > 0) {
        writing_append_format(&words, "%zu steps%s, %zu of them warm-up%s", steps->axis.count,
                              steps->axis.is_said      ? ""
                              : steps->axis.are_cycles ? " as memory rises and falls"
                                                       : " as the requests repeat",
                              steps->warmup_count, plural(steps->warmup_count, "", "s"));
        const bool has_room = text_width(writing_string(text)) + words.length + 2 <=
                              screen_columns();
        writing_append_format(text, ",%s%s", has_room ? " " : "\n  ", writing_string(&words));
    }
    writing_deinit(&words);
    writing_append(text, "\n\n");
}

/* The same list on the same target. */
static void append_next(const struct budget *budget, struct writing *text)
{
    struct writing line;
    writing_init(&line);
    repeat_word(&line, budget->options->path);
    repeat_option(&line, "--format", budget->options->reading.format);
    repeat_setup(&line, budget->options->reading.run);
    writing_append(text, "\nNext: hbmstress explain");
    writing_append_visible(text, writing_string(&line));
    writing_append(text, "\n");
    writing_deinit(&line);
}

static void append_broken(const struct budget *budget, struct writing *text)
{
    const struct budget_run *run = &budget->run;
    if (run->code == EXIT_BROKEN) {
        writing_append_format(text, "\nBROKEN: op %" PRIu32 " broke a promise: ", run->first_op);
        writing_append_visible(text, run->first_reason);
        writing_append(text, "\n");
    }
}

static void append_closing(const struct budget *budget, size_t exceeded_count, struct writing *text)
{
    const char *const besides[] = {[EXIT_KEPT] = "",
                                   [EXIT_BROKEN] = "; a promise was broken",
                                   [EXIT_USAGE] = "",
                                   [EXIT_UNKNOWN] = "; an out-of-memory stayed unknown",
                                   [EXIT_HARNESS] = "; the judges disagree"};
    writing_append_format(text, "\n%s: %zu of %zu limit%s exceeded%s\n",
                          exceeded_count > 0 ? "over budget" : "within budget", exceeded_count,
                          budget->limit_count, plural(budget->limit_count, "", "s"),
                          besides[budget->run.code]);
}

void budget_text(const struct budget *budget, bool died, struct writing *text)
{
    char words[DEATH_WORDS_BYTES];
    size_t exceeded_count = 0;
    append_head(budget, text);
    if (died) {
        death_describe(&budget->death, words);
        writing_append(text, "nothing was measured: ");
        writing_append_visible(text, words);
        writing_append(text, "\n");
        if (budget_death_op(budget) != OP_NONE) {
            append_op(budget, budget_death_op(budget),
                      budget_line_of(budget, budget_death_op(budget)), text);
        }
        append_next(budget, text);
        return;
    }
    append_table(budget, text);
    for (size_t i = 0; i < budget->limit_count; i++) {
        const struct budget_row *row = find_worst_row(budget, &budget->limits[i]);
        if (row->is_exceeded) {
            append_exceeded(budget, row, text);
            exceeded_count++;
        }
    }
    append_broken(budget, text);
    if (exceeded_count > 0 || budget->run.code != EXIT_KEPT) {
        append_next(budget, text);
    }
    append_closing(budget, exceeded_count, text);
}
