#include "diagnosis/private/findings.h"

#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    BEGUN_DIVISOR = 2, /* of what is copied, less is a copy that has just begun */
    SHARE_DIVISOR = 8, /* a copy has at least this share of what is older */
    COUNT_MIN = 3,
    STEP_COUNT_MIN =
        2, /* before, gradients and states are made, which are as large as parameters */
    ALIKE_COUNT_MAX = 8, /* blocks of a copy that are compared with all */
    PAUSE_MIN = 2,       /* cycles */
    SPLIT_COUNT_MAX = 64 /* from the end on */
};

/* Live buffers of one tag, or of all, by the op that made them. */
struct copy_set {
    const struct evidence_block **blocks; /* count of them */
    size_t count;
    int tag; /* -1: all */
};
/* The blocks [split, split + count) of a set, which have the tags and sizes of old_count older ones
 * in their order, and the request, if it goes on with that. */
struct copy {
    size_t split, count, old_count;
    uint64_t old_bytes, new_bytes; /* of those that are copied, of their copies and the request */
    uint32_t last_old_op;
    bool has_request;
};

static int compare_ops(const void *a, const void *b)
{
    const struct evidence_block *x = *(const struct evidence_block *const *)a;
    const struct evidence_block *y = *(const struct evidence_block *const *)b;
    return compare_numbers(x->op, y->op);
}

static int compare_tags_and_ops(const void *a, const void *b)
{
    const struct evidence_block *x = *(const struct evidence_block *const *)a;
    const struct evidence_block *y = *(const struct evidence_block *const *)b;
    return compare_then(compare_numbers(x->tag, y->tag), compare_ops(a, b));
}

/* --- one set --- */

static bool is_alike(const struct evidence_block *one, const struct evidence_block *other)
{
    return one->tag == other->tag && one->requested_bytes == other->requested_bytes;
}

/* The next older block from *place on that is like this one; NULL: none. */
static const struct evidence_block *find_older(const struct copy_set *set, size_t split,
                                               size_t *place, const struct evidence_block *like)
{
    while (*place < split) {
        const struct evidence_block *block = set->blocks[(*place)++];
        if (is_alike(block, like)) {
            return block;
        }
    }
    return NULL;
}

/* True if a cycle ended between the block and the one before it in the set: the set paused, and
 * memory in use fell meanwhile. */
static bool is_behind_cycle(const struct cycles *cycles, const struct copy_set *set, size_t i)
{
    return cycles_find(cycles, set->blocks[i]->op) > cycles_find(cycles, set->blocks[i - 1]->op);
}

static void add_pair(struct copy *copy, const struct evidence_block *old)
{
    copy->old_count++;
    copy->old_bytes += old->requested_bytes;
    copy->new_bytes += old->requested_bytes;
    copy->last_old_op = old->op;
}

/* The copy that begins with block split; count 0: none does. */
static struct copy follow_copy(const struct evidence *evidence, const struct cycles *cycles,
                               const struct copy_set *set, size_t split)
{
    const struct op *op = evidence->op;
    struct copy copy = {.split = split};
    size_t place = 0;
    for (; split + copy.count < set->count; copy.count++) {
        const struct evidence_block *old = find_older(set, split, &place,
                                                      set->blocks[split + copy.count]);
        if (old == NULL || (copy.count > 0 && is_behind_cycle(cycles, set, split + copy.count))) {
            return copy;
        }
        add_pair(&copy, old);
    }
    if (op != NULL && (op->kind == OP_ALLOC || op->kind == OP_OUTPUT) &&
        cycles_find(cycles, set->blocks[set->count - 1]->op) == cycles->swings.count) {
        const struct evidence_block asked = {.tag = op->tag, .requested_bytes = op->size_bytes};
        const struct evidence_block *old = find_older(set, split, &place, &asked);
        copy.has_request = old != NULL;
        if (old != NULL) {
            add_pair(&copy, old);
        }
    }
    return copy;
}

/* True if blocks like the beginning of the copy were made in this order before, after the copied
 * ones, and lived together: then each step does so. */
