#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

enum {
    OP_COUNT_MIN = 16,
    STEP_COUNT_MIN = 2, /* before, all is larger than what was: it must double what is in use */
    USUAL_DIVISOR = 2,
    SHARE_DIVISOR = 8
};

/* The first quarter of the list builds up what stays. */
static bool is_late(const struct evidence *evidence, uint32_t op)
{
    return op >= OP_COUNT_MIN && op >= evidence->history->op_count / 4;
}

static const struct evidence_block *find_block(const struct evidence *evidence, uint32_t op)
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        if (evidence->blocks[i].op == op && evidence->blocks[i].state != BLOCK_GONE) {
            return &evidence->blocks[i];
        }
    }
    return NULL;
}

/* True if memory rose by at least half as much before, after the beginning. */
static bool is_usual(const struct evidence *evidence, const struct history_rise *rise)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    for (uint32_t i = 0; i < host->rise_count; i++) {
        const struct history_rise *other = &host->rises[i];
        if (other->op < rise->op && is_late(evidence, other->op) &&
            other->bytes >= rise->bytes / USUAL_DIVISOR) {
            return true;
        }
    }
    return false;
}

/* Without it even the highest peak before would have left room for the request. */
static bool has_room_without(const struct evidence *evidence, const struct history_rise *rise)
{
    const uint64_t room = evidence->capacity_bytes - evidence->stack_bytes -
                          evidence->retired_bytes;
    return rise->peak_before_bytes <= room &&
           evidence->requested_bytes <= room - rise->peak_before_bytes;
}

static bool is_large(const struct evidence *evidence, uint64_t bytes)
{
    return evidence->missing_bytes > 0 && bytes >= evidence->missing_bytes &&
           bytes >= evidence->capacity_bytes / SHARE_DIVISOR;
}

/* Half at least of what came since the moment before it. */
static bool is_most_of_it(const struct evidence *evidence, const struct history_rise *rise)
{
    return evidence->in_use_bytes <= rise->before_bytes ||
           evidence->in_use_bytes - rise->before_bytes <= rise->bytes * USUAL_DIVISOR;
}

static const struct history_rise *find_rise(const struct evidence *evidence)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    for (uint32_t i = 0; i < host->rise_count; i++) {
        const struct history_rise *rise = &host->rises[i];
        if (is_late(evidence, rise->op) && is_large(evidence, rise->bytes) &&
            is_most_of_it(evidence, rise) && has_room_without(evidence, rise) &&
            find_block(evidence, rise->op) != NULL && !is_usual(evidence, rise)) {
            return rise;
        }
    }
    return NULL;
}

static void describe_rise(const struct evidence *evidence, const struct history_rise *rise,
                          struct diagnosis *diagnosis)
{
    const uint8_t tag = evidence->ops->ops[rise->op].tag;
    strength_set(diagnosis, STRENGTH_SPIKE);
    diagnosis->op = rise->op;
    diagnosis_tag(diagnosis, tag);
    diagnosis_number(diagnosis, "spike_bytes", rise->bytes);
    diagnosis_number(diagnosis, "peak_before_bytes", rise->peak_before_bytes);
    diagnosis_describe(
        diagnosis,
        "Op %u took %s at once for '%s', and its block is still there. Before, at most %s were in use.",
        rise->op, size_text_of(rise->bytes).text, evidence_tag_name(evidence, tag).text,
        size_text_of(rise->peak_before_bytes).text);
}

/* The request itself is out of the ordinary. */
static bool is_request_a_spike(const struct evidence *evidence)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    const uint64_t largest = host->largest_request_bytes;
    return evidence->op != NULL && is_late(evidence, evidence->verdict->op) && largest > 0 &&
           is_large(evidence, evidence->requested_bytes) &&
           evidence->requested_bytes <= evidence->capacity_bytes &&
           evidence->requested_bytes / USUAL_DIVISOR >= largest;
}

static void describe_request(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    strength_set(diagnosis, STRENGTH_SPIKE_REQUEST);
    diagnosis->op = evidence->verdict->op;
    diagnosis_tag(diagnosis, evidence_tag_of(evidence, evidence->op));
    diagnosis_number(diagnosis, "spike_bytes", evidence->requested_bytes);
    diagnosis_number(diagnosis, "largest_before_bytes", host->largest_request_bytes);
    diagnosis_describe(
        diagnosis,
        "The request itself is unusually large: %s. No request before was granted more than %s, and at most %s were in use.",
        size_text_of(evidence->requested_bytes).text,
        size_text_of(host->largest_request_bytes).text, size_text_of(host->peak_bytes).text);
}

static void find_spike(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    const bool has_begun = cycles_settled_steps(evidence) >= STEP_COUNT_MIN;
    const struct history_rise *rise = find_rise(evidence);
    if (rise != NULL && (has_begun || rise->bytes >= rise->peak_before_bytes)) {
        describe_rise(evidence, rise, diagnosis);
    } else if (is_request_a_spike(evidence) &&
               (has_begun || evidence->requested_bytes >= host->peak_bytes)) {
        describe_request(evidence, diagnosis);
    }
}

const struct cause cause_spike = {
    .name = "spike",
    .summary = "one op took or requests far more than any before",
    .claim = CLAIM_TIGHT,
    .find = find_spike,
    .remedies = {&remedy_trim, &remedy_batch, &remedy_precision, &remedy_sharding},
};
