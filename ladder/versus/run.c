/* compare: what its words name, what counts as a regression, and all of it from the lists to the
 * exit code. */
#include "campaign/plan/lookup.h"
#include "harness/base/check.h"
#include "infer/inference.h"
#include "ladder/versus/versus.h"

#include <stdlib.h>
#include <string.h>

const char *versus_contract_name(enum versus_contract contract)
{
    static const char *const names[VERSUS_CONTRACT_COUNT] = {
        [VERSUS_UNSAID] = "declared",   [VERSUS_OLD] = "old",           [VERSUS_NEW] = "new",
        [VERSUS_DECLARED] = "declared", [VERSUS_INFERRED] = "inferred", [VERSUS_NONE] = "none"};
    return names[contract];
}

struct target_reply versus_ask(struct versus *versus, void (*work)(void *context, int file),
                               void *context, void *to, size_t length)
{
    const struct target_question question = {versus->options->run, &versus->death, work, context};
    return target_ask(&question, to, length, NULL, 0);
}

const struct target *versus_load(const struct versus_side *side)
{
    const struct target *target;
    CHECK(lookup_target(side->name, &target) == EXIT_KEPT);
    return target;
}

/* --- regressions --- */

static bool is_served(uint8_t answer)
{
    return answer == ANSWER_GRANTED;
}

static void compare_answers(const struct versus_row *old_row, const struct versus_row *new_row,
                            size_t op_count, struct versus_result *result)
{
    for (size_t i = 0; i < op_count; i++) {
        const uint8_t old_answer = old_row->answers[i], new_answer = new_row->answers[i];
        if (is_served(old_answer) && new_answer == ANSWER_REFUSED) {
            result->first_op = result->only_old_count++ == 0 ? (uint32_t)i : result->first_op;
        } else if (old_answer == ANSWER_REFUSED && is_served(new_answer)) {
            result->only_new_count++;
        }
    }
}

/* Percent of the refusals that were judged either way. */
static double find_share(const struct judged *judged)
{
    const uint64_t decided = judged->justified + judged->premature;
    return decided == 0 ? 0 : 100.0 * (double)judged->premature / (double)decided;
}

static bool is_more_premature(const struct versus_options *options, const struct judged *old_one,
                              const struct judged *new_one)
{
    return new_one->premature > old_one->premature &&
           find_share(new_one) > find_share(old_one) + (double)options->premature_max;
}

/* One that no capacity serves needs more than any. */
static bool is_larger(const struct versus_options *options, const struct smallest *old_one,
                      const struct smallest *new_one)
{
    if (old_one->bytes == 0) {
        return false;
    }
    return new_one->bytes == 0 ||
           (double)new_one->bytes >
               (double)old_one->bytes * (1 + (double)options->capacity_max / 100.0);
}

static bool is_costlier(const struct versus_options *options, const struct cost *old_one,
                        const struct cost *new_one)
{
    if (!options->has_cost_max || old_one->instructions == 0 || new_one->instructions == 0) {
        return false;
    }
    const double old_each = (double)old_one->instructions / (double)old_one->op_count;
    const double new_each = (double)new_one->instructions / (double)new_one->op_count;
    return new_each > old_each * (1 + (double)options->cost_max / 100.0);
}

/* It keeps less than the other one, or nothing. */
static unsigned find_harm(const struct judged *old_one, const struct judged *new_one)
{
    const bool has_ended = old_one->end == JUDGED_WHOLE && new_one->end != JUDGED_WHOLE;
    if (new_one->end == JUDGED_DIED && old_one->end != JUDGED_DIED) {
        return VERSUS_DIES;
    }
    return has_ended || (new_one->broken > 0 && old_one->broken == 0) ? VERSUS_BREAKS : 0;
}

