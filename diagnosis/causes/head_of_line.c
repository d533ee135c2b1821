#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include "harness/base/check.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <stdlib.h>

/* Shares are one in so many. */
enum {
    FREE_COUNT_MIN = 4,     /* behind the event */
    SHARE_PERCENT_MIN = 75, /* of what waits for any event */
    OWN_DIVISOR = 8         /* the op that made the event takes at most this share of what waits */
};

/* What waits for one event. */
struct line {
    uint32_t event_op;
    bool is_lost;
    uint64_t bytes, count;
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;
    return (x->event_op > y->event_op) - (x->event_op < y->event_op);
}

/* The queued frees on the host, one line each, those of one event next to each other. */
static size_t collect_frees(const struct evidence *evidence, struct line *lines)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_DYING && block->event_op != OP_NONE) {
            lines[count++] = (struct line){block->event_op, block->waits_for_ever,
                                           block->size_bytes, 1};
        }
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    return count;
}

/* The event with most bytes behind it; *all_bytes: behind any. */
static struct line find_longest(const struct line *lines, size_t count, uint64_t *all_bytes)
{
    struct line longest = {0};
    *all_bytes = 0;
    for (size_t i = 0; i < count;) {
        struct line sum = lines[i];
        for (i++; i < count && lines[i].event_op == sum.event_op; i++) {
            sum.bytes += lines[i].bytes;
            sum.count++;
        }
        *all_bytes += sum.bytes;
        longest = sum.bytes > longest.bytes ? sum : longest;
    }
    return longest;
}

/* What the op that made the event works on: an op on blocks of its own size would be no small one.
 */
static uint64_t find_own_bytes(const struct evidence *evidence, uint32_t event_op)
{
    const struct op *op = &evidence->ops->ops[event_op];
    const bool names_block = op->ref < evidence->ops->count;
    return names_block ? evidence->ops->ops[op->ref].size_bytes : op->size_bytes;
}

static uint64_t find_time_since(const struct evidence *evidence, uint32_t event_op)
{
    uint64_t ns = 0;
    for (size_t i = event_op; i < evidence->ops->count; i++) {
        ns += evidence->ops->ops[i].kind == OP_ADVANCE ? evidence->ops->ops[i].delay_ns : 0;
    }
    return ns;
}

static void describe_line(const struct evidence *evidence, const struct line *line,
                          uint64_t own_bytes, struct diagnosis *diagnosis)
{
    char op[OP_TEXT_BYTES];
    const uint64_t ops = evidence->ops->count - 1 - line->event_op;
    const uint64_t ns = find_time_since(evidence, line->event_op);
    diagnosis->op = line->event_op;
    diagnosis_number(diagnosis, "bytes_behind_op", line->bytes);
    diagnosis_number(diagnosis, "frees_behind_op", line->count);
    diagnosis_number(diagnosis, "own_bytes", own_bytes);
    diagnosis_number(diagnosis, "late_ops", ops);
    diagnosis_number(diagnosis, "late_ns", ns);
    diagnosis_describe(
        diagnosis,
        "%" PRIu64
        " frees with %s wait behind one event, that of op %u (%s), whose own block has %s. ",
        line->count, diagnosis_size(line->bytes).text, line->event_op,
        op_print(&evidence->ops->ops[line->event_op], op), diagnosis_size(own_bytes).text);
    diagnosis_describe(diagnosis,
                       "It began %" PRIu64 " ops (%" PRIu64 ".%03" PRIu64 " ms) ago and ", ops,
                       ns / 1000000, ns / 1000 % 1000);
    diagnosis_describe(diagnosis, "%s",
                       line->is_lost ? "is lost: nothing behind it comes back."
                       : evidence->contract->drains
                           ? "has not ended."
                           : "has not ended, and this target does not wait.");
}

static void find_head_of_line(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    uint64_t all_bytes;
    struct line *lines = calloc(evidence->block_count + 1, sizeof *lines);
    CHECK(lines != NULL);
    const size_t count = collect_frees(evidence, lines);
    const struct line longest = find_longest(lines, count, &all_bytes);
    free(lines);
    if (longest.count < FREE_COUNT_MIN || longest.bytes < evidence->missing_bytes ||
        (double)longest.bytes * 100 < (double)all_bytes * SHARE_PERCENT_MIN) {
        return;
    }
    const uint64_t own_bytes = find_own_bytes(evidence, longest.event_op);
    if (own_bytes <= longest.bytes / OWN_DIVISOR) {
        strength_set(diagnosis, evidence->missing_bytes == 0 ? STRENGTH_HEAD_OF_LINE_PIECES
                                                             : STRENGTH_HEAD_OF_LINE);
        describe_line(evidence, &longest, own_bytes, diagnosis);
    }
}

const struct cause cause_head_of_line = {
    .name = "head_of_line",
    .summary = "many frees wait behind one event of a small op",
    .claim = CLAIM_TIGHT,
    .find = find_head_of_line,
};
