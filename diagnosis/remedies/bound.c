/* Bound: a tag that needs more and more is held to the sizes and to the number of blocks that it
 * had early in the list. */
#include "diagnosis/private/variant.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The part of the list that sets the bound is its first n-th. */
enum { PARTS_FIRST = 2, PARTS_TRIED = 3, REQUEST_COUNT_MIN = 8, QUARTER_COUNT = 4 };

static bool is_request(const struct op *op, uint8_t tag)
{
    return (op->kind == OP_ALLOC || op->kind == OP_OUTPUT) && op->tag == tag;
}

/* The requests and the live blocks of one tag in the first ops of the list. */
struct extent {
    uint64_t most_bytes; /* of one request */
    uint64_t live_count, most_count;
    uint64_t live_bytes;
};

static void take_op(const struct remedy_case *given, uint8_t tag, uint32_t i, struct extent *extent)
{
    const struct op *op = &given->ops->ops[i];
    const uint32_t root = given->lives.lives[i].root;
    if (root == OP_NONE || given->ops->ops[root].tag != tag ||
        given->ops->ops[root].kind == OP_LOAD) {
        return;
    }
    if (root == i) {
        extent->live_count++;
        extent->live_bytes += given->lives.lives[i].bytes;
        extent->most_bytes = op->size_bytes > extent->most_bytes ? op->size_bytes
                                                                 : extent->most_bytes;
    } else if (given->lives.lives[root].end == i) {
        extent->live_count--;
        extent->live_bytes -= given->lives.lives[root].bytes;
    }
    extent->most_count = extent->live_count > extent->most_count ? extent->live_count
                                                                 : extent->most_count;
}

static struct extent measure(const struct remedy_case *given, uint8_t tag, size_t op_count)
{
    struct extent extent = {0};
    for (uint32_t i = 0; i < op_count; i++) {
        take_op(given, tag, i, &extent);
    }
    return extent;
}

/* Finds how much of the tag is live at most in each quarter of the list. */
static void find_tops(const struct remedy_case *given, uint8_t tag, uint64_t tops[QUARTER_COUNT])
{
    const size_t count = given->ops->count;
    struct extent extent = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *top = &tops[(uint64_t)i * QUARTER_COUNT / count];
        take_op(given, tag, i, &extent);
        *top = extent.live_bytes > *top ? extent.live_bytes : *top;
    }
}

/* Counts how far the tag outgrew its first half. 0: it did not grow in each quarter after that,
 * hardly ever asks, or nearly nothing is freed in the list, which only fills then. */
static uint64_t count_growth(const struct remedy_case *given, uint8_t tag)
{
    uint64_t request_count = 0;
    uint64_t freed_count = 0;
    uint64_t tops[QUARTER_COUNT] = {0};
    for (uint32_t i = 0; i < given->ops->count; i++) {
        request_count += is_request(&given->ops->ops[i], tag);
        freed_count += given->lives.lives[i].root == i && given->lives.lives[i].end != OP_NONE;
    }
    find_tops(given, tag, tops);
    const uint64_t early = tops[0] > tops[1] ? tops[0] : tops[1];
    const bool grows = early > 0 && tops[2] > early && tops[3] > tops[2];
    return grows && request_count >= REQUEST_COUNT_MIN && 2 * freed_count >= request_count
               ? tops[3] - early
               : 0;
}

/* The tag in the low byte, above it n. */
static uint64_t pack(uint64_t tag, uint64_t parts)
{
    return parts << 8 | tag;
}

static bool bound_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                            char note[REMEDY_NOTE_BYTES])
{
    uint64_t scores[OP_TAG_COUNT] = {0};
    bool is_known[OP_TAG_COUNT] = {false};
    uint64_t tag = 0;
    snprintf(note, REMEDY_NOTE_BYTES, "no tag needs more and more to the end");
    for (uint32_t i = 0; i < given->ops->count; i++) {
        const uint8_t of = given->ops->ops[i].tag;
        if (!is_known[of] && is_request(&given->ops->ops[i], of)) {
            is_known[of] = true;
            scores[of] = count_growth(given, of);
        }
    }
    if (index >= PARTS_TRIED || !remedy_tag_ranked(given, scores, 0, &tag)) {
        return false;
    }
    *parameter = pack(tag, (uint64_t)PARTS_FIRST << index);
    return true;
}

static void bound_label(const struct remedy_case *given, uint64_t parameter,
                        char text[REMEDY_LABEL_BYTES])
{
    char name[REMEDY_LABEL_BYTES];
    remedy_tag_label(given->setup, parameter & 0xff, NULL, name);
    snprintf(text, REMEDY_LABEL_BYTES, "%u-%.52s", (unsigned)(parameter >> 8), name);
}