/* What two rows of one list come to, with the thresholds of the command line. */
static void judge(const struct versus_options *options, const struct versus_row *old_row,
                  const struct versus_row *new_row, size_t op_count, struct versus_result *result)
{
    *result = (struct versus_result){.first_op = OP_NONE};
    compare_answers(old_row, new_row, op_count, result);
    result->regressions = find_harm(&old_row->judged, &new_row->judged);
    if (new_row->judged.end == JUDGED_WHOLE && old_row->judged.end == JUDGED_WHOLE) {
        if (new_row->judged.ooms > old_row->judged.ooms + options->refused_max) {
            result->regressions |= VERSUS_REFUSES;
        }
        if (is_more_premature(options, &old_row->judged, &new_row->judged)) {
            result->regressions |= VERSUS_IS_PREMATURE;
        }
    }
    if (is_larger(options, &old_row->smallest, &new_row->smallest)) {
        result->regressions |= VERSUS_NEEDS_MORE;
    }
    if (is_costlier(options, &old_row->cost, &new_row->cost)) {
        result->regressions |= VERSUS_COSTS_MORE;
    }
}

/* --- what is compared --- */

static bool is_list(const char *word)
{
    const size_t length = strlen(word);
    return length > 4 && strcmp(word + length - 4, ".ops") == 0;
}

static enum exit_code read_contract(struct versus *versus)
{
    const char *name = versus->options->contract;
    if (name == NULL) {
        return EXIT_KEPT;
    }
    for (int i = VERSUS_OLD; i < VERSUS_CONTRACT_COUNT; i++) {
        if (strcmp(name, versus_contract_name((enum versus_contract)i)) == 0) {
            versus->contract = (enum versus_contract)i;
        }
    }
    if (versus->contract == VERSUS_UNSAID) {
        return message_fail(EXIT_USAGE,
                            "--contract: '%s' is not old, new, declared, inferred or none", name);
    }
    const bool names_side = versus->contract == VERSUS_OLD || versus->contract == VERSUS_NEW;
    if (names_side && versus->side_count == 1) {
        return message_fail(EXIT_USAGE, "--contract %s needs two targets, OLD and NEW", name);
    }
    return EXIT_KEPT;
}

static enum exit_code read_words(struct versus *versus)
{
    const struct versus_options *options = versus->options;
    const size_t word_count = options->word_count;
    if (word_count == 0) {
        return options->benches ? EXIT_KEPT
                                : message_fail(EXIT_USAGE, "compare needs a TARGET; see hbmstress "
                                                           "compare --help");
    }
    versus->side_count = word_count > 1 && !is_list(options->words[1]) ? 2 : 1;
    if (is_list(options->words[0])) {
        return message_fail(EXIT_USAGE, "'%s' is an op list; name a target before it",
                            options->words[0]);
    }
    for (size_t i = versus->side_count; i < word_count; i++) {
        if (!is_list(options->words[i])) {
            return message_fail(EXIT_USAGE,
                                "'%s' is no op list (FILE.ops); compare takes one or two targets "
                                "before the lists",
                                options->words[i]);
        }
    }
    for (size_t i = 0; i < versus->side_count; i++) {
        versus->sides[i].name = options->words[i];
    }
    if (versus->side_count == 1 && options->run->annotation != ANNOTATION_NONE) {
        return message_fail(EXIT_USAGE, "--annotate shows regressions: it needs OLD and NEW");
    }
    return read_contract(versus);
}

/* --- contracts --- */

