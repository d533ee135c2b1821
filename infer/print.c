#include "infer/infer.h"

#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "present/screen.h"
#include "present/version.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the contract to copy, of what follows a verdict, and where lines end. */
enum { CODE_INDENT = 4, VERDICT_WIDTH = 18 };

static const char *name_result(uint32_t result)
{
    static const char *const names[] = {[TARGET_OK] = "ok",
                                        [TARGET_NO_MEMORY] = "out of memory",
                                        [TARGET_INVALID] = "invalid",
                                        [TARGET_FAILED] = "failed"};
    return result < sizeof names / sizeof *names ? names[result] : "no result";
}

static const struct lab_trace *find_trace(const struct infer_result *result,
                                          enum experiment_number number)
{
    return &result->inference->declared[number];
}

static size_t count_ops(const struct infer_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        count += result->inference->declared[i].ops.count;
    }
    return count;
}

static size_t count_made(const struct infer_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        count += result->inference->declared[i].why[0] == '\0';
    }
    return count;
}

/* --- the contract to copy --- */

/* What shows the line, and its bounds. */
static void append_ground(const struct infer_result *result, const struct inference_line *line,
                          struct writing *text)
{
    if (line->experiment == EXPERIMENT_COUNT || line->verdict == INFERENCE_OPEN) {
        writing_append_format(text, "not shown: %s",
                              line->seen[0] == '\0' ? "no experiment asks" : line->seen);
        return;
    }
    const struct experiment *experiment = &experiments[line->experiment];
    writing_append_format(text, "%s: %s", experiment->name, experiment->bounds);
    if (find_trace(result, line->experiment)->why[0] != '\0') {
        writing_append_format(text, " (not made: %s)", find_trace(result, line->experiment)->why);
    }
}

/* A comment in C, in lines of a bounded width. */
static void append_comment(const struct infer_result *result, const struct inference_line *line,
                           struct writing *text)
{
    const int indent = line->is_member ? 2 * CODE_INDENT : CODE_INDENT;
    struct writing words = {0};
    if (!line->is_member) {
        writing_append_format(&words, "%s: %s.  Experiment ", line->name, line->inferred);
    }
    append_ground(result, line, &words);
    writing_append_format(text, "%*s/* ", indent, "");
    wrap_append(text, writing_string(&words), (size_t)indent + 3, screen_columns() - 3);
    writing_append(text, " */\n");
    writing_deinit(&words);
}

static void append_contract(const struct infer_result *result, struct writing *text)
{
    writing_append(text, "A contract to copy\n\n{\n");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct inference_line *line = &result->lines[i];
        if (line->is_member) {
            writing_append_format(text, "    .%s = %s,\n", line->name, inference_value(line));
            append_comment(result, line, text);
        }
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct inference_line *line = &result->lines[i];
        if (!line->is_member && line->verdict != INFERENCE_OPEN) {
            append_comment(result, line, text);
        }
    }
    writing_append(text, "}\n\n");
}

/* --- declared and inferred --- */

/* An op of an experiment: "op 17 of drain, alloc size=64K". */
static void append_op(const struct infer_result *result, const struct inference_line *line,
                      struct writing *text)
{
    const struct lab_trace *trace = find_trace(result, line->experiment);
    char op[OP_TEXT_BYTES];
    if (line->op < trace->ops.count) {
        writing_append_format(text, "op %" PRIu32 " of %s: %s", line->op,
                              experiments[line->experiment].name,
                              op_print(&trace->ops.ops[line->op], op));
    } else {
        writing_append_format(text, "the end of %s", experiments[line->experiment].name);
    }
}

/* Where the list of the experiment was saved. */
static void append_repeat(const struct infer_result *result, enum experiment_number number,
                          struct writing *text)
{
    char path[FILENAME_MAX], word[SHELL_WORD_BYTES(FILENAME_MAX)];
    if (result->directory != NULL && find_trace(result, number)->ops.count > 0) {
        (void)snprintf(path, sizeof path, "%s/%s.ops", result->directory, experiments[number].name);
        writing_append_format(text, "    repeat    hbmstress replay %s\n", shell_word(path, word));
    }
}

