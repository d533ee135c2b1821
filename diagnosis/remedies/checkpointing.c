/* Activation checkpointing: what a step makes early and needs late is given back, and made again
 * when it is needed. */
#include "diagnosis/remedy.h"

#include "diagnosis/private/variant.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS_TRIED = 4, GAP_SHARE = 4 };
/* The parameter that stands for all named tags together. */
enum { ALL_NAMED = OP_TAG_COUNT };
#define ALL_NAMED_LABEL "all-that-are-named"

/* The longest time in which nothing names a block: from op `from` to op `to`, which names it again
 * (op count: none does). */
struct idle_gap {
    uint32_t from, to;
};

/* True if the parameter selects the tag. */
static bool is_meant(const struct remedy_case *given, uint64_t parameter, uint8_t tag)
{
    return parameter == ALL_NAMED ? given->named_tags != NULL && given->named_tags[tag]
                                  : parameter == tag;
}

/* The memory that a tag's blocks of the steps could release: bytes times ops. */
struct tag_gain {
    uint64_t gain;
    uint8_t tag;
};

static uint32_t measure_gap(const struct idle_gap *gap)
{
    return gap->to - gap->from;
}

static bool is_candidate(const struct remedy_case *given, uint32_t i)
{
    const struct remedy_life *life = &given->lives.lives[i];
    const bool is_wanted = given->named_tags == NULL ? given->steps.is_of_step[i]
                                                     : given->named_tags[given->ops->ops[i].tag];
    return life->root == i && given->ops->ops[i].kind != OP_LOAD && is_wanted && !life->is_donated;
}

static void widen_gap(struct idle_gap *gap, uint32_t from, uint32_t to)
{
    if (to - from > measure_gap(gap)) {
        *gap = (struct idle_gap){from, to};
    }
}

/* By op, for candidates: its longest gap without external references; of length 0 for others. */
static struct idle_gap *find_gaps(const struct remedy_case *given)
{
    const uint32_t count = (uint32_t)given->ops->count;
    const struct remedy_life *lives = given->lives.lives;
    struct idle_gap *gaps = calloc(given->ops->count + 1, sizeof *gaps);
    CHECK(gaps != NULL);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t root = lives[i].root;
        if (root == OP_NONE || !is_candidate(given, root)) {
            continue;
        }
        const bool is_over = lives[root].end != OP_NONE && lives[root].end < i;
        if (root != i && !is_over && lives[lives[i].before].hold_count == 0) {
            widen_gap(&gaps[root], lives[i].before, i);
        }
        if (lives[root].last_named == i && lives[root].end == OP_NONE && lives[i].hold_count == 0) {
            widen_gap(&gaps[root], i, count);
        }
    }
    return gaps;
}

/* A quarter of a step, and at least one other op between; of named tags that one op alone. */
static bool is_long(const struct remedy_case *given, const struct idle_gap *gap)
{
    return measure_gap(gap) >= 2 &&
           (given->named_tags != NULL || measure_gap(gap) >= given->steps.length / GAP_SHARE);
}

static int compare_gains(const void *a, const void *b)
{
    const struct tag_gain *left = a;
    const struct tag_gain *right = b;
    if (left->gain != right->gain) {
        return left->gain < right->gain ? 1 : -1;
    }
    return left->tag < right->tag ? -1 : left->tag > right->tag;
}

/* Each named tag alone, and when there are more, all of them together after them. */
static bool named_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                            char note[REMEDY_NOTE_BYTES])
{
    size_t count = 0;
    snprintf(note, REMEDY_NOTE_BYTES, "no tag is named");
    for (uint64_t tag = 0; tag < OP_TAG_COUNT; tag++) {
        if (given->named_tags[tag] && count++ == index) {
            *parameter = tag;
            return true;
        }
    }
    *parameter = ALL_NAMED;
    return count > 1 && index == count;
}

