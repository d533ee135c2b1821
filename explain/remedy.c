/* The remedy of each cause: what to do, and what came of it when it was run. */
#include "diagnosis/cause.h"
#include "explain/private/explain_parts.h"
#include "explain/projection.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "present/screen.h"
#include "present/wrap.h"
#include "targets/plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 4 };
/* All variants of one explanation together: about a second.  --what-if has a larger bound. */
#define OPS_MAX (UINT64_C(1) << 17)

/* Remedies are run while the run that is explained is there, so only targets of which two can be:
 * no plug-ins, and none with threads of its own. */
static struct what_if_trial *find_trial(struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    if (explanation->history->has_lanes || plugin_is_named(recording->setup.target) ||
        recording->view == IMPORT_SUMS) {
        return NULL;
    }
    if (explanation->trial == NULL) {
        explanation->trial = what_if_trial_create(recording->target, &recording->setup,
                                                  &recording->ops, OPS_MAX);
    }
    return explanation->trial;
}

static const char *print_size(uint64_t size_bytes, char text[SIZE_TEXT_BYTES])
{
    size_print_field(size_bytes, text);
    return text;
}

/* --- in words --- */

static void append_outcome(const struct what_if_row *row, struct writing *text)
{
    char peak[SIZE_TEXT_BYTES], capacity[SIZE_TEXT_BYTES], headroom[SIZE_TEXT_BYTES];
    print_size(row->peak_bytes, peak);
    print_size(row->capacity_bytes, capacity);
    if (row->end == WHAT_IF_FITS) {
        writing_append_format(text, "it fits, peak %s of %s, headroom %s", peak, capacity,
                              print_size(row->headroom_bytes, headroom));
    } else if (row->end == WHAT_IF_NO_MEMORY) {
        writing_append_format(text, "not enough, %s are still refused at a peak of %s of %s",
                              print_size(row->requested_bytes, headroom), peak, capacity);
    } else {
        writing_append_format(text, "%s", what_if_end_name(row->end));
    }
}

static struct projection project(const struct forecast *forecast)
{
    return (struct projection){forecast->at, forecast->from, forecast->to};
}

static void append_growth(const struct what_if_answer *answer, uint64_t until_step,
                          struct writing *text)
{
    const struct projection projection = project(&answer->forecast);
    if (answer->row.end != WHAT_IF_FITS) {
        return;
    }
    if (answer->forecast.grows) {
        writing_append(text, "; it still grows: ");
        projection_append(&projection, until_step, text);
    } else if (until_step > 0) {
        writing_append_format(
            text, "; memory no longer grows from step to step, so it fits to step %" PRIu64 ", too",
            until_step);
    } else {
        writing_append(text, "; memory no longer grows from step to step, so later steps fit, too");
    }
}

static void append_results(const struct remedy *remedy, struct writing *text)
{
    static const char *const texts[] = {[ADVICE_SAME] = "Results stay the same.",
                                        [ADVICE_ROUNDING] = "Results differ by rounding.",
                                        [ADVICE_OTHER] = "Results change."};
    writing_append(text, texts[advice_results(remedy)]);
}

static void append_answer(const struct diagnosis *diagnosis, const struct what_if_answer *answer,
                          const char *words, uint64_t until_step, struct writing *text)
{
    writing_append_format(text, "remedy: %s. ", words);
    if (answer->is_tried) {
        writing_append_format(text, "Run (%s%s): ", answer->row.title,
                              answer->remedy->is_estimate ? ", an estimate" : "");
        append_outcome(&answer->row, text);
        if (diagnosis->cause->claim == CLAIM_GROWTH) {
            append_growth(answer, until_step, text);
        }
        writing_append(text, ". ");
    } else {
        writing_append_format(text, "It was %s; --what-if runs it. ", answer->row.note);
    }
    if (answer->row.sign[0] != '\0') {
        writing_append_format(text, "Sign: %s. ", answer->row.sign);
    }
    append_results(answer->remedy, text);
}

/* --- JSON --- */

static void append_json_answer(struct writing *text, const struct diagnosis *diagnosis,
                               const struct what_if_answer *answer, const char *words,
                               uint64_t until_step)
{
    const struct what_if_row *row = &answer->row;
    json_open(text, "remedy");
    json_add_string(text, "answers", diagnosis->cause->name);
    json_add_string(text, "remedy", answer->remedy->name);
    json_add_string(text, "advice", words);
    json_add_string(text, "results", advice_results_name(advice_results(answer->remedy)));
    json_add_boolean(text, "tried", answer->is_tried);
    if (answer->is_tried) {
        json_add_string(text, "title", row->title);
        json_add_string(text, "result", what_if_end_name(row->end));
        json_add_boolean(text, "fits", row->end == WHAT_IF_FITS);
        json_add_boolean(text, "estimate", answer->remedy->is_estimate);
        json_add_number(text, "peak_bytes", row->peak_bytes);
        json_add_number(text, "headroom_bytes", what_if_headroom_bytes(row));
        json_add_boolean(text, "grows", answer->forecast.grows);
        if (answer->forecast.grows) {
            const struct projection projection = project(&answer->forecast);
            projection_add(&projection, until_step, text);
        }
    }
    json_add_string(text, "note", row->note);
    if (row->sign[0] != '\0') {
        json_add_string(text, "sign", row->sign);
    }
    json_close(text);
}