/* What ended the process in an experiment. */
static void append_deaths(const struct infer_result *result, struct writing *text)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct lab_trace *trace = find_trace(result, (enum experiment_number)i);
        if (trace->is_dead) {
            writing_append_format(text, "\n  %s\n    seen      ", experiments[i].name);
            writing_append_visible(text, trace->why);
            writing_append(text, "\n");
            append_repeat(result, (enum experiment_number)i, text);
        }
    }
}

static void append_refutation(const struct infer_result *result, const struct inference_line *line,
                              struct writing *text)
{
    writing_append_format(text, "\n  %s\n    in        ", line->name);
    append_op(result, line, text);
    writing_append_format(text, "\n    expected  %s\n    seen      ", line->expected);
    writing_append_visible(text, line->seen);
    writing_append(text, "\n");
    append_repeat(result, line->experiment, text);
}

static const char *name_verdict(const struct inference_line *line)
{
    switch (line->verdict) {
    case INFERENCE_KEPT:
        return "kept";
    case INFERENCE_REFUTED:
        return "REFUTED";
    case INFERENCE_UNDECLARED:
        return line->is_member ? "not declared" : "measured";
    case INFERENCE_OPEN:
        break;
    }
    return "not observable";
}

/* "drains = true, inferred false". */
static void append_words(const struct inference_line *line, struct writing *text)
{
    const bool is_same = strcmp(line->inferred, line->declared) == 0;
    const bool is_open = line->verdict == INFERENCE_OPEN;
    writing_append(text, line->name);
    if (line->is_member) {
        writing_append_format(text, " = %s", line->declared);
    }
    if (line->inferred[0] != '\0' && !is_same) {
        writing_append_format(text, "%s%s",
                              !line->is_member                        ? ": "
                              : line->verdict == INFERENCE_UNDECLARED ? ", kept so far: "
                                                                      : ", inferred ",
                              line->inferred);
    }
    if (line->seen[0] != '\0' && (is_open || !line->is_member)) {
        writing_append_format(text, " (%s)", line->seen);
    }
}

static void append_comparison(const struct infer_result *result, struct writing *text)
{
    struct writing words = {0};
    writing_append(text, "Declared and inferred\n\n");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        writing_clear(&words);
        append_words(&result->lines[i], &words);
        writing_append_format(text, "  %-*s", VERDICT_WIDTH - 2, name_verdict(&result->lines[i]));
        wrap_append(text, writing_string(&words), VERDICT_WIDTH, screen_columns());
        writing_append(text, "\n");
    }
    writing_deinit(&words);
}

static void append_refutations(const struct infer_result *result, struct writing *text)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (result->lines[i].verdict == INFERENCE_REFUTED) {
            append_refutation(result, &result->lines[i], text);
        }
    }
    for (size_t i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (result->rules[i].verdict == INFERENCE_REFUTED) {
            append_refutation(result, &result->rules[i], text);
        }
    }
    append_deaths(result, text);
    writing_append(text, "\n");
}

/* Nothing describes the sizes, so here they are. */
static void append_sizes(const struct infer_result *result, struct writing *text)
{
    const struct lab_trace *trace = find_trace(result, EXPERIMENT_sizes);
    if (strstr(result->lines[FIELD_rounding].inferred, "ANY") == NULL || trace->ops.count == 0) {
        return;
    }
    writing_append(text, "Sizes: no rounding describes them\n\n");
    for (size_t op = 0; op < trace->ops.count; op++) {
        if (trace->ops.ops[op].kind == OP_ALLOC && trace->sights[op].seen.result == TARGET_OK) {
            writing_append_format(text, "  %12" PRIu64 "  %12" PRIu64 "\n",
                                  trace->ops.ops[op].size_bytes, trace->sights[op].seen.size_bytes);
        }
    }
    writing_append(text, "\n");
}