static enum exit_code check_same(const struct versus *versus)
{
    struct writing words = {0};
    size_t count = 0;
    for (size_t i = 0; versus->side_count > 1 && i < FIELD_COUNT; i++) {
        char texts[VERSUS_SIDE_COUNT_MAX][INFERENCE_TEXT_BYTES] = {"", ""};
        inference_declared((enum inference_field)i, &versus->sides[0].contract, texts[0]);
        inference_declared((enum inference_field)i, &versus->sides[1].contract, texts[1]);
        if (strcmp(texts[0], texts[1]) != 0) {
            writing_append_format(&words, "%s%s = %s against %s", count++ == 0 ? "" : ", ",
                                  inference_field_name((enum inference_field)i), texts[0],
                                  texts[1]);
        }
    }
    const enum exit_code code =
        count == 0 ? EXIT_KEPT
                   : message_fail(EXIT_USAGE,
                                  "the contracts differ (%s); say by which both are judged: "
                                  "--contract old, new, declared, inferred or none",
                                  writing_string(&words));
    writing_deinit(&words);
    return code;
}

static enum exit_code choose_contract(struct versus *versus, size_t side)
{
    struct versus_side *judged = &versus->sides[side];
    switch (versus->contract) {
    case VERSUS_OLD:
    case VERSUS_NEW: {
        const size_t from = versus->contract == VERSUS_NEW;
        if (from != side) {
            judged->held = (struct judged_held){.kind = HELD_CONTRACT,
                                                .contract = versus->sides[from].contract};
        }
        return EXIT_KEPT;
    }
    case VERSUS_INFERRED:
        return versus_ask_rounding(versus, side);
    case VERSUS_NONE:
        judged->held = (struct judged_held){.kind = HELD_NONE, .contract = judged->contract};
        return EXIT_KEPT;
    default:
        return EXIT_KEPT;
    }
}

/* All targets are asked before anything is measured. */
static enum exit_code read_contracts(struct versus *versus)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; code == EXIT_KEPT && i < versus->side_count; i++) {
        code = versus_ask_contract(versus, i);
    }
    if (code == EXIT_KEPT && versus->contract == VERSUS_UNSAID) {
        code = check_same(versus);
    }
    for (size_t i = 0; code == EXIT_KEPT && i < versus->side_count; i++) {
        code = choose_contract(versus, i);
    }
    return code;
}

/* --- measuring --- */

static enum exit_code measure_list(struct versus *versus, size_t list, struct output *output,
                                   struct facts *facts)
{
    for (size_t side = 0; side < versus->side_count; side++) {
        const enum exit_code code = versus_measure(versus, list, side);
        if (code != EXIT_KEPT) {
            return code;
        }
        if (output->is_json) {
            versus_tell_row(versus, list, side, facts);
            output_facts(output, facts);
        }
    }
    if (versus->side_count > 1) {
        const struct versus_row *rows = &versus->rows[list * versus->side_count];
        judge(versus->options, &rows[0], &rows[1], versus->lists[list].ops.count,
              &versus->results[list]);
    }
    if (output->is_json) {
        versus_tell_result(versus, list, facts);
        output_facts(output, facts);
    }
    return EXIT_KEPT;
}

/* The list whose regression is shown: of those that a list can show the first.  list_count: none.
 */
static size_t find_shown(const struct versus *versus)
{
    size_t found = versus->list_count;
    for (size_t i = versus->list_count; i-- > 0;) {
        const unsigned bits = versus->results[i].regressions;
        const bool is_costly_alone = bits == VERSUS_COSTS_MORE;
        const bool was_costly_alone = found < versus->list_count &&
                                      versus->results[found].regressions == VERSUS_COSTS_MORE;
        if (bits != 0 && (found == versus->list_count || !is_costly_alone || was_costly_alone)) {
            found = i;
        }
    }
    return found;
}

/* A single target is measured and not judged: what broke is in its row. */
static enum exit_code find_exit_code(struct versus *versus)
{
    const size_t shown = versus->side_count > 1 ? find_shown(versus) : versus->list_count;
    if (shown == versus->list_count) {
        return EXIT_KEPT;
    }
    const enum exit_code code = versus_show(versus, shown);
    return code == EXIT_KEPT ? EXIT_BROKEN : code;
}

