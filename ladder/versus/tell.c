/* How compare tells what it measured: as facts, and as annotations. */
#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "ladder/versus/versus.h"

#include <inttypes.h>

static const char not_measured[] = "n/a";

static const struct {
    enum versus_regression bit;
    const char *name, *words;
} regressions[] = {
    {VERSUS_DIES, "dies", "NEW ends its process, or hangs, and OLD does not"},
    {VERSUS_BREAKS, "breaks", "NEW breaks a promise that OLD keeps"},
    {VERSUS_REFUSES, "refuses", "NEW refuses more requests (--refused-max)"},
    {VERSUS_IS_PREMATURE, "premature",
     "more of NEW's out-of-memories are premature (--premature-max)"},
    {VERSUS_NEEDS_MORE, "capacity", "NEW needs more memory to serve the list (--capacity-max)"},
    {VERSUS_COSTS_MORE, "cost", "NEW takes more instructions per op (--cost-max)"}};
enum { REGRESSION_COUNT = sizeof regressions / sizeof *regressions };

static const char *const side_names[VERSUS_SIDE_COUNT_MAX] = {"old", "new"};

static const char *name_end(enum judged_end end)
{
    static const char *const names[] = {[JUDGED_NOT] = "not run",
                                        [JUDGED_WHOLE] = "whole",
                                        [JUDGED_BROKEN] = "broken",
                                        [JUDGED_DIED] = "crashed",
                                        [JUDGED_REFUSED] = "not accepted"};
    return names[end];
}

static const struct versus_row *find_row(const struct versus *versus, size_t list, size_t side)
{
    return &versus->rows[list * versus->side_count + side];
}

static bool has_counts(const struct judged *judged)
{
    return judged->end == JUDGED_WHOLE || judged->end == JUDGED_BROKEN;
}

/* --- a row --- */

/* The cell of a number where it is known. */
static void add_cell(struct facts *facts, const char *name, bool is_known, const char *format,
                     double number)
{
    char cell[VERSUS_NAME_BYTES];
    (void)snprintf(cell, sizeof cell, format, number);
    facts_cell(facts, name, is_known ? cell : not_measured);
}

