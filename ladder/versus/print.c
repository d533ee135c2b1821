/* How compare tells what it measured: a table and lines for people, and JSON lines. */
#include "harness/base/json.h"
#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "ladder/versus/versus.h"
#include "present/table.h"
#include "present/wrap.h"

#include <inttypes.h>

enum { CELL_BYTES = 64 };
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

/* Those that were judged one way or the other. */
static uint64_t count_decided(const struct judged *judged)
{
    return judged->justified + judged->premature;
}

/* --- the table --- */

static void put_premature(struct table *table, const struct judged *judged)
{
    char cell[CELL_BYTES];
    if (!has_counts(judged)) {
        table_put(table, not_measured);
        return;
    }
    (void)snprintf(cell, sizeof cell, "%" PRIu64 " of %" PRIu64, judged->premature,
                   count_decided(judged));
    table_put(table, cell);
}

static void put_size(struct table *table, bool is_known, uint64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    size_print(bytes, size);
    table_put(table, is_known ? size : not_measured);
}

/* A sum: exact digits of it say nothing. */
static void put_mebibytes(struct table *table, bool is_known, uint64_t bytes)
{
    char cell[CELL_BYTES];
    (void)snprintf(cell, sizeof cell, "%.1fM", (double)bytes / (1 << 20));
    table_put(table, is_known ? cell : not_measured);
}

/* Thousandths, cut off: "1.031". */
static void put_ratio(struct table *table, uint64_t part, uint64_t whole)
{
    char cell[CELL_BYTES];
    (void)snprintf(cell, sizeof cell, "%.3f", whole == 0 ? 0 : (double)part / (double)whole);
    table_put(table, part == 0 || whole == 0 ? not_measured : cell);
}

static void put_each(struct table *table, uint64_t sum, uint64_t count)
{
    char cell[CELL_BYTES];
    (void)snprintf(cell, sizeof cell, "%.0f", count == 0 ? 0 : (double)sum / (double)count);
    table_put(table, sum == 0 || count == 0 ? not_measured : cell);
}

static void put_row(struct table *table, const struct versus *versus, size_t list, size_t side)
{
    const struct versus_row *row = find_row(versus, list, side);
    const bool is_counted = has_counts(&row->judged);
    table_put(table, versus->lists[list].name);
    if (versus->side_count > 1) {
        table_put(table, side_names[side]);
    }
    table_put(table, name_end(row->judged.end));
    put_size(table, true, row->setup.capacity_bytes);
    if (is_counted) {
        table_put_number(table, row->judged.requests);
        table_put_number(table, row->judged.ooms);
    } else {
        table_put(table, not_measured);
        table_put(table, not_measured);
    }
    put_premature(table, &row->judged);
    put_premature(table, &row->without);
    put_mebibytes(table, is_counted, row->judged.free_refused_bytes);
    put_size(table, row->has_room, row->room_bytes);
    put_ratio(table, row->smallest.bytes, versus->lists[list].peak.bytes);
    put_each(table, row->cost.ns, row->cost.op_count);
    put_each(table, row->cost.instructions, row->cost.op_count);
}

static void append_table(const struct versus *versus, struct writing *text)
{
    static const char *const heads[] = {"list",
                                        "build",
                                        "run",
                                        "capacity",
                                        "requests",
                                        "refused",
                                        "premature",
                                        "without classes",
                                        "free but refused",
                                        "largest at peak",
                                        "smallest/peak",
                                        "ns/op",
                                        "instructions/op"};
    const bool has_builds = versus->side_count > 1;
    const size_t count = sizeof heads / sizeof *heads - !has_builds;
    struct table table;
    table_init(&table, count, has_builds ? 3 : 2);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (i != 1 || has_builds) {
            table_put(&table, heads[i]);
        }
    }
    for (size_t list = 0; list < versus->list_count; list++) {
        for (size_t side = 0; side < versus->side_count; side++) {
            put_row(&table, versus, list, side);
        }
    }
    table_print(&table, 0, text);
    table_deinit(&table);
}

/* --- lines --- */

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
static void append_served(const struct versus_result *result, struct writing *text)
{
    if (result->only_old_count + result->only_new_count == 0) {
        return;
    }
    writing_append_format(text, "old alone serves %" PRIu64 " requests, new alone %" PRIu64,
                          result->only_old_count, result->only_new_count);
    if (result->first_op != OP_NONE) {
        writing_append_format(text, "; the first that new refuses is op %" PRIu32,
                              result->first_op);
    }
    writing_append(text, "\n");
}

static void append_result(const struct versus *versus, size_t list, struct writing *text)
{
    const struct versus_result *result = &versus->results[list];
    const char *name = versus->lists[list].name;
    if (result->only_old_count + result->only_new_count > 0) {
        writing_append_format(text, "%s: ", name);
        append_served(result, text);
    }
    for (size_t i = 0; i < REGRESSION_COUNT; i++) {
        if ((result->regressions & regressions[i].bit) != 0) {
            writing_append_format(text, "%s: regression: %s\n", name, regressions[i].words);
        }
    }
}

void versus_replay_line(const struct versus *versus, struct writing *text)
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