static bool is_usual(const struct evidence *evidence, const struct copy_set *set,
                     const struct copy *copy)
{
    const uint32_t end = set->blocks[copy->split]->op;
    const size_t enough = copy->count / 2 + 1;
    size_t matched = 0;
    uint32_t first = 0;
    for (uint32_t i = copy->last_old_op + 1; i < end; i++) {
        const struct op *op = &evidence->ops->ops[i];
        if ((op->kind == OP_FREE || op->kind == OP_FREE_AFTER) && op->ref >= first) {
            matched = 0;
        }
        if ((op->kind != OP_ALLOC && op->kind != OP_OUTPUT) || op->host != evidence->host ||
            (set->tag >= 0 && op->tag != set->tag)) {
            continue;
        }
        const struct evidence_block asked = {.tag = op->tag, .requested_bytes = op->size_bytes};
        if (!is_alike(set->blocks[copy->split + matched], &asked)) {
            matched = 0;
        }
        matched += is_alike(set->blocks[copy->split + matched], &asked);
        first = matched == 1 ? i : first;
        if (matched == enough) {
            return true;
        }
    }
    return false;
}

static uint64_t sum_bytes(const struct copy_set *set, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += set->blocks[i]->requested_bytes;
    }
    return bytes;
}

static void describe_copy(const struct evidence *evidence, const struct copy_set *set,
                          const struct copy *copy, struct diagnosis *diagnosis)
{
    diagnosis->op = set->blocks[copy->split]->op;
    const bool is_half = copy->new_bytes >= sum_bytes(set, copy->split) / BEGUN_DIVISOR;
    strength_set(diagnosis, is_half ? STRENGTH_COPIES : STRENGTH_COPIES_BEGUN);
    diagnosis_number(diagnosis, "old_bytes", copy->old_bytes);
    diagnosis_number(diagnosis, "new_bytes", copy->new_bytes);
    if (set->tag >= 0) {
        diagnosis_tag(diagnosis, (uint8_t)set->tag);
        diagnosis_describe(diagnosis, "'%s' is allocated a second time",
                           evidence_tag_name(evidence, (uint8_t)set->tag).text);
    } else {
        diagnosis_describe(diagnosis, "The live buffers are allocated a second time");
    }
    diagnosis_describe(
        diagnosis,
        ". Since op %u, %s of the same sizes were allocated%s in the same order, while the first %zu blocks (%s, up to op %u) are still live. Freeing or donating them before would have left that much more free.",
        diagnosis->op, size_text_of(copy->new_bytes).text, copy->has_request ? " or requested" : "",
        copy->old_count, size_text_of(copy->old_bytes).text, copy->last_old_op);
}

/* True if the copy follows a long pause of its kind: what came in between, again and again, is a
 * set that grows. */
static bool is_behind_pause(const struct cycles *cycles, const struct copy_set *set,
                            const struct copy *copy)
{
    const size_t begun = cycles_find(cycles, set->blocks[copy->split]->op);
    const size_t compared = copy->count < ALIKE_COUNT_MAX ? copy->count : ALIKE_COUNT_MAX;
    size_t last = 0;
    for (size_t i = copy->split; i-- > 0 && last == 0;) {
        for (size_t k = 0; k < compared; k++) {
            if (is_alike(set->blocks[i], set->blocks[copy->split + k])) {
                last = cycles_find(cycles, set->blocks[i]->op);
            }
        }
    }
    const size_t first = cycles->swings.settled_first;
    const size_t all = begun > first ? begun - first : 0;
    return begun >= last + PAUSE_MIN && (begun - last) * 2 >= all;
}

static bool is_told(const struct evidence *evidence, const struct cycles *cycles,
                    const struct copy_set *set, const struct copy *copy)
{
    return copy->count > 0 && copy->old_count >= COUNT_MIN &&
           copy->new_bytes >= sum_bytes(set, copy->split) / SHARE_DIVISOR &&
           is_behind_pause(cycles, set, copy) && !is_usual(evidence, set, copy);
}