static double divide(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static void add_size(struct facts *facts, const char *name, bool is_known, uint64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    size_print(bytes, size);
    facts_cell(facts, name, is_known ? size : not_measured);
}

/* How many refusals of those that were judged one way or the other were premature. */
static void add_premature(struct facts *facts, const char *share, const char *cell,
                          const struct judged *judged)
{
    const uint64_t decided = judged->justified + judged->premature;
    if (has_counts(judged) && decided > 0) {
        facts_share(facts, share, judged->premature, decided);
    } else {
        facts_null(facts, share);
    }
    if (has_counts(judged)) {
        facts_cell_format(facts, cell, "%" PRIu64 " of %" PRIu64, judged->premature, decided);
    } else {
        facts_cell(facts, cell, not_measured);
    }
}

static void add_judged(struct facts *facts, const struct judged *judged)
{
    facts_text(facts, "run", name_end(judged->end));
    facts_text_if(facts, "why", judged->why);
    if (judged->end_op != OP_NONE && judged->end != JUDGED_WHOLE) {
        facts_count(facts, "end_op", judged->end_op);
    }
    facts_text_if(facts, "signature", judged->signature);
    if (!has_counts(judged)) {
        facts_cell(facts, "requests", not_measured);
        facts_cell(facts, "ooms", not_measured);
        return;
    }
    facts_count(facts, "requests", judged->requests);
    facts_count(facts, "ooms", judged->ooms);
    facts_count(facts, "justified", judged->justified);
    facts_count(facts, "premature", judged->premature);
    facts_count(facts, "unknown", judged->unknown);
    facts_count(facts, "excused", judged->excused);
    facts_count(facts, "broken", judged->broken);
    facts_count(facts, "free_refused", judged->free_refused_count);
    facts_count(facts, "free_refused_bytes", judged->free_refused_bytes);
    facts_boolean(facts, "has_addresses", judged->has_addresses);
}

void versus_tell_row(const struct versus *versus, size_t list, size_t side, struct facts *facts)
{
    const struct versus_row *row = find_row(versus, list, side);
    const struct versus_list *measured = &versus->lists[list];
    const struct cost *cost = &row->cost;
    const bool is_costed = cost->op_count > 0;
    facts_open(facts, "measure");
    facts_text(facts, "target", versus->sides[side].name);
    facts_text(facts, "side", versus->side_count > 1 ? side_names[side] : "only");
    facts_text(facts, "list", measured->name);
    facts_text(facts, "contract", versus_contract_name(versus->contract));
    facts_count(facts, "capacity_bytes", row->setup.capacity_bytes);
    facts_count(facts, "ops", measured->ops.count);
    facts_count(facts, "peak_bytes", measured->peak.bytes);
    add_judged(facts, &row->judged);
    add_premature(facts, "premature_share", "premature of", &row->judged);
    add_premature(facts, "premature_share_without_classes", "without", &row->without);
    facts_count_or_null(facts, "largest_at_peak_bytes", row->has_room, row->room_bytes);
    facts_count_or_null(facts, "smallest_capacity_bytes", row->smallest.bytes > 0,
                        row->smallest.bytes);
    facts_count_or_null(facts, "cost_ops", is_costed, cost->op_count);
    facts_count_or_null(facts, "cost_ns", is_costed, cost->ns);
    facts_count_or_null(facts, "cost_instructions", cost->instructions > 0, cost->instructions);
    add_size(facts, "capacity", true, row->setup.capacity_bytes);
    add_cell(facts, "free", has_counts(&row->judged), "%.1fM", /* a sum: its digits say nothing */
             (double)row->judged.free_refused_bytes / (1 << 20));
    add_size(facts, "room", row->has_room, row->room_bytes);
    add_cell(facts, "smallest", row->smallest.bytes > 0 && measured->peak.bytes > 0, "%.3f",
             divide(row->smallest.bytes, measured->peak.bytes));
    add_cell(facts, "ns", cost->ns > 0 && is_costed, "%.0f", divide(cost->ns, cost->op_count));
    add_cell(facts, "instructions", cost->instructions > 0 && is_costed, "%.0f",
             divide(cost->instructions, cost->op_count));
    facts_close(facts);
}

void versus_tell_table(const struct versus *versus, struct facts *facts)
{
    static const struct facts_column columns[] = {{"list", "list"},
                                                  {"side", "build"},
                                                  {"run", "run"},
                                                  {"capacity", "#capacity"},
                                                  {"requests", "requests"},
                                                  {"ooms", "refused"},
                                                  {"premature of", "premature"},
                                                  {"without", "without classes"},
                                                  {"free", "free but refused"},
                                                  {"room", "largest at peak"},
                                                  {"smallest", "smallest/peak"},
                                                  {"ns", "ns/op"},
                                                  {"instructions", "instructions/op"}};
    enum { COLUMN_COUNT = sizeof columns / sizeof *columns };
    static struct facts_column of_one[COLUMN_COUNT - 1]; /* without the build */
    const bool has_builds = versus->side_count > 1;
    for (size_t side = 0; side < versus->side_count; side++) {
        facts_line(facts, "%s  %s", has_builds ? side_names[side] : "target",
                   versus->sides[side].name);
    }
    facts_line(facts, "judged by the contract: %s", versus_contract_name(versus->contract));
    facts_line(facts, "%s", "");
    for (size_t i = 0; i < COLUMN_COUNT - 1; i++) {
        of_one[i] = columns[i + (i > 0)];
    }
    facts_table(facts, has_builds ? columns : of_one, COLUMN_COUNT - !has_builds);
    for (size_t list = 0; list < versus->list_count; list++) {
        for (size_t side = 0; side < versus->side_count; side++) {
            versus_tell_row(versus, list, side, facts);
        }
    }
    facts_table_end(facts);
    facts_line(facts, "%s", "");
}

/* --- what follows --- */

/* Why a run is not whole, and what else broke. */
static void append_troubles(const struct versus *versus, size_t list, struct writing *text)
{
    for (size_t side = 0; side < versus->side_count; side++) {
        const struct judged *judged = &find_row(versus, list, side)->judged;
        if (judged->end == JUDGED_WHOLE && judged->broken == 0) {
            continue;
        }
        writing_append_format(text, "%s, %s: ", versus->lists[list].name,
                              versus->side_count > 1 ? side_names[side] : versus->sides[side].name);
        if (judged->end == JUDGED_WHOLE) {
            writing_append_format(text, "a promise was broken: %s: ", judged->signature);
        } else if (judged->end_op != OP_NONE) {
            writing_append_format(text, "%s at op %" PRIu32 ": ", name_end(judged->end),
                                  judged->end_op);
        } else {
            writing_append_format(text, "%s: ", name_end(judged->end));
        }
        writing_append_visible(text, judged->why);
        writing_append(text, "\n");
    }
}

/* Which requests one of them alone serves; nothing where there are none. */
static void append_served(const struct versus_result *result, const char *lead,
                          struct writing *text)
{
    if (result->only_old_count + result->only_new_count == 0) {
        return;
    }
    writing_append_format(text, "%sold alone serves %" PRIu64 " requests, new alone %" PRIu64, lead,
                          result->only_old_count, result->only_new_count);
    if (result->first_op != OP_NONE) {
        writing_append_format(text, "; the first that new refuses is op %" PRIu32,
                              result->first_op);
    }
    writing_append(text, "\n");
}

static void tell_regressions(const struct versus *versus, size_t list, struct writing *words,
                             struct facts *facts)
{
    const struct versus_result *result = &versus->results[list];
    const char *name = versus->lists[list].name;
    char lead[VERSUS_NAME_BYTES + 2];
    (void)snprintf(lead, sizeof lead, "%s: ", name);
    append_served(result, lead, words);
    facts_open(facts, "compared");
    facts_text(facts, "list", name);
    facts_count(facts, "only_old", result->only_old_count);
    facts_count(facts, "only_new", result->only_new_count);
    facts_count_or_null(facts, "first_op", result->first_op != OP_NONE, result->first_op);
    facts_nest(facts, "regressions", '[');
    for (size_t i = 0; i < REGRESSION_COUNT; i++) {
        if ((result->regressions & regressions[i].bit) != 0) {
            facts_text(facts, NULL, regressions[i].name);
            writing_append_format(words, "%sregression: %s\n", lead, regressions[i].words);
        }
    }
    facts_unnest(facts, ']');
    facts_close(facts);
}

void versus_tell_result(const struct versus *versus, size_t list, struct facts *facts)
{
    struct writing words = {0};
    append_troubles(versus, list, &words);
    if (versus->side_count > 1) {
        tell_regressions(versus, list, &words, facts);
    }
    facts_answers(facts, &words);
    writing_deinit(&words);
}

/* The line that repeats the shown list. */
static void append_replay(const struct versus *versus, struct writing *text)
{
    const struct run_options *options = versus->options->run;
    char word[SHELL_WORD_BYTES(OUTPUT_PATH_BYTES)];
    writing_append_format(text, "hbmstress compare %s", shell_word(versus->sides[0].name, word));
    writing_append_format(text, " %s", shell_word(versus->sides[1].name, word));
    writing_append_format(text, " %s", shell_word(versus->shown_path, word));
    if (versus->contract != VERSUS_UNSAID) {
        writing_append_format(text, " --contract %s", versus_contract_name(versus->contract));
    }
    for (uint32_t i = 0; i < options->option_count; i++) {
        char option[2 * SETUP_NAME_BYTES];
        (void)snprintf(option, sizeof option, "%s=%s", options->options[i].key,
                       options->options[i].value);
        writing_append_format(text, " --target-option %s", shell_word(option, word));
    }
}

/* --- the end --- */

/* A cost that was to be judged, and could not be. */
static bool is_cost_missing(const struct versus *versus)
{
    bool is_counted = false;
    for (size_t i = 0; i < versus->list_count * versus->side_count; i++) {
        is_counted = is_counted || versus->rows[i].cost.instructions > 0;
    }
    return versus->options->has_cost_max && !is_counted;
}

static size_t count_regressed(const struct versus *versus)
{
    size_t count = 0;
    for (size_t i = 0; i < versus->list_count; i++) {
        count += versus->results[i].regressions != 0;
    }
    return count;
}

void versus_closing_line(const struct versus *versus, struct writing *text)
{
    const size_t count = count_regressed(versus);
    if (count == 0) {
        writing_append_format(text, "no regression on %zu lists", versus->list_count);
    } else {
        writing_append_format(text, "regressions on %zu of %zu lists", count, versus->list_count);
    }
}

void versus_tell_end(const struct versus *versus, enum exit_code code, struct facts *facts)
{
    struct writing words = {0};
    if (is_cost_missing(versus)) {
        facts_answer(facts, "--cost-max is not judged: this machine counts no instructions");
    }
    facts_open(facts, "end");
    facts_count(facts, "lists", versus->list_count);
    facts_count(facts, "regressed_lists", count_regressed(versus));
    if (versus->shown_path[0] != '\0') {
        append_replay(versus, &words);
        facts_text(facts, "shown", versus->shown_path);
        facts_count(facts, "shown_ops", versus->shown_op_count);
        facts_text(facts, "replay", writing_string(&words));
        facts_line(facts, "%s", "");
        facts_answer(facts, "%zu %s of %s:", versus->shown_op_count,
                     versus->shown_op_count == 1 ? "op shows it," : "ops show it,",
                     versus->lists[versus->shown_list].name);
        facts_line(facts, "  %s", writing_string(&words));
        writing_clear(&words);
    }
    facts_count(facts, "exit_code", (uint64_t)code);
    facts_close(facts);
    if (versus->side_count > 1) {
        versus_closing_line(versus, &words);
        facts_answer(facts, "%s", writing_string(&words));
    }
    writing_deinit(&words);
}

/* --- beside a change --- */

/* The file of a list: its own, or the one that was written to show it; NULL: it was drawn. */
static const char *find_file(const struct versus *versus, size_t list)
{
    if (versus->lists[list].path != NULL) {
        return versus->lists[list].path;
    }
    const bool is_shown = versus->shown_path[0] != '\0' && versus->shown_list == list;
    return is_shown ? versus->shown_path : NULL;
}

static void append_why(const struct versus *versus, size_t list, struct writing *text)
{
    writing_append_format(text, "list %s\n", versus->lists[list].name);
    append_served(&versus->results[list], "", text);
    append_troubles(versus, list, text);
    if (versus->shown_path[0] != '\0' && versus->shown_list == list) {
        writing_append(text, "repeat it: ");
        append_replay(versus, text);
        writing_append(text, "\n");
    }
}

static void annotate_list(const struct versus *versus, size_t list, struct annotations *annotations)
{
    struct writing title = {0}, message = {0};
    append_why(versus, list, &message);
    for (size_t i = 0; i < REGRESSION_COUNT; i++) {
        if ((versus->results[list].regressions & regressions[i].bit) == 0) {
            continue;
        }
        writing_clear(&title);
        writing_append_format(&title, "%s: %s", versus->lists[list].name, regressions[i].words);
        annotations_add(annotations, &(struct annotation){.level = ANNOTATION_ERROR,
                                                          .file = find_file(versus, list),
                                                          .title = writing_string(&title),
                                                          .message = writing_string(&message),
                                                          .rule = regressions[i].name});
    }
    writing_deinit(&title);
    writing_deinit(&message);
}

void versus_annotate(const struct versus *versus, struct annotations *annotations)
{
    for (size_t list = 0; list < versus->list_count; list++) {
        annotate_list(versus, list, annotations);
    }
}