/* --- both --- */

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

void explain_remedy(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    const struct remedy *const *choices = diagnosis->cause->remedies;
    struct what_if_trial *trial = choices[0] == NULL ? NULL : find_trial(explanation);
    struct what_if_answer answer;
    struct writing text, visible;
    char words[ADVICE_WORDS_BYTES], name[SETUP_NAME_BYTES];
    const struct explain_best before = explanation->best;
    const bool is_needless = diagnosis->cause == &cause_exhausted && before.fits &&
                             !before.is_estimate;
    if (trial == NULL || is_needless ||
        !what_if_trial_answer(trial, choices, diagnosis->has_tag ? &diagnosis->tag : NULL,
                              &answer)) {
        return;
    }
    advice_write(answer.remedy, explanation->recording->setup.system,
                 explain_tag_name(explanation->run, diagnosis->tag, name), answer.row.title, words,
                 sizeof words);
    keep_best(explanation, &answer, words);
    if (explanation->is_json) {
        append_json_answer(&explanation->text, diagnosis, &answer, words,
                           explanation->recording->setup.until_step);
        return;
    }
    if (before.fits && strcmp(before.words, words) == 0) {
        return; /* the same again */
    }
    writing_init(&text);
    writing_init(&visible);
    append_answer(diagnosis, &answer, words, explanation->recording->setup.until_step, &text);
    writing_append_visible(&visible, writing_string(&text));
    writing_append_format(&explanation->text, "%*s", INDENT, "");
    wrap_append(&explanation->text, writing_string(&visible), INDENT, screen_columns());
    writing_append(&explanation->text, "\n");
    writing_deinit(&visible);
    writing_deinit(&text);
}

bool explain_capacity_is_assumed(const struct explanation *explanation)
{
    return recording_capacity_is_assumed(explanation->recording);
}

/* What it comes to at the step that the job was headed for. */
static void append_end(const struct explanation *explanation, const struct forecast *forecast,
                       struct writing *text)
{
    const uint64_t until_step = explanation->recording->setup.until_step;
    const struct projection projection = project(forecast);
    uint64_t peak_bytes[3];
    char size[3][SIZE_TEXT_BYTES];
    if (until_step < forecast->step_count || !forecast->has_steps) {
        return;
    }
    forecast_peak(forecast, until_step, peak_bytes);
    writing_append(text, "  As it is, ");
    projection_append(&projection, until_step, text);
    writing_append_format(text, ".\n  Step %" PRIu64 " would need about %s (between %s and %s).\n",
                          until_step, print_size(peak_bytes[1], size[1]),
                          print_size(peak_bytes[0], size[0]), print_size(peak_bytes[2], size[2]));
}

static void append_forecast(const struct explanation *explanation, const struct forecast *forecast,
                            struct writing *text)
{
    const char *step = forecast->has_steps ? "step" : "part";
    char size[SIZE_TEXT_BYTES];
    writing_append_format(text,
                          "\nForecast\n  Each %s leaves %s more than the one before (%" PRIu64
                          " of them, %" PRIu64 " ops each).\n",
                          step, print_size(forecast->step_bytes, size), forecast->step_count,
                          forecast->step_ops);
    if (explain_capacity_is_assumed(explanation)) {
        writing_append(text, "  With --capacity SIZE, explain prints when the device is full.\n");
        return;
    }
    writing_append_format(text, "  At this rate the device is full at %s %" PRIu64, step,
                          forecast->at);
    if (forecast->from != forecast->to) {
        writing_append_format(text, " (between %" PRIu64 " and %" PRIu64 ")", forecast->from,
                              forecast->to);
    }
    writing_append_format(text, ", about op %" PRIu64 ".\n", forecast->at_op);
    append_end(explanation, forecast, text);
    writing_append(text, "  Memory that lies in pieces is not counted.\n");
}

static void append_json_forecast(const struct explanation *explanation,
                                 const struct forecast *forecast, struct writing *text)
{
    json_open(text, "forecast");
    json_add_boolean(text, "steps_are_seen", forecast->has_steps);
    json_add_number(text, "steps", forecast->step_count);
    json_add_number(text, "ops_per_step", forecast->step_ops);
    json_add_number(text, "bytes_per_step", forecast->step_bytes);
    if (!explain_capacity_is_assumed(explanation)) {
        const struct projection projection = project(forecast);
        projection_add(&projection, explanation->recording->setup.until_step, text);
        json_add_number(text, "full_op", forecast->at_op);
    }
    json_close(text);
}

void explain_forecast(struct explanation *explanation)
{
    struct forecast forecast;
    struct what_if_trial *trial = find_trial(explanation);
    if (trial == NULL || explanation->verdict->kind != VERDICT_NONE ||
        !what_if_trial_forecast(trial, &forecast) || !forecast.grows) {
        return;
    }
    if (explanation->is_json) {
        append_json_forecast(explanation, &forecast, &explanation->text);
    } else {
        append_forecast(explanation, &forecast, &explanation->text);
    }
}