static bool checkpointing_parameter(const struct remedy_case *given, size_t index,
                                    uint64_t *parameter, char note[REMEDY_NOTE_BYTES])
{
    if (given->named_tags != NULL) {
        return named_parameter(given, index, parameter, note);
    }
    struct tag_gain gains[OP_TAG_COUNT] = {{0}};
    snprintf(note, REMEDY_NOTE_BYTES, "%s", REMEDY_NO_STEPS);
    if (given->steps.count == 0 || index >= TAGS_TRIED) {
        return false;
    }
    struct idle_gap *gaps = find_gaps(given);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        const uint8_t tag = given->ops->ops[i].tag;
        gains[tag].gain += is_long(given, &gaps[i])
                               ? given->lives.lives[i].bytes / 512 * measure_gap(&gaps[i])
                               : 0;
    }
    free(gaps);
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        gains[tag].tag = (uint8_t)tag;
    }
    qsort(gains, OP_TAG_COUNT, sizeof *gains, compare_gains);
    snprintf(note, REMEDY_NOTE_BYTES, "no block of a step is unused for a quarter of the step");
    *parameter = gains[index].tag;
    return gains[index].gain > 0;
}

static void checkpointing_label(const struct remedy_case *given, uint64_t parameter,
                                char text[REMEDY_LABEL_BYTES])
{
    if (parameter == ALL_NAMED) {
        snprintf(text, REMEDY_LABEL_BYTES, ALL_NAMED_LABEL);
    } else {
        remedy_tag_label(given->setup, parameter, ALL_NAMED_LABEL, text);
    }
}

/* The deeds at each op: the block (its first op) that is released after it, or made again before
 * it; OP_NONE. */
struct deeds {
    uint32_t *given_back, *made_again;
    uint64_t count, bytes;
};

static void plan_deeds(const struct remedy_case *given, uint64_t parameter, struct deeds *deeds)
{
    const uint32_t count = (uint32_t)given->ops->count;
    struct idle_gap *gaps = find_gaps(given);
    deeds->given_back = malloc((given->ops->count + 1) * sizeof *deeds->given_back);
    deeds->made_again = malloc((given->ops->count + 1) * sizeof *deeds->made_again);
    CHECK(deeds->given_back != NULL);
    CHECK(deeds->made_again != NULL);
    for (uint32_t i = 0; i <= count; i++) {
        deeds->given_back[i] = deeds->made_again[i] = OP_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_meant(given, parameter, given->ops->ops[i].tag) && is_long(given, &gaps[i])) {
            deeds->given_back[gaps[i].from] = i;
            deeds->made_again[gaps[i].to] = i;
            deeds->count++;
            deeds->bytes += given->lives.lives[i].bytes;
        }
    }
    free(gaps);
}

static bool checkpointing_apply(const struct remedy_case *given, uint64_t parameter,
                                struct remedy_result *result)
{
    struct deeds deeds = {0};
    struct rewrite rewrite;
    plan_deeds(given, parameter, &deeds);
    rewrite_init(&rewrite, given->ops, &result->ops);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        if (deeds.made_again[i] != OP_NONE) {
            rewrite_keep(&rewrite, deeds.made_again[i]);
        }
        rewrite_keep(&rewrite, i);
        if (deeds.given_back[i] != OP_NONE) {
            rewrite_add_on(&rewrite, OP_FREE, deeds.given_back[i]);
        }
    }
    rewrite_deinit(&rewrite);
    free(deeds.given_back);
    free(deeds.made_again);
    snprintf(result->note, sizeof result->note, "freed and allocated again: %" PRIu64 ", %s",
             deeds.count, size_text_of(deeds.bytes).text);
    return deeds.count > 0;
}

const struct remedy remedy_checkpointing = {
    .name = "checkpointing",
    .summary =
        "activation checkpointing: blocks of a tag that a step needs late are freed and allocated again",
    .parameter_name = "tag",
    .assumes =
        "Each block can be computed again on its own when it is needed, from what is live then.",
    .is_estimate = true,
    .search = REMEDY_EACH,
    .parameter = checkpointing_parameter,
    .label = checkpointing_label,
    .apply = checkpointing_apply,
};
