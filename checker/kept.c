#include "checker/private/replay.h"
#include "checker/private/tree.h"

#include <stdlib.h>

/* Covered memory; two of them do not overlap. */
struct kept_span {
    struct tree_node place; /* by start, and the first member */
    uint64_t end;
};
struct cover {
    struct kept_span *spans; /* one for each range */
    size_t span_count;
    struct tree_node *root; /* of those that were not merged into another one */
    struct replay_kept *kept;
};

static void add_piece(struct replay_kept *kept, const struct fact_block *like, uint64_t start,
                      uint64_t end)
{
    if (like != NULL && start < end) {
        struct fact_block *piece = &kept->pieces[kept->piece_count++];
        *piece = *like;
        piece->address = (int64_t)start;
        piece->size = (int64_t)(end - start);
    }
}

/* The span that begins highest below `end` and reaches over start; NULL: there is none. */
static struct kept_span *find_met(struct tree_node *root, uint64_t start, uint64_t end)
{
    struct tree_node *around[2];
    tree_find_around(root, (int64_t)(end < INT64_MAX ? end : INT64_MAX), around);
    struct kept_span *below = (struct kept_span *)around[0];
    return below != NULL && below->end > start ? below : NULL;
}

/* Makes pieces of the parts of the range that were not covered (like NULL: of none).  Each round
 * merges a span into the new one. */
static void cover_range(struct cover *cover, uint64_t start, uint64_t end,
                        const struct fact_block *like)
{
    struct kept_span *merged = &cover->spans[cover->span_count++], *met;
    uint64_t open_end = end, low = start;
    merged->end = end;
    while ((met = find_met(cover->root, start, end)) != NULL) {
        add_piece(cover->kept, like, met->end, open_end);
        open_end = (uint64_t)met->place.key;
        low = open_end < low ? open_end : low;
        merged->end = met->end > merged->end ? met->end : merged->end;
        cover->root = tree_take(cover->root, &met->place);
    }
    add_piece(cover->kept, like, start, open_end);
    merged->place.key = (int64_t)low;
    cover->root = tree_put(cover->root, &merged->place);
}

/* Sorts first what is free last: it has the bytes that several left. */
static int compare_left(const void *left, const void *right)
{
    const struct fact_block *a = left, *b = right;
    const uint64_t a_end = (uint64_t)a->freed_at, b_end = (uint64_t)b->freed_at;
    if (a->holds != b->holds) {
        return a->holds > b->holds ? -1 : 1;
    }
    if (a_end != b_end) {
        return a_end > b_end ? -1 : 1;
    }
    return (a->op > b->op) - (a->op < b->op);
}

bool kept_cut(struct replay_kept *kept)
{
    const size_t count = kept->taken_count + kept->left_count;
    struct cover cover = {.spans = calloc(count + 1, sizeof *cover.spans), .kept = kept};
    /* A piece ends at the end of its range, or at a span that is merged then. */
    kept->pieces = calloc(count + kept->left_count + 1, sizeof *kept->pieces);
    const bool has_memory = cover.spans != NULL && kept->pieces != NULL;
    for (size_t i = 0; has_memory && i < kept->taken_count; i++) {
        const struct kept_taken *taken = &kept->taken[i];
        cover_range(&cover, taken->address, taken->address + taken->bytes, NULL);
    }
    if (has_memory && kept->left_count > 0) {
        qsort(kept->left, kept->left_count, sizeof *kept->left, compare_left);
    }
    for (size_t i = 0; has_memory && i < kept->left_count; i++) {
        const struct fact_block *left = &kept->left[i];
        cover_range(&cover, (uint64_t)left->address, (uint64_t)left->address + (uint64_t)left->size,
                    left);
    }
    free(cover.spans);
    return has_memory;
}
