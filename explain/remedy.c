/* What would help: the remedy of each cause, and what came of it when it was run; when a list that
 * grows is full; the largest batch; how memory comes back. */
#include "diagnosis/cause.h"
#include "diagnosis/largest_batch.h"
#include "explain/private/explanation.h"
#include "targets/plugin.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 4 };
/* All variants of one explanation together, and all sizes of a batch: about a second.  --what-if
 * has a larger bound. */
#define OPS_MAX (UINT64_C(1) << 17)

/* Remedies are run while the run that is explained is there, so only targets of which two can be:
 * no plug-ins, and none with threads of its own. */
static bool may_run_target(const struct explanation *explanation)
{
    return !explanation->history->has_lanes &&
           !plugin_is_named(explanation->recording->setup.target);
}

static struct what_if_trial *find_trial(struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    if (!may_run_target(explanation) || recording->view == IMPORT_SUMS) {
        return NULL;
    }
    if (explanation->trial == NULL) {
        explanation->trial = what_if_trial_create(recording->target, &recording->setup,
                                                  &recording->ops, OPS_MAX);
    }
    return explanation->trial;
}

bool explain_capacity_is_assumed(const struct explanation *explanation)
{
    return recording_capacity_is_assumed(explanation->recording);
}

/* --- projections --- */

struct projection_text projection_text_of(const struct projection *projection, uint64_t until_step)
{
    struct projection_text words;
    char until[96] = "", interval[64] = "";
    if (until_step > 0 && projection->from > until_step) {
        snprintf(until, sizeof until, "it fits to step %" PRIu64 ", the last; ", until_step);
    } else if (until_step >= projection->to) {
        snprintf(until, sizeof until, "it does not fit to step %" PRIu64 ": ", until_step);
    } else if (until_step > 0) {
        snprintf(until, sizeof until, "it may fit to step %" PRIu64 ", or not: ", until_step);
    }
    if (projection->from != projection->to) {
        snprintf(interval, sizeof interval, " (between %" PRIu64 " and %" PRIu64 ")",
                 projection->from, projection->to);
    }
    snprintf(words.text, sizeof words.text, "%sfull at about step %" PRIu64 "%s", until,
             projection->at, interval);
    return words;
}

void projection_add(struct facts *facts, const struct projection *projection, uint64_t until_step)
{
    facts_count(facts, "full_step", projection->at);
    facts_count(facts, "full_step_from", projection->from);
    facts_count(facts, "full_step_to", projection->to);
    if (until_step > 0) {
        facts_count(facts, "until_step", until_step);
        facts_text(facts, "fits_to_until",
                   projection->from > until_step  ? "yes"
                   : until_step >= projection->to ? "no"
                                                  : "perhaps");
    }
}

/* --- the remedy of a cause --- */

static void append_outcome(const struct what_if_row *row, struct writing *words)
{
    const struct size_text peak = size_text_of(row->peak_bytes);
    const struct size_text capacity = size_text_of(row->capacity_bytes);
    if (row->end == WHAT_IF_FITS) {
        writing_append_format(words, "it fits, peak %s of %s, headroom %s", peak.text,
                              capacity.text, size_text_of(row->headroom_bytes).text);
    } else if (row->end == WHAT_IF_NO_MEMORY) {
        writing_append_format(words, "not enough, %s are still refused at a peak of %s of %s",
                              size_text_of(row->requested_bytes).text, peak.text, capacity.text);
    } else {
        writing_append(words, what_if_end_name(row->end));
    }
}

/* Of one that fits. */
static void append_growth(const struct forecast *forecast, uint64_t until_step,
                          struct writing *words)
{
    if (forecast->grows) {
        writing_append_format(words, "; it still grows: %s",
                              projection_text_of(&forecast->full, until_step).text);
    } else if (until_step > 0) {
        writing_append_format(
            words,
            "; memory no longer grows from step to step, so it fits to step %" PRIu64 ", too",
            until_step);
    } else {
        writing_append(words,
                       "; memory no longer grows from step to step, so later steps fit, too");
    }
}