static void append_shown(const struct versus *versus, struct writing *text)
{
    if (versus->shown_path[0] == '\0') {
        return;
    }
    writing_append_format(text, "\n%zu %s of %s:\n  ", versus->shown_op_count,
                          versus->shown_op_count == 1 ? "op shows it," : "ops show it,",
                          versus->lists[versus->shown_list].name);
    versus_replay_line(versus, text);
    writing_append(text, "\n");
}

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
    for (size_t i = 0; versus->results != NULL && i < versus->list_count; i++) {
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

void versus_text(const struct versus *versus, struct writing *text)
{
    for (size_t side = 0; side < versus->side_count; side++) {
        writing_append_format(text, "%s%s", versus->side_count > 1 ? side_names[side] : "target",
                              "  ");
        writing_append_visible(text, versus->sides[side].name);
        writing_append(text, "\n");
    }
    writing_append_format(text, "judged by the contract: %s\n\n",
                          versus_contract_name(versus->contract));
    append_table(versus, text);
    writing_append(text, "\n");
    const size_t begin = text->length;
    for (size_t list = 0; list < versus->list_count; list++) {
        append_troubles(versus, list, text);
        if (versus->side_count > 1) {
            append_result(versus, list, text);
        }
    }
    if (is_cost_missing(versus)) {
        writing_append(text, "--cost-max is not judged: this machine counts no instructions\n");
    }
    if (versus->side_count > 1) {
        append_shown(versus, text);
        versus_closing_line(versus, text);
        writing_append(text, "\n");
    }
    wrap_answer(text, begin);
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
    append_served(&versus->results[list], text);
    append_troubles(versus, list, text);
    if (versus->shown_path[0] != '\0' && versus->shown_list == list) {
        writing_append(text, "repeat it: ");
        versus_replay_line(versus, text);
        writing_append(text, "\n");
    }
}

static void annotate_list(const struct versus *versus, size_t list, struct annotations *annotations)
{
    struct writing title, message;
    writing_init(&title);
    writing_init(&message);
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

/* --- JSON lines --- */

static void add_number_if(struct writing *text, const char *key, bool is_known, uint64_t value)
{
    if (is_known) {
        json_add_number(text, key, value);
    } else {
        json_add_null(text, key);
    }
}

static void add_share(struct writing *text, const char *key, const struct judged *judged)
{
    if (has_counts(judged) && count_decided(judged) > 0) {
        json_add_fraction(text, key, judged->premature, count_decided(judged));
    } else {
        json_add_null(text, key);
    }
}

static void add_judged(struct writing *text, const struct judged *judged)
{
    json_add_string(text, "run", name_end(judged->end));
    if (judged->why[0] != '\0') {
        json_add_string(text, "why", judged->why);
    }
    if (judged->end_op != OP_NONE && judged->end != JUDGED_WHOLE) {
        json_add_number(text, "end_op", judged->end_op);
    }
    if (judged->signature[0] != '\0') {
        json_add_string(text, "signature", judged->signature);
    }
    if (!has_counts(judged)) {
        return;
    }
    json_add_number(text, "requests", judged->requests);
    json_add_number(text, "ooms", judged->ooms);
    json_add_number(text, "justified", judged->justified);
    json_add_number(text, "premature", judged->premature);
    json_add_number(text, "unknown", judged->unknown);
    json_add_number(text, "excused", judged->excused);
    json_add_number(text, "broken", judged->broken);
    json_add_number(text, "free_refused", judged->free_refused_count);
    json_add_number(text, "free_refused_bytes", judged->free_refused_bytes);
    json_add_boolean(text, "has_addresses", judged->has_addresses);
}

void versus_json_measure(const struct versus *versus, size_t list, size_t side,
                         struct writing *text)
{
    const struct versus_row *row = find_row(versus, list, side);
    const struct versus_list *measured = &versus->lists[list];
    json_open(text, "measure");
    json_add_string(text, "target", versus->sides[side].name);
    json_add_string(text, "side", versus->side_count > 1 ? side_names[side] : "only");
    json_add_string(text, "list", measured->name);
    json_add_string(text, "contract", versus_contract_name(versus->contract));
    json_add_number(text, "capacity_bytes", row->setup.capacity_bytes);
    json_add_number(text, "ops", measured->ops.count);
    json_add_number(text, "peak_bytes", measured->peak.bytes);
    add_judged(text, &row->judged);
    add_share(text, "premature_share", &row->judged);
    add_share(text, "premature_share_without_classes", &row->without);
    add_number_if(text, "largest_at_peak_bytes", row->has_room, row->room_bytes);
    add_number_if(text, "smallest_capacity_bytes", row->smallest.bytes > 0, row->smallest.bytes);
    add_number_if(text, "cost_ops", row->cost.op_count > 0, row->cost.op_count);
    add_number_if(text, "cost_ns", row->cost.op_count > 0, row->cost.ns);
    add_number_if(text, "cost_instructions", row->cost.instructions > 0, row->cost.instructions);
    json_close(text);
}

void versus_json_result(const struct versus *versus, size_t list, struct writing *text)
{
    const struct versus_result *result = &versus->results[list];
    json_open(text, "compared");
    json_add_string(text, "list", versus->lists[list].name);
    json_add_number(text, "only_old", result->only_old_count);
    json_add_number(text, "only_new", result->only_new_count);
    add_number_if(text, "first_op", result->first_op != OP_NONE, result->first_op);
    json_nest(text, "regressions", '[');
    for (size_t i = 0; i < REGRESSION_COUNT; i++) {
        if ((result->regressions & regressions[i].bit) != 0) {
            json_add_string(text, NULL, regressions[i].name);
        }
    }
    json_unnest(text, ']');
    json_close(text);
}

void versus_json_end(const struct versus *versus, int exit_code, struct writing *text)
{
    struct writing line;
    json_open(text, "end");
    json_add_number(text, "lists", versus->list_count);
    json_add_number(text, "regressed_lists", count_regressed(versus));
    if (versus->shown_path[0] != '\0') {
        writing_init(&line);
        versus_replay_line(versus, &line);
        json_add_string(text, "shown", versus->shown_path);
        json_add_number(text, "shown_ops", versus->shown_op_count);
        json_add_string(text, "replay", writing_string(&line));
        writing_deinit(&line);
    }
    json_add_number(text, "exit_code", (uint64_t)exit_code);
    json_close(text);
}
