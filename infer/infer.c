#include "infer/infer.h"

#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/op/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COUNT_MAX = 32 };
/* After so many experiments that it did not survive the target is left alone: each may be a hang,
 * which takes its time. */
enum { DEATH_COUNT_MAX = 3 };

struct infer {
    const struct infer_options *given;
    const struct target *target;
    struct setup setup;
    struct journal *journal; /* shared with the children */
    struct inference inference;
    struct infer_option options[OPTION_COUNT_MAX];
    struct infer_result result;
    size_t death_count;  /* under its own contract */
    enum exit_code code; /* of the first failure of ours */
};

/* --- experiments in a process of their own --- */

/* The experiments from first up to end. */
struct infer_work {
    const struct target *target;
    const struct setup *setup;
    struct limits limits;
    enum claim claim;
    struct journal *journal;
    size_t first, end;
};

static void make_experiments(void *context, int file)
{
    struct infer_work *work = context;
    struct target claiming = *work->target;
    struct writing bytes = {0};
    struct lab_trace *traces = experiment_traces_create();
    bool is_heard = true;
    if (work->claim != CLAIM_NONE) {
        claim_make(work->claim, work->target, &claiming);
    }
    for (size_t i = work->first; i < work->end && is_heard; i++) {
        if (work->first == 0 && i == EXPERIMENT_LIMIT_COUNT) {
            work->limits = experiment_limits(traces);
        }
        work->journal->count = 0;
        experiment_make((enum experiment_number)i, &claiming, work->setup, &work->limits,
                        work->journal, &traces[i]);
        writing_clear(&bytes);
        trace_append(&traces[i], &bytes);
        is_heard = file_write_all(file, bytes.bytes, bytes.length);
    }
    writing_deinit(&bytes);
    experiment_traces_destroy(traces);
}

/* What is left of an experiment that the target did not survive: its ops, without what they saw. */
static void take_dead(const struct journal *journal, const struct death *death,
                      struct lab_trace *trace)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    trace_clear(trace);
    for (uint32_t i = 0; i < journal->count; i++) {
        trace_add_begun(trace, &journal->ops[i]);
    }
    trace->is_dead = 1;
    (void)snprintf(trace->why, sizeof trace->why, "op %lu: %.*s", (unsigned long)death->progress.op,
                   TRACE_WHY_BYTES - 32, words);
}

/* The traces that the child answered, from work->first on; the next one died with it. */
static void take_traces(const struct infer_work *work, const struct writing *answer, bool is_dead,
                        const struct death *death, struct lab_trace *traces)
{
    size_t used = 0;
    for (size_t i = work->first; i < work->end; i++) {
        const size_t length = used < answer->length ? trace_read(&traces[i], answer->bytes + used,
                                                                 answer->length - used)
                                                    : 0;
        used += length;
        if (length == 0 && is_dead) {
            take_dead(work->journal, death, &traces[i]);
            return;
        }
    }
}

/* False: a failure of ours; infer->code. */
static bool run_work(struct infer *infer, struct infer_work *work, struct writing *output,
                     struct lab_trace *traces)
{
    const struct child_job job = {.work = make_experiments,
                                  .context = work,
                                  .duration_ns = infer->given->run->trial_timeout_ns,
                                  .op_timeout_ns = infer->given->run->op_timeout_ns,
                                  .stuck_ns = infer->given->run->op_timeout_ns,
                                  .is_interruptible = true,
                                  .output = output,
                                  .is_quiet = true};
    struct death death;
    struct writing answer = {0};
    const enum child_end end = child_work(&job, &answer, &death);
    if (end == CHILD_NOT_BORN) {
        infer->code = message_fail(EXIT_HARNESS, "cannot start another process: %s",
                                   strerror(errno));
    } else if (end == CHILD_STOPPED && death.kind == DEATH_NONE) {
        infer->code = message_fail(EXIT_HARNESS, "interrupted");
    } else if (death.kind == DEATH_CHECK) {
        char words[DEATH_WORDS_BYTES];
        death_describe(&death, words);
        infer->code = message_fail(EXIT_HARNESS, "%s: %s", experiments[work->first].name, words);
    } else {
        take_traces(work, &answer, end != CHILD_DONE, &death, traces);
    }
    writing_deinit(&answer);
    return infer->code == EXIT_KEPT;
}

/* --- the battery --- */

/* What the oracle found of itself. */
static bool is_disputed(struct infer *infer, const struct lab_trace *trace)
{
    for (size_t i = 0; i < trace->findings.count; i++) {
        if (trace->findings.findings[i].verdict.kind == VERDICT_DISPUTED) {
            infer->code = message_fail(
                EXIT_HARNESS, "internal error: the two judges disagree: %s. Please report this.",
                trace->findings.findings[i].verdict.reason);
            return true;
        }
    }
    return false;
}