struct bound {
    const struct remedy_case *given;
    struct rewrite rewrite;
    struct extent extent;
    uint8_t tag;
    bool *is_gone;    /* by root: freed before its time */
    uint32_t *oldest; /* blocks of the tag in the order in which they came; [first, count) */
    size_t first, count;
    uint64_t live_count, cut_count, freed_count;
};

static bool is_droppable(const struct bound *bound, uint32_t root, uint32_t now)
{
    const struct remedy_life *life = &bound->given->lives.lives[root];
    const bool is_there = (life->end == OP_NONE || life->end > now) && !bound->is_gone[root];
    const uint32_t last_use = life->end == life->last_named
                                  ? bound->given->lives.lives[life->end].before
                                  : life->last_named;
    const bool is_used = life->end == OP_NONE ? life->last_named > now
                                              : last_use != OP_NONE && last_use > now;
    const bool has_follower = life->end != OP_NONE &&
                              bound->given->lives.lives[life->end].has_named_event;
    return is_there && !life->is_donated && !is_used && !has_follower &&
           bound->given->lives.lives[life->last_named].hold_count == 0;
}

/* Makes room for one more block of the tag, where one of them is not needed any more. */
static void drop_oldest(struct bound *bound, uint32_t now)
{
    while (bound->live_count >= bound->extent.most_count && bound->first < bound->count) {
        const uint32_t root = bound->oldest[bound->first++];
        if (is_droppable(bound, root, now)) {
            rewrite_add_on(&bound->rewrite, OP_FREE, root);
            bound->is_gone[root] = true;
            bound->live_count--;
            bound->freed_count++;
        }
    }
}

static void keep_request(struct bound *bound, uint32_t i)
{
    struct op op = bound->given->ops->ops[i];
    drop_oldest(bound, i);
    if (op.size_bytes > bound->extent.most_bytes && !bound->given->lives.lives[i].is_donated) {
        op.size_bytes = bound->extent.most_bytes;
        op.unpadded_bytes = op.unpadded_bytes >= op.size_bytes ? 0 : op.unpadded_bytes;
        bound->cut_count++;
    }
    rewrite_as(&bound->rewrite, i, &op);
    if (bound->given->lives.lives[i].root == i) {
        bound->oldest[bound->count++] = i;
        bound->live_count++;
    }
}

static void keep_op(struct bound *bound, uint32_t i)
{
    const struct op *op = &bound->given->ops->ops[i];
    const uint32_t root = bound->given->lives.lives[i].root;
    if (is_request(op, bound->tag)) {
        keep_request(bound, i);
        return;
    }
    if (root != OP_NONE && bound->is_gone[root]) {
        return;
    }
    const bool ends = root != OP_NONE && bound->given->lives.lives[root].end == i &&
                      is_request(&bound->given->ops->ops[root], bound->tag);
    bound->live_count -= ends && bound->live_count > 0;
    rewrite_keep(&bound->rewrite, i);
}

static bool bound_apply(const struct remedy_case *given, uint64_t parameter,
                        struct remedy_result *result)
{
    struct bound bound = {.given = given, .tag = (uint8_t)(parameter & 0xff)};
    const size_t room = given->ops->count + 1;
    bound.extent = measure(given, bound.tag, given->ops->count / (parameter >> 8));
    bound.is_gone = calloc(room, sizeof *bound.is_gone);
    bound.oldest = malloc(room * sizeof *bound.oldest);
    CHECK(bound.is_gone != NULL && bound.oldest != NULL);
    if (bound.extent.most_count > 0) {
        rewrite_init(&bound.rewrite, given->ops, &result->ops);
        for (uint32_t i = 0; i < given->ops->count; i++) {
            keep_op(&bound, i);
        }
        rewrite_deinit(&bound.rewrite);
    }
    free(bound.is_gone);
    free(bound.oldest);
    return remedy_note(result, bound.cut_count + bound.freed_count,
                       "nothing of the tag is above the bound",
                       "requests cut to what was asked before: %" PRIu64
                       ", oldest blocks freed before the next: %" PRIu64,
                       bound.cut_count, bound.freed_count);
}

const struct remedy remedy_bound = {
    .name = "bound",
    .summary = "the tag that grows is held to what it had in the first n-th of the list",
    .parameter_name = "n-tag",
    .assumes = "Longer inputs can be cut or split, and the oldest blocks of a cache can go.",
    .is_estimate = true,
    .search = REMEDY_FIRST,
    .parameter = bound_parameter,
    .label = bound_label,
    .apply = bound_apply,
};
