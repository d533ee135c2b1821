#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "harness/base/order.h"

enum { EXCESS_DIVISOR = 16 /* so much above the others, at least */ };

/* The bytes of the last request on that host when it was the one that failed here, 0 otherwise: a
 * host that has its answer already has more in use for that alone. */
static uint64_t find_same_request_bytes(const struct evidence *evidence, uint32_t host)
{
    for (size_t i = evidence->ops->count; i > 0 && evidence->op != NULL; i--) {
        const struct op *op = &evidence->ops->ops[i - 1];
        const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
        if (op->host == host && (info->makes_block || info->makes_program)) {
            const bool is_same = op->kind == evidence->op->kind && op->tag == evidence->op->tag;
            const bool is_there = i - 1 ==
                                  evidence->host_newest_ops[host]; /* granted, and not freed yet */
            return is_there && is_same && op->size_bytes == evidence->op->size_bytes
                       ? op->size_bytes
                       : 0;
        }
    }
    return 0;
}

static uint64_t find_in_use_before(const struct evidence *evidence, uint32_t host)
{
    const uint64_t in_use = evidence->host_in_use_bytes[host];
    const uint64_t own = find_same_request_bytes(evidence, host);
    return in_use > own ? in_use - own : 0;
}

/* Returns the median of what the other hosts had in use before the same request, the upper of two
 * middle values. */
static uint64_t find_median_of_others(const struct evidence *evidence)
{
    uint64_t bytes[OP_HOST_COUNT_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < evidence->host_count; i++) {
        if (i != evidence->host) {
            bytes[count++] = find_in_use_before(evidence, i);
        }
    }
    return median_of_numbers(bytes, count);
}

static uint64_t find_last_top(const struct evidence *evidence, uint32_t host, int tag)
{
    const struct history_host *history = &evidence->history->hosts[host];
    return history->count == 0 ? 0 : history->samples[history->count - 1].top_bytes[tag];
}

/* The tag of which this host has most beyond the host that has most of it among the others; -1: of
 * none. */
static int find_skewed_tag(const struct evidence *evidence, uint64_t *beyond_bytes)
{
    int skewed = -1;
    *beyond_bytes = 0;
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        const uint64_t own = find_last_top(evidence, evidence->host, tag);
        uint64_t other = 0;
        for (uint32_t i = 0; i < evidence->host_count; i++) {
            const uint64_t bytes = i == evidence->host ? 0 : find_last_top(evidence, i, tag);
            other = bytes > other ? bytes : other;
        }
        if (own > other && own - other > *beyond_bytes) {
            *beyond_bytes = own - other;
            skewed = tag;
        }
    }
    return skewed;
}

static void find_host_skew(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    uint64_t beyond_bytes;
    if (evidence->host_count < 2) {
        return;
    }
    const uint64_t own = evidence->host_in_use_bytes[evidence->host];
    const uint64_t others = find_median_of_others(evidence);
    const uint64_t excess = own > others ? own - others : 0;
    if (excess == 0 || excess < others / EXCESS_DIVISOR || excess < evidence->missing_bytes) {
        return;
    }
    strength_set(diagnosis, STRENGTH_HOST_SKEW);
    diagnosis_number(diagnosis, "host", evidence->host);
    diagnosis_number(diagnosis, "in_use_bytes", own);
    diagnosis_number(diagnosis, "median_of_others_bytes", others);
    diagnosis_describe(diagnosis,
                       "Host %u has %s in use; the median of the other hosts (%u) is %s.",
                       evidence->host, size_text_of(own).text, evidence->host_count - 1,
                       size_text_of(others).text);
    const int tag = find_skewed_tag(evidence, &beyond_bytes);
    if (tag >= 0) {
        diagnosis_tag(diagnosis, (uint8_t)tag);
        diagnosis_describe(diagnosis, " It has %s more of '%s' than any other host.",
                           size_text_of(beyond_bytes).text,
                           evidence_tag_name(evidence, (uint8_t)tag).text);
    }
}

const struct cause cause_host_skew = {
    .name = "host_skew",
    .summary = "this host uses more memory than the others",
    .claim = CLAIM_TIGHT,
    .find = find_host_skew,
    .remedies = {&remedy_even},
};
