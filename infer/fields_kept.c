/* What the experiments show of memory that is kept for a stream or for a recording. */
#include "infer/private/fields.h"

#include <stdio.h>
#include <string.h>

/* A claim needs an experiment that went as far as the request that it is about. */
static bool is_claim_shown(const struct trace *trace)
{
    const struct sight *asked = trace_asked(trace);
    return field_claim_is_kept(trace) && asked != NULL && asked->seen.skipped == 0;
}

bool inference_is_stream_ordered(const struct inference *inference)
{
    return inference_contract(inference)->stream_ordered ||
           (is_claim_shown(&inference->claimed[EXPERIMENT_streams]) &&
            is_claim_shown(&inference->claimed[EXPERIMENT_stream_uses]));
}

/* What is not declared: it was held to it, unless the rest of its contract excludes that. */
static void compare_claim(struct inference_line *line, const struct trace *claimed, bool is_kept)
{
    const bool was_held = claimed->is_opened || claimed->is_dead;
    const bool is_open = claimed->is_opened && !claimed->is_dead && claimed->why[0] != '\0';
    field_compare(line, is_kept ? ANSWER_YES : is_open ? ANSWER_OPEN : ANSWER_NO);
    line->experiment = was_held ? line->experiment : EXPERIMENT_COUNT;
    (void)snprintf(line->seen, sizeof line->seen, "%s%s",
                   was_held ? "" : "it cannot declare that: ", claimed->why);
}

static void infer_kept(const struct inference *inference, struct inference_line *line,
                       enum experiment_number number, bool is_claim_kept)
{
    const struct trace *declared = &inference->declared[number];
    if (strcmp(line->declared, "true") != 0) {
        compare_claim(line, &inference->claimed[number], is_claim_kept);
        return;
    }
    const struct sight *asked = trace_asked(declared);
    field_compare(line, asked == NULL || asked->seen.skipped != 0 || declared->why[0] != '\0'
                            ? ANSWER_OPEN
                            : ANSWER_YES);
}

void infer_stream_ordered(const struct inference *inference, struct inference_line *line)
{
    infer_kept(inference, line, EXPERIMENT_streams, inference_is_stream_ordered(inference));
}

void infer_records(const struct inference *inference, struct inference_line *line)
{
    infer_kept(inference, line, EXPERIMENT_recordings,
               is_claim_shown(&inference->claimed[EXPERIMENT_recordings]));
}