static void say_answer(struct explanation *explanation, const struct diagnosis *diagnosis,
                       const struct what_if_answer *answer, const char *advice)
{
    static const char *const results[] = {[ADVICE_SAME] = "Results stay the same.",
                                          [ADVICE_ROUNDING] = "Results differ by rounding.",
                                          [ADVICE_OTHER] = "Results change."};
    const struct what_if_row *row = &answer->row;
    struct writing words = {0};
    if (answer->is_tried) {
        writing_append_format(&words, "Run (%s%s): ", row->title,
                              answer->remedy->is_estimate ? ", an estimate" : "");
        append_outcome(row, &words);
        if (diagnosis->cause->claim == CLAIM_GROWTH && row->end == WHAT_IF_FITS) {
            append_growth(&answer->forecast, explanation->recording->setup.until_step, &words);
        }
        writing_append(&words, ". ");
    } else {
        writing_append_format(&words, "It was %s; --what-if runs it. ", row->note);
    }
    if (row->sign[0] != '\0') {
        writing_append_format(&words, "Sign: %s. ", row->sign);
    }
    facts_say(&explanation->facts, "    ", INDENT, "remedy: %s. %s%s", advice,
              writing_string(&words), results[advice_results(answer->remedy)]);
    writing_deinit(&words);
}

static void add_answer(struct explanation *explanation, const struct diagnosis *diagnosis,
                       const struct what_if_answer *answer, const char *advice)
{
    struct facts *facts = &explanation->facts;
    const struct what_if_row *row = &answer->row;
    facts_open(facts, "remedy");
    facts_text(facts, "answers", diagnosis->cause->name);
    facts_text(facts, "remedy", answer->remedy->name);
    facts_text(facts, "advice", advice);
    facts_text(facts, "results", advice_results_name(advice_results(answer->remedy)));
    facts_boolean(facts, "tried", answer->is_tried);
    if (answer->is_tried) {
        facts_text(facts, "title", row->title);
        facts_text(facts, "result", what_if_end_name(row->end));
        facts_boolean(facts, "fits", row->end == WHAT_IF_FITS);
        facts_boolean(facts, "estimate", answer->remedy->is_estimate);
        facts_size(facts, "peak_bytes", row->peak_bytes);
        facts_size(facts, "headroom_bytes", what_if_headroom_bytes(row));
        facts_boolean(facts, "grows", answer->forecast.grows);
        if (answer->forecast.grows) {
            projection_add(facts, &answer->forecast.full, explanation->recording->setup.until_step);
        }
    }
    facts_text(facts, "note", row->note);
    facts_text_if(facts, "sign", row->sign);
    facts_close(facts);
}

/* The first that fits is what to do next, unless it is an estimate and a later one is none;
 * otherwise the first that there is. */
static void keep_best(struct explanation *explanation, const struct what_if_answer *answer,
                      const char *words)
{
    struct explain_best *best = &explanation->best;
    const bool fits = answer->is_tried && answer->row.end == WHAT_IF_FITS;
    const bool is_surer = best->fits && best->is_estimate && !answer->remedy->is_estimate;
    if (!best->is_there || (fits && (!best->fits || is_surer))) {
        *best = (struct explain_best){.is_there = true,
                                      .fits = fits,
                                      .is_tried = answer->is_tried,
                                      .is_estimate = answer->remedy->is_estimate};
        snprintf(best->words, sizeof best->words, "%s", words);
    }
}

/* What fitted before with the same words is not said again. */
void explain_remedy(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    const struct remedy *const *choices = diagnosis->cause->remedies;
    struct what_if_trial *trial = choices[0] == NULL ? NULL : find_trial(explanation);
    struct what_if_answer answer;
    char words[ADVICE_WORDS_BYTES];
    const struct explain_best before = explanation->best;
    const bool is_needless = diagnosis->cause == &cause_exhausted && before.fits &&
                             !before.is_estimate;
    if (trial == NULL || is_needless ||
        !what_if_trial_answer(trial, choices, diagnosis->has_tag ? &diagnosis->tag : NULL,
                              &answer)) {
        return;
    }
    advice_write(answer.remedy, explanation->recording->setup.system,
                 explain_tag_name(explanation, diagnosis->tag).text, answer.row.title, words,
                 sizeof words);
    keep_best(explanation, &answer, words);
    add_answer(explanation, diagnosis, &answer, words);
    if (!before.fits || strcmp(before.words, words) != 0) {
        say_answer(explanation, diagnosis, &answer, words);
    }
}