/* --- records --- */

static void add_sizes(const struct lab_trace *trace, struct facts *facts)
{
    facts_nest(facts, "sizes", '[');
    for (size_t op = 0; op < trace->ops.count; op++) {
        if (trace->ops.ops[op].kind == OP_ALLOC && trace->sights[op].seen.result == TARGET_OK) {
            facts_nest(facts, NULL, '[');
            facts_count(facts, NULL, trace->ops.ops[op].size_bytes);
            facts_count(facts, NULL, trace->sights[op].seen.size_bytes);
            facts_unnest(facts, ']');
        }
    }
    facts_unnest(facts, ']');
}

static void add_calls(const struct lab_sight *sight, struct facts *facts)
{
    facts_nest(facts, "calls", '[');
    for (const char *at = sight->calls; *at != '\0'; at++) {
        facts_text(facts, NULL,
                   *at == 'w'   ? "wait"
                   : *at == 'm' ? "move"
                   : *at == 'u' ? "unload"
                   : *at == 't' ? "take"
                                : "give");
    }
    facts_unnest(facts, ']');
}

static void tell_experiment(const struct infer_result *result, enum experiment_number number,
                            struct facts *facts)
{
    const struct lab_trace *trace = find_trace(result, number);
    const struct lab_sight *asked = trace_asked(trace);
    facts_open(facts, "experiment");
    facts_text(facts, "name", experiments[number].name);
    facts_text(facts, "question", experiments[number].question);
    facts_text(facts, "bounds", experiments[number].bounds);
    facts_boolean(facts, "made", trace->why[0] == '\0');
    if (trace->why[0] != '\0') {
        facts_text(facts, trace->is_dead ? "died" : "why", trace->why);
    }
    facts_count(facts, "ops", trace->ops.count);
    if (asked != NULL) {
        facts_count(facts, "op", trace->asked);
        facts_text(facts, "result", name_result(asked->seen.result));
        add_calls(asked, facts);
    }
    if (number == EXPERIMENT_sizes) {
        add_sizes(trace, facts);
    }
    facts_close(facts);
}

static void add_text_or_null(struct facts *facts, const char *name, const char *text)
{
    if (text[0] == '\0') {
        facts_null(facts, name);
    } else {
        facts_text(facts, name, text);
    }
}

static void tell_line(const struct infer_result *result, const struct inference_line *line,
                      struct facts *facts)
{
    facts_open(facts, "field");
    facts_text(facts, "field", line->name);
    facts_boolean(facts, "member", line->is_member);
    add_text_or_null(facts, "declared", line->declared);
    add_text_or_null(facts, "inferred", line->inferred);
    facts_text(facts, "verdict", inference_verdict_name(line->verdict));
    if (line->experiment != EXPERIMENT_COUNT) {
        facts_text(facts, "experiment", experiments[line->experiment].name);
    }
    if (line->experiment != EXPERIMENT_COUNT &&
        line->op < find_trace(result, line->experiment)->ops.count) {
        facts_count(facts, "op", line->op);
    }
    facts_text_if(facts, "expected", line->expected);
    facts_text_if(facts, "seen", line->seen);
    facts_close(facts);
}

/* Whether it changes nothing but what is declared, and so what is judged. */
static bool is_declaration(const struct infer_option *option)
{
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        if (option->is_changed[i] && i != EFFECT_CONTRACT && i != EFFECT_FINDINGS) {
            return false;
        }
    }
    return true;
}

static void tell_values(const struct infer_option *option, struct facts *facts,
                        struct writing *words)
{
    const struct option_values *values = &option->values;
    facts_nest(facts, "values", '[');
    for (size_t i = 0; i < values->count; i++) {
        if (!option->is_refused[i]) {
            facts_text(facts, NULL, values->values[i]);
        }
        writing_append_format(words, "%s%s%s", i == 0 ? "" : "|", values->values[i],
                              option->is_refused[i] ? " (refused)" : "");
    }
    facts_unnest(facts, ']');
    if (values->is_open) {
        writing_append(words, values->count == 0 ? "any text" : "|any text");
    }
}