static bool make_declared(struct infer *infer)
{
    struct infer_work work = {
        .target = infer->target, .setup = &infer->setup, .journal = infer->journal};
    struct lab_trace *traces = infer->inference.declared;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        if (i == EXPERIMENT_LIMIT_COUNT) {
            work.limits = experiment_limits(traces);
        }
        if (infer->death_count == DEATH_COUNT_MAX) {
            (void)snprintf(traces[i].why, sizeof traces[i].why,
                           "the target did not survive %d others", DEATH_COUNT_MAX);
            continue;
        }
        work.first = i;
        work.end = i + 1;
        if (!run_work(infer, &work, NULL, traces) || is_disputed(infer, &traces[i])) {
            return false;
        }
        infer->death_count += traces[i].is_dead;
    }
    return true;
}

static bool make_claimed(struct infer *infer)
{
    struct infer_work work = {.target = infer->target,
                              .setup = &infer->setup,
                              .journal = infer->journal,
                              .limits = experiment_limits(infer->inference.declared)};
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        work.claim = experiments[i].claim;
        work.first = i;
        work.end = i + 1;
        if (work.claim != CLAIM_NONE &&
            !claim_is_declared(work.claim, inference_contract(&infer->inference)) &&
            !run_work(infer, &work, NULL, infer->inference.claimed)) {
            return false;
        }
    }
    return true;
}

/* --- options --- */

/* The hashes of all experiments with that value; false: infer->code, or *is_refused. */
static bool measure_value(struct infer *infer, const char *key, const char *value, bool *is_refused,
                          struct effects *effects)
{
    struct setup setup = infer->setup;
    struct writing output = {0};
    struct infer_work work = {.target = infer->target,
                              .setup = &setup,
                              .journal = infer->journal,
                              .end = EXPERIMENT_COUNT};
    if (value != NULL && !setup_set_option(&setup, key, value)) {
        *is_refused = true;
        return false;
    }
    struct lab_trace *traces = experiment_traces_create();
    const bool is_run = run_work(infer, &work, &output, traces);
    *is_refused = is_run && !traces[0].is_opened && !traces[0].is_dead;
    *effects = effects_read(traces, &output);
    writing_deinit(&output);
    experiment_traces_destroy(traces);
    return is_run && !*is_refused;
}

static void compare_effects(struct infer_option *option, const struct effects *a,
                            const struct effects *b)
{
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        option->is_changed[i] = option->is_changed[i] || a->hashes[i] != b->hashes[i];
    }
}

/* Each value against what the options of the command line give. */
static bool try_option(struct infer *infer, struct infer_option *option,
                       const struct effects *usual)
{
    for (size_t i = 0; i < option->values.count; i++) {
        struct effects effects;
        if (measure_value(infer, option->values.key, option->values.values[i],
                          &option->is_refused[i], &effects)) {
            compare_effects(option, usual, &effects);
            option->tried_count++;
        }
        if (infer->code != EXIT_KEPT) {
            return false;
        }
    }
    return true;
}

static bool try_options(struct infer *infer)
{
    size_t at = 0;
    struct infer_result *result = &infer->result;
    struct effects usual;
    bool is_refused;
    result->options = infer->options;
    struct option_values first;
    if (!option_values_next(infer->target, &at, &first)) {
        return true;
    }
    at = 0;
    if (!measure_value(infer, NULL, NULL, &is_refused, &usual)) {
        return infer->code == EXIT_KEPT;
    }
    while (result->option_count < OPTION_COUNT_MAX &&
           option_values_next(infer->target, &at, &infer->options[result->option_count].values)) {
        if (!try_option(infer, &infer->options[result->option_count++], &usual)) {
            return false;
        }
    }
    return true;
}

/* --- what is left --- */

static enum exit_code save_list(const struct infer *infer, enum experiment_number number,
                                const char *directory)
{
    const struct lab_trace *trace = &infer->inference.declared[number];
    struct setup setup = infer->setup;
    char path[OUTPUT_PATH_BYTES];
    struct writing comments = {0};
    setup.granule_bytes = inference_contract(&infer->inference)->granule_bytes;
    if ((size_t)snprintf(path, sizeof path, "%s/%s.ops", directory, experiments[number].name) >=
        sizeof path) {
        return message_fail(EXIT_HARNESS, "%.80s...: %s", path, strerror(ENAMETOOLONG));
    }
    comment_append(&comments, "experiment: ", experiments[number].question);
    comment_append(&comments, "tried: ", experiments[number].bounds);
    target_path_append_comment(&comments, setup.target, path);
    const enum exit_code code = ops_output(path, &setup, &trace->ops, writing_string(&comments));
    writing_deinit(&comments);
    return code;
}