/* --- the forecast --- */

/* What it comes to at the step that the job was headed for. */
static void say_end(struct explanation *explanation, const struct forecast *forecast)
{
    struct facts *facts = &explanation->facts;
    const uint64_t until_step = explanation->recording->setup.until_step;
    uint64_t peak_bytes[3];
    if (until_step < forecast->step_count || !forecast->has_steps) {
        return;
    }
    forecast_peak(forecast, until_step, peak_bytes);
    facts_answer(facts, "  As it is, %s.", projection_text_of(&forecast->full, until_step).text);
    facts_answer(facts, "  Step %" PRIu64 " would need about %s (between %s and %s).", until_step,
                 size_text_of(peak_bytes[1]).text, size_text_of(peak_bytes[0]).text,
                 size_text_of(peak_bytes[2]).text);
}

static void say_full(struct explanation *explanation, const struct forecast *forecast)
{
    struct facts *facts = &explanation->facts;
    const struct projection *full = &forecast->full;
    char interval[64] = "";
    if (full->from != full->to) {
        snprintf(interval, sizeof interval, " (between %" PRIu64 " and %" PRIu64 ")", full->from,
                 full->to);
    }
    facts_answer(facts,
                 "  At this rate the device is full at %s %" PRIu64 "%s, about op %" PRIu64 ".",
                 forecast->has_steps ? "step" : "part", full->at, interval, forecast->at_op);
    say_end(explanation, forecast);
    facts_answer(facts, "  Memory that lies in pieces is not counted.");
}

void explain_forecast(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    struct forecast forecast;
    struct what_if_trial *trial = find_trial(explanation);
    if (trial == NULL || explanation->verdict->kind != VERDICT_NONE ||
        !what_if_trial_forecast(trial, &forecast) || !forecast.grows) {
        return;
    }
    const bool is_assumed = explain_capacity_is_assumed(explanation);
    facts_open(facts, "forecast");
    facts_boolean(facts, "steps_are_seen", forecast.has_steps);
    facts_count(facts, "steps", forecast.step_count);
    facts_count(facts, "ops_per_step", forecast.step_ops);
    facts_size(facts, "bytes_per_step", forecast.step_bytes);
    if (!is_assumed) {
        projection_add(facts, &forecast.full, explanation->recording->setup.until_step);
        facts_count(facts, "full_op", forecast.at_op);
    }
    facts_close(facts);
    facts_heading(facts, "Forecast");
    facts_answer(facts,
                 "  Each %s leaves %s more than the one before (%" PRIu64 " of them, %" PRIu64
                 " ops each).",
                 forecast.has_steps ? "step" : "part", size_text_of(forecast.step_bytes).text,
                 forecast.step_count, forecast.step_ops);
    if (is_assumed) {
        facts_answer(facts, "  With --capacity SIZE, explain prints when the device is full.");
    } else {
        say_full(explanation, &forecast);
    }
}

/* --- the largest batch --- */

