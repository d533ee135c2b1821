/* Drop the old copy: before a set of blocks is made a second time, the first one is freed, block by
 * block. */
#include "diagnosis/private/variant.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Between the two sets at least so many ops do something else, and so many times as many as between
 * any two blocks of the first one. */
enum { COPIED_COUNT_MIN = 2, DISTANCE_MIN = 4, DISTANCE_FACTOR = 3 };

/* The blocks of one tag that are live at the end, in the order in which they were made, with the
 * request that was refused. */
struct dropped_set {
    uint32_t *roots; /* count of them */
    size_t count;
    size_t split; /* from here on they are a copy of the first ones; count: they are none */
};

static bool is_there_at_end(const struct remedy_case *given, uint32_t i)
{
    const struct op *op = &given->ops->ops[i];
    const struct remedy_life *life = &given->lives.lives[i];
    if (op->kind != OP_ALLOC && op->kind != OP_OUTPUT) {
        return false;
    }
    return (life->root == i && life->end == OP_NONE && !life->is_donated) ||
           i + 1 == given->ops->count;
}

static void collect_set(const struct remedy_case *given, uint8_t tag, struct dropped_set *set)
{
    set->roots = malloc((given->ops->count + 1) * sizeof *set->roots);
    CHECK(set->roots != NULL);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        if (given->ops->ops[i].tag == tag && is_there_at_end(given, i)) {
            set->roots[set->count++] = i;
        }
    }
}

/* True if the blocks from split on have the sizes of the first ones, on the same hosts. */
static bool is_copy(const struct remedy_case *given, const struct dropped_set *set, size_t split)
{
    for (size_t i = split; i < set->count; i++) {
        const struct op *copied = &given->ops->ops[set->roots[i - split]];
        const struct op *copy = &given->ops->ops[set->roots[i]];
        if (copied->size_bytes != copy->size_bytes || copied->host != copy->host) {
            return false;
        }
    }
    uint32_t widest = 0;
    for (size_t i = 1; i < split; i++) {
        const uint32_t distance = set->roots[i] - set->roots[i - 1];
        widest = distance > widest ? distance : widest;
    }
    const uint32_t distance = set->roots[split] - set->roots[split - 1];
    return distance >= DISTANCE_MIN && distance >= (uint64_t)DISTANCE_FACTOR * widest;
}

static void find_split(const struct remedy_case *given, struct dropped_set *set)
{
    set->split = (set->count + 1) / 2;
    while (set->split < set->count &&
           (set->split < COPIED_COUNT_MIN || !is_copy(given, set, set->split))) {
        set->split++;
    }
    if (set->count - set->split < COPIED_COUNT_MIN) {
        set->split = set->count;
    }
}

static bool drop_copy_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                                char note[REMEDY_NOTE_BYTES])
{
    enum { TAGS_TRIED = 4 };
    uint64_t scores[OP_TAG_COUNT] = {0};
    bool is_known[OP_TAG_COUNT] = {false};
    snprintf(note, REMEDY_NOTE_BYTES, "no set of buffers is there twice");
    for (uint32_t i = 0; i < given->ops->count; i++) {
        const uint8_t tag = given->ops->ops[i].tag;
        struct dropped_set set = {0};
        if (is_known[tag] || !is_there_at_end(given, i)) {
            continue;
        }
        is_known[tag] = true;
        collect_set(given, tag, &set);
        find_split(given, &set);
        for (size_t k = set.split; k < set.count; k++) {
            scores[tag] += given->ops->ops[set.roots[k]].size_bytes;
        }
        free(set.roots);
    }
    return index < TAGS_TRIED && remedy_tag_ranked(given, scores, index, parameter);
}

/* Frees the first copy block by block, each before the one that takes its place. */
static void write_dropped(const struct remedy_case *given, const struct dropped_set *set,
                          struct op_list *to)
{
    struct rewrite rewrite;
    size_t next = set->split;
    rewrite_init(&rewrite, given->ops, to);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        if (next < set->count && set->roots[next] == i) {
            rewrite_free_held(&rewrite, &given->lives, set->roots[next - set->split]);
            next++;
        }
        rewrite_keep(&rewrite, i);
    }
    rewrite_deinit(&rewrite);
}

/* True if an op names a block of the first copy once it would be gone. */
static bool is_needed(const struct remedy_case *given, const struct dropped_set *set)
{
    for (size_t i = set->split; i < set->count; i++) {
        if (given->lives.lives[set->roots[i - set->split]].last_named > set->roots[i]) {
            return true;
        }
    }
    return false;
}

static bool drop_copy_apply(const struct remedy_case *given, uint64_t parameter,
                            struct remedy_result *result)
{
    struct dropped_set set = {0};
    uint64_t bytes = 0;
    collect_set(given, (uint8_t)parameter, &set);
    find_split(given, &set);
    const size_t dropped_count = set.count - set.split;
    const bool applies = dropped_count > 0 && !is_needed(given, &set);
    for (size_t i = 0; i < dropped_count; i++) {
        bytes += given->lives.lives[set.roots[i]].bytes;
    }
    snprintf(result->note, sizeof result->note, "blocks of the first copy freed: %zu, %s",
             dropped_count, size_text_of(bytes).text);
    if (applies) {
        write_dropped(given, &set, &result->ops);
    } else {
        snprintf(result->note, sizeof result->note,
                 dropped_count == 0 ? "no set of buffers is there twice"
                                    : "a later op names a block of the first copy");
    }
    free(set.roots);
    return applies;
}

const struct remedy remedy_drop_copy = {
    .name = "drop-copy",
    .summary = "the first copy of a set of buffers is freed while the second is made",
    .parameter_name = "tag",
    .assumes = "Nothing reads the first copy once its place in the second is asked for.",
    .search = REMEDY_EACH,
    .parameter = drop_copy_parameter,
    .label = remedy_tag_parameter_label,
    .apply = drop_copy_apply,
};
