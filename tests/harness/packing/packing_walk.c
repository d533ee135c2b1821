#include "tests/harness/packing/packing_proof.h"

#include <stdlib.h>
#include <string.h>

static char next_letter(struct walk *walk)
{
    return walk->at < walk->length ? walk->letters[walk->at++] : '\0';
}

static void add_type(struct walk *walk, uint64_t size, uint64_t align)
{
    size_t at = 0;
    while (at < walk->type_count &&
           (walk->types[at].size > size ||
            (walk->types[at].size == size && walk->types[at].align < align))) {
        at++;
    }
    if (at == walk->type_count || walk->types[at].size != size || walk->types[at].align != align) {
        memmove(&walk->types[at + 1], &walk->types[at],
                (walk->type_count - at) * sizeof walk->types[0]);
        walk->types[at].size = size;
        walk->types[at].align = align;
        walk->types[at].count = 0;
        walk->type_count++;
    }
    walk->types[at].count++;
}

int packing_compare_spans(const void *a, const void *b)
{
    const struct packing_bin *left = a;
    const struct packing_bin *right = b;
    const uint64_t left_length = left->end - left->start;
    const uint64_t right_length = right->end - right->start;
    if (left_length != right_length) {
        return left_length < right_length ? -1 : 1;
    }
    return left->start > right->start ? -1 : left->start < right->start;
}

/* A node as the page has it, in granules. */
struct node {
    size_t span, t, first;
    uint64_t at, slack, passed, spare;
};

static bool may_come(const struct walk *walk, const struct node *node, uint64_t end)
{
    const uint64_t align = walk->types[node->t].align;
    const uint64_t start = (node->at + align - 1) / align * align;
    return walk->types[node->t].count > 0 && !(align == 1 && node->t < node->first) &&
           start + walk->types[node->t].size <= end && start - node->at <= node->slack;
}

static bool node_holds(struct walk *walk, struct node node);

static bool placed_holds(struct walk *walk, struct node node)
{
    const uint64_t align = walk->types[node.t].align;
    const uint64_t start = (node.at + align - 1) / align * align;
    const size_t t = node.t;
    walk->types[t].count--;
    walk->left--;
    node.slack -= start - node.at;
    node.at = start + walk->types[t].size;
    node.first = align == 1 ? t : 0;
    node.t = 0;
    if (!walk->is_plain) {
        node.spare = node.slack;
    } else if (node.passed > 0 && node.passed - walk->types[t].size - 1 < node.spare) {
        node.spare = node.passed - walk->types[t].size - 1;
    }
    const bool holds = node_holds(walk, node);
    walk->types[t].count++;
    walk->left++;
    return holds;
}

static bool passed_holds(struct walk *walk, struct node node)
{
    node.passed = walk->types[node.t++].size;
    if (walk->is_plain && node.passed - 1 < node.spare) {
        node.spare = node.passed - 1;
    }
    return node_holds(walk, node);
}

static bool node_holds(struct walk *walk, struct node node)
{
    const char letter = next_letter(walk);
    const uint64_t end = walk->spans[node.span].end / walk->problem->granule_bytes;
    const uint64_t room = end - node.at;
    if (walk->left == 0) {
        return false;
    }
    while (node.t < walk->type_count && !may_come(walk, &node, end)) {
        node.t++;
    }
    const bool has_type = node.t < walk->type_count;
    if (letter == 'b') {
        return has_type && placed_holds(walk, node) && passed_holds(walk, node);
    }
    if (letter == 'c') {
        const uint64_t slack = node.slack - room;
        return !has_type && room <= node.spare && node.span + 1 < walk->bin_count &&
               node_holds(walk, (struct node){.span = node.span + 1,
                                              .at = walk->spans[node.span + 1].start /
                                                    walk->problem->granule_bytes,
                                              .slack = slack,
                                              .spare = slack});
    }
    uint64_t sum = 0;
    for (size_t t = node.t; t < walk->type_count; t++) {
        sum += walk->types[t].size * walk->types[t].count;
    }
    return letter == 'f' && room > node.spare && room - node.spare > sum &&
           (walk->is_plain || !has_type);
}

bool walk_holds(struct walk *walk, bool is_plain, uint64_t least_bytes)
{
    const struct packing_problem *problem = walk->problem;
    if (walk->letters == NULL || strlen(walk->letters) != walk->length) {
        return false;
    }
    walk->is_plain = is_plain;
    walk->left = 0;
    for (size_t i = 0; i < walk->item_count; i++) {
        const struct packing_item *item = &problem->items[i];
        if (item->size_bytes < least_bytes) {
            walk->slack += item->size_bytes / problem->granule_bytes;
            continue;
        }
        walk->left++;
        const uint64_t align_bytes = is_plain ? problem->granule_bytes : item->align_bytes;
        add_type(walk, item->size_bytes / problem->granule_bytes,
                 align_bytes / problem->granule_bytes);
    }
    memcpy(walk->spans, problem->bins, walk->bin_count * sizeof *walk->spans);
    qsort(walk->spans, walk->bin_count, sizeof *walk->spans, packing_compare_spans);
    const struct node first = {.at = walk->spans[0].start / problem->granule_bytes,
                               .slack = walk->slack,
                               .spare = walk->slack};
    return node_holds(walk, first) && walk->at == walk->length;
}