/* JSON has all but the end already. */
static enum exit_code print_end(const struct versus *versus, enum exit_code code,
                                struct output *output, struct facts *facts)
{
    if (!output->is_json) {
        versus_tell_table(versus, facts);
        for (size_t list = 0; list < versus->list_count; list++) {
            versus_tell_result(versus, list, facts);
        }
    }
    versus_tell_end(versus, code, facts);
    output_facts(output, facts);
    return output->is_failed ? EXIT_HARNESS : code;
}

/* Behind the table, which they add nothing to. */
static enum exit_code put_annotations(const struct versus *versus, enum exit_code code,
                                      struct output *output)
{
    struct annotations annotations = {0};
    struct writing heading = {0};
    versus_closing_line(versus, &heading);
    versus_annotate(versus, &annotations);
    const enum exit_code put = annotate_put(versus->options->run, output, writing_string(&heading),
                                            &annotations);
    annotations_deinit(&annotations);
    writing_deinit(&heading);
    return put == EXIT_KEPT ? code : put;
}

static enum exit_code measure_all(struct versus *versus)
{
    struct output output;
    struct facts facts = {0};
    output_init(&output, versus->options->run->is_json);
    output.is_of_github = versus->options->run->annotation == ANNOTATION_GITHUB;
    versus->rows = calloc(versus->list_count * versus->side_count, sizeof *versus->rows);
    versus->results = calloc(versus->list_count, sizeof *versus->results);
    CHECK(versus->rows != NULL && versus->results != NULL);
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; code == EXIT_KEPT && i < versus->list_count; i++) {
        code = measure_list(versus, i, &output, &facts);
    }
    if (code == EXIT_KEPT) {
        code = find_exit_code(versus);
    }
    if (code == EXIT_KEPT || code == EXIT_BROKEN) {
        code = print_end(versus, code, &output, &facts);
    }
    if (code == EXIT_KEPT || code == EXIT_BROKEN) {
        code = put_annotations(versus, code, &output);
    }
    for (size_t i = 0; i < versus->list_count * versus->side_count; i++) {
        free(versus->rows[i].answers);
    }
    free(versus->rows);
    free(versus->results);
    facts_deinit(&facts);
    return code;
}

static enum exit_code compare_lists(struct versus *versus)
{
    enum exit_code code = versus_lists_read(versus);
    code = code == EXIT_KEPT ? read_contracts(versus) : code;
    code = code == EXIT_KEPT ? annotate_begin(versus->options->run) : code;
    return code == EXIT_KEPT ? measure_all(versus) : code;
}

/* What only one of the ways to compare understands. */
static enum exit_code check_options(const struct versus *versus)
{
    const struct versus_options *options = versus->options;
    const char *way = options->plays_robson ? "--robson" : "--blocks, --full, --steps and --time";
    if (options->besides != NULL) {
        return message_fail(EXIT_USAGE, "%s has no meaning with %s", options->besides, way);
    }
    if (options->word_count > versus->side_count && options->plays_robson) {
        return message_fail(EXIT_USAGE, "--robson plays by where blocks lie and runs no op list");
    }
    if (options->word_count > versus->side_count && options->benches) {
        return message_fail(EXIT_USAGE, "%s measure a target and run no op list", way);
    }
    if (!options->plays_robson && options->run->scenario_option_count > 0) {
        return message_fail(EXIT_USAGE, "--scenario-option has no meaning without --robson");
    }
    return EXIT_KEPT;
}

enum exit_code versus_run(const struct versus_options *options)
{
    struct versus *versus = calloc(1, sizeof *versus);
    CHECK(versus != NULL);
    versus->options = options;
    enum exit_code code = read_words(versus);
    code = code == EXIT_KEPT ? check_options(versus) : code;
    if (code == EXIT_KEPT) {
        code = options->plays_robson ? versus_robson(versus)
               : options->benches    ? versus_bench(versus)
                                     : compare_lists(versus);
    }
    versus_lists_deinit(versus);
    free(versus);
    return code;
}