static enum exit_code save_lists(const struct infer *infer)
{
    const char *directory = infer->given->run->out;
    for (size_t i = 0; directory != NULL && i < EXPERIMENT_COUNT; i++) {
        const enum exit_code code = infer->inference.declared[i].ops.count == 0
                                        ? EXIT_KEPT
                                        : save_list(infer, (enum experiment_number)i, directory);
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    return EXIT_KEPT;
}

static void read_lines(struct infer *infer)
{
    struct infer_result *result = &infer->result;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        inference_read(&infer->inference, (enum inference_field)i, &result->lines[i]);
        result->refuted_count += result->lines[i].verdict == INFERENCE_REFUTED;
    }
    for (size_t i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        inference_read_rule(&infer->inference, (enum rule)i, &result->rules[i]);
        result->refuted_count += result->rules[i].verdict == INFERENCE_REFUTED;
    }
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        result->dead_count += infer->inference.declared[i].is_dead;
    }
    result->exit_code = result->refuted_count + result->dead_count > 0 ? EXIT_BROKEN : EXIT_KEPT;
}

/* One line for each experiment that the target did not survive. */
static void tell_deaths(const struct infer *infer)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct lab_trace *trace = &infer->inference.declared[i];
        if (trace->is_dead) {
            message_note("experiment %s, %s", experiments[i].name, trace->why);
        }
    }
}

static enum exit_code print_result(const struct infer *infer)
{
    struct facts facts = {0};
    struct output output;
    output_init(&output, infer->given->run->is_json);
    infer_tell(&infer->result, &facts);
    output_facts(&output, &facts);
    facts_deinit(&facts);
    tell_deaths(infer);
    return output.is_failed ? EXIT_HARNESS : (enum exit_code)infer->result.exit_code;
}

static enum exit_code make_all(struct infer *infer)
{
    if (!make_declared(infer)) {
        return infer->code;
    }
    /* What it would do in other ways is not to be had of a target that dies in its own. */
    if (infer->death_count == 0 && !(make_claimed(infer) && try_options(infer))) {
        return infer->code;
    }
    const enum exit_code code = save_lists(infer);
    if (code != EXIT_KEPT) {
        return code;
    }
    read_lines(infer);
    return print_result(infer);
}

/* --- the beginning --- */

static void choose_capacity(struct infer *infer, bool has_regions)
{
    infer->setup.capacity_bytes = experiment_capacity_bytes(has_regions);
    limits_keep_setup(&infer->target->limits, &infer->setup);
}

static enum exit_code read_setup(struct infer *infer)
{
    const struct infer_options *options = infer->given;
    const char *name = options->target;
    enum exit_code code = lookup_target(name, &infer->target);
    if (code != EXIT_KEPT) {
        return code;
    }
    setup_init(&infer->setup);
    code = setup_override(&infer->setup, options->run);
    if (code != EXIT_KEPT) {
        return code;
    }
    (void)snprintf(infer->setup.target, sizeof infer->setup.target, "%s", name);
    const bool is_given = infer->setup.capacity_bytes != 0;
    struct target_probe target_probe;
    if (!is_given) {
        choose_capacity(infer, false);
    }
    code = target_probe_run(infer->target, &infer->setup, NULL, options->run->trial_timeout_ns,
                            &target_probe);
    if (code == EXIT_KEPT && !is_given && target_probe.has_regions) {
        choose_capacity(infer, true);
    }
    return code == EXIT_KEPT && options->run->out != NULL ? place_make_folder(options->run->out)
                                                          : code;
}

enum exit_code infer_run(const struct infer_options *options)
{
    struct infer *infer = calloc(1, sizeof *infer);
    CHECK(infer != NULL);
    infer->given = options;
    enum exit_code code = read_setup(infer);
    infer->journal = shared_memory_create(sizeof *infer->journal);
    if (code == EXIT_KEPT && infer->journal == NULL) {
        code = message_fail(EXIT_HARNESS, "cannot share memory with another process: %s",
                            strerror(errno));
    }
    if (code == EXIT_KEPT) {
        infer->inference = (struct inference){infer->target, experiment_traces_create(),
                                              experiment_traces_create()};
        infer->result.setup = &infer->setup;
        infer->result.directory = options->run->out;
        infer->result.inference = &infer->inference;
        code = make_all(infer);
        experiment_traces_destroy(infer->inference.declared);
        experiment_traces_destroy(infer->inference.claimed);
    }
    shared_memory_destroy(infer->journal, sizeof *infer->journal);
    free(infer);
    return code;
}