static void tell_batch(struct facts *facts, const struct largest_batch *found)
{
    char more[64] = "";
    facts_open(facts, "largest_batch");
    facts_boolean(facts, "estimate", true);
    facts_count(facts, "fits_percent", found->fits);
    facts_count(facts, "fails_percent", found->fails);
    if (found->fits > 0) {
        facts_size(facts, "peak_bytes", found->row.peak_bytes);
        facts_size(facts, "capacity_bytes", found->row.capacity_bytes);
    }
    facts_close(facts);
    facts_heading(facts, "The largest batch, an estimate");
    if (found->fits == 0) {
        facts_answer(
            facts, "  None that was run fits: at %" PRIu64 " %% of the batch memory runs out, too.",
            found->fails);
    } else {
        if (found->fails > 0) {
            snprintf(more, sizeof more, "  %" PRIu64 " %% does not.", found->fails);
        }
        facts_answer(facts,
                     "  %" PRIu64 " %% of the batch of this list fits: run, peak %s of %s.%s",
                     found->fits, size_text_of(found->row.peak_bytes).text,
                     size_text_of(found->row.capacity_bytes).text, more);
    }
    facts_answer(facts, "  What lives within a step is taken to grow with the batch, and nothing "
                        "else; only what the list has was run.");
}

void explain_largest_batch(struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    struct largest_batch found;
    if (may_run_target(explanation) && recording->view == IMPORT_EVENTS &&
        !explain_capacity_is_assumed(explanation) && explanation->verdict->kind != VERDICT_BROKEN &&
        explanation->verdict->kind != VERDICT_PREMATURE &&
        largest_batch_find(recording->target, &recording->setup, &recording->ops, OPS_MAX,
                           &found)) {
        tell_batch(&explanation->facts, &found);
    }
}

/* --- memory that comes back --- */

/* What is kept is worth a line from this part of the peak on. */
enum { KEPT_PERCENT_MIN = 25 };

static const struct way {
    const char *system, *words;
} ways[] = {
    {"onnxruntime",
     "the run option memory.enable_memory_arena_shrinkage (\"gpu:0\") returns unused regions after that "
     "run; arena_extend_strategy=kSameAsRequested keeps the arena from growing by powers of two; "
     "gpu_mem_limit bounds it"},
    {"tensorflow",
     "nothing returns before the process ends; tf.config.experimental.set_memory_growth (or "
     "TF_FORCE_GPU_ALLOW_GROWTH=true) takes only what is needed, TF_GPU_ALLOCATOR=cuda_malloc_async "
     "takes it from the driver's pool"},
    {"xla_gpu",
     "only XLA_PYTHON_CLIENT_ALLOCATOR=platform returns it, which is slow; "
     "XLA_PYTHON_CLIENT_PREALLOCATE=false takes only what is needed, XLA_CLIENT_MEM_FRACTION bounds it"},
    {"pytorch",
     "torch.cuda.empty_cache() returns segments that are free as a whole; "
     "garbage_collection_threshold in PYTORCH_CUDA_ALLOC_CONF returns old ones before the limit"},
    {"rmm", "a pool returns memory when it is destroyed; rmm.mr.CudaAsyncMemoryResource with a "
            "release_threshold returns it before"},
};

static const char *find_way(const char *system)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].system, system) == 0) {
            return ways[i].words;
        }
    }
    return NULL;
}

void explain_give_back(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const char *way = find_way(explanation->recording->setup.system);
    const struct survey_peak *peak = &explanation->survey->peaks[explanation->host];
    if (way == NULL || explanation->recording->view != IMPORT_EVENTS || !peak->is_seen ||
        explanation->verdict->kind != VERDICT_NONE) {
        return;
    }
    const uint64_t end_bytes = survey_in_use(explanation->survey, explanation->run,
                                             explanation->host);
    if (end_bytes > peak->bytes - peak->bytes / 100 * KEPT_PERCENT_MIN) {
        return;
    }
    facts_open(facts, "give_back");
    facts_size(facts, "peak_bytes", peak->bytes);
    facts_size(facts, "end_bytes", end_bytes);
    facts_size(facts, "kept_bytes", peak->bytes - end_bytes);
    facts_text(facts, "advice", way);
    facts_close(facts);
    facts_heading(facts, "Memory that comes back while the job lives");
    facts_say(facts, "  ", 2,
              "%s were in use at the peak, and %s are at the end: an arena that returns "
              "nothing still has %s or more that nothing uses. To get it back: %s.",
              size_text_of(peak->bytes).text, size_text_of(end_bytes).text,
              size_text_of(peak->bytes - end_bytes).text, way);
}