static void tell_option(const struct infer_option *option, struct facts *facts)
{
    const bool is_tried = option->tried_count > 0 &&
                          (option->values.count > 0 || !option->values.is_open);
    const char *before = "changes ";
    struct writing values = {0}, effects = {0};
    facts_open(facts, "option");
    facts_text(facts, "key", option->values.key);
    tell_values(option, facts, &values);
    facts_nest(facts, "changes", '[');
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        if (option->is_changed[i]) {
            facts_text(facts, NULL, effect_name((enum effect)i));
            writing_append_format(&effects, "%s%s", before, effect_name((enum effect)i));
            before = ", ";
        }
    }
    facts_unnest(facts, ']');
    facts_boolean(facts, "other_values", option->values.is_open);
    facts_close(facts);
    facts_answer(facts, "  %s=%s: %s", option->values.key, writing_string(&values),
                 !is_tried                 ? "not tried"
                 : !is_declaration(option) ? writing_string(&effects)
                 : option->is_changed[EFFECT_CONTRACT]
                     ? "changes what is declared, and nothing that is done"
                     : "does nothing that these experiments can observe");
    writing_deinit(&values);
    writing_deinit(&effects);
}

static void tell_options(const struct infer_result *result, struct facts *facts)
{
    if (result->option_count > 0) {
        facts_line(facts, "Options");
        facts_line(facts, "%s", "");
        for (size_t i = 0; i < result->option_count; i++) {
            tell_option(&result->options[i], facts);
        }
        facts_line(facts, "%s", "");
    }
}

static void tell_end(const struct infer_result *result, struct facts *facts)
{
    struct writing words = {0};
    facts_open(facts, "end");
    facts_count(facts, "experiments", count_made(result));
    facts_count(facts, "ops", count_ops(result));
    facts_count(facts, "refuted", result->refuted_count);
    facts_count(facts, "died", result->dead_count);
    facts_count(facts, "exit", (uint64_t)result->exit_code);
    facts_close(facts);
    if (result->refuted_count == 0) {
        writing_append(&words, "no promise is refuted");
    } else {
        writing_append_format(&words, "promises refuted: %zu", result->refuted_count);
    }
    if (result->dead_count > 0) {
        writing_append_format(&words, "; experiments that the target did not survive: %zu",
                              result->dead_count);
    }
    facts_answer(facts, "%s", writing_string(&words));
    writing_deinit(&words);
}

void infer_tell(const struct infer_result *result, struct facts *facts)
{
    char capacity[SIZE_TEXT_BYTES];
    struct writing words = {0};
    size_print(result->setup->capacity_bytes, capacity);
    facts_line(facts, "infer %s, capacity %s: %zu of %d experiments made, %zu ops",
               result->setup->target, capacity, count_made(result), (int)EXPERIMENT_COUNT,
               count_ops(result));
    facts_line(facts, "%s", "");
    append_contract(result, &words);
    facts_lines(facts, &words);
    writing_clear(&words);
    append_comparison(result, &words);
    append_refutations(result, &words);
    append_sizes(result, &words);
    facts_answers(facts, &words);
    writing_deinit(&words);
    facts_open(facts, "start");
    facts_text(facts, "subcommand", "infer");
    facts_text(facts, "hbmstress", version_text());
    facts_target(facts, result->setup);
    facts_count(facts, "capacity_bytes", result->setup->capacity_bytes);
    facts_close(facts);
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        tell_experiment(result, (enum experiment_number)i, facts);
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        tell_line(result, &result->lines[i], facts);
    }
    for (size_t i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (result->rules[i].verdict == INFERENCE_REFUTED) {
            tell_line(result, &result->rules[i], facts);
        }
    }
    tell_options(result, facts);
    tell_end(result, facts);
}