/* The largest copy of the set; count 0: there is none. */
static struct copy find_copy(const struct evidence *evidence, const struct cycles *cycles,
                             const struct copy_set *set)
{
    struct copy best = {0};
    uint32_t split_count = 0;
    for (size_t i = set->count; i-- > 1 && split_count < SPLIT_COUNT_MAX;) {
        if (!is_behind_cycle(cycles, set, i)) {
            continue;
        }
        split_count++;
        const struct copy copy = follow_copy(evidence, cycles, set, i);
        if (copy.new_bytes > best.new_bytes && is_told(evidence, cycles, set, &copy)) {
            best = copy;
        }
    }
    return best;
}

static void describe_others(uint32_t count, uint64_t bytes, struct diagnosis *diagnosis)
{
    if (count > 0) {
        diagnosis_describe(diagnosis, " %u other tag%s (%s) %s allocated again as well.", count,
                           count == 1 ? "" : "s", size_text_of(bytes).text,
                           count == 1 ? "is" : "are");
    }
}

/* --- all sets --- */

static void collect_blocks(const struct evidence *evidence, struct copy_set *all)
{
    all->blocks = calloc(evidence->block_count + 1, sizeof *all->blocks);
    CHECK(all->blocks != NULL);
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_LIVE &&
            (block->kind == BLOCK_BUFFER || block->kind == BLOCK_OUTPUT)) {
            all->blocks[all->count++] = block;
        }
    }
}

/* The tag whose copy is largest is told, if what is copied of all tags has the missing bytes. */
static void examine_tags(const struct evidence *evidence, const struct cycles *cycles,
                         const struct copy_set *all, struct diagnosis *diagnosis)
{
    struct copy most = {0};
    struct copy_set largest = {0};
    uint64_t old_bytes = 0;
    uint32_t tag_count = 0;
    for (size_t i = 0; i < all->count;) {
        struct copy_set set = {.blocks = &all->blocks[i], .tag = all->blocks[i]->tag};
        while (i < all->count && all->blocks[i]->tag == set.tag) {
            set.count++;
            i++;
        }
        const struct copy copy = find_copy(evidence, cycles, &set);
        old_bytes += copy.old_bytes;
        tag_count += copy.count > 0;
        if (copy.new_bytes > most.new_bytes) {
            most = copy;
            largest = set;
        }
    }
    if (tag_count > 0 && old_bytes >= evidence->missing_bytes) {
        describe_copy(evidence, &largest, &most, diagnosis);
        describe_others(tag_count - 1, old_bytes - most.old_bytes, diagnosis);
    }
}

static void examine_all(const struct evidence *evidence, const struct cycles *cycles,
                        const struct copy_set *all, struct diagnosis *diagnosis)
{
    const struct copy copy = find_copy(evidence, cycles, all);
    if (copy.count > 0 && copy.old_bytes >= evidence->missing_bytes) {
        describe_copy(evidence, all, &copy, diagnosis);
    }
}

static void find_copies(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct copy_set all = {.tag = -1};
    struct cycles cycles;
    cycles_init(&cycles, evidence);
    collect_blocks(evidence, &all);
    qsort(all.blocks, all.count, sizeof *all.blocks, compare_tags_and_ops);
    const bool has_begun = cycles.swings.settled_count >= STEP_COUNT_MIN;
    if (has_begun) {
        examine_tags(evidence, &cycles, &all, diagnosis);
    }
    if (has_begun && diagnosis->confidence == 0) {
        qsort(all.blocks, all.count, sizeof *all.blocks, compare_ops);
        examine_all(evidence, &cycles, &all, diagnosis);
    }
    cycles_deinit(&cycles);
    free(all.blocks);
}

const struct cause cause_copies = {
    .name = "copies",
    .summary = "a set of buffers is allocated again while the first is still live",
    .claim = CLAIM_TIGHT,
    .find = find_copies,
    .remedies = {&remedy_drop_copy, &remedy_donation},
};
