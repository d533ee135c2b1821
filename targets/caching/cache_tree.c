#include "targets/caching/private/cache_state.h"

static bool is_before(const struct cache_tree *tree, const struct cache_block *a,
                      const struct cache_block *b)
{
    if (tree->order != CACHE_BY_ADDRESS && a->stream != b->stream) {
        return a->stream < b->stream;
    }
    if (tree->order >= CACHE_BY_SIZE && a->range.size_bytes != b->range.size_bytes) {
        return a->range.size_bytes < b->range.size_bytes;
    }
    if (tree->order == CACHE_BY_SIZE_AND_AGE && a->number != b->number) {
        return a->number < b->number;
    }
    return a->range.address < b->range.address;
}

void cache_tree_insert(struct cache_tree *tree, struct cache_block *block)
{
    struct cache_block **link = &tree->root;
    while (*link != NULL && (*link)->priority >= block->priority) {
        link = is_before(tree, block, *link) ? &(*link)->left : &(*link)->right;
    }
    struct cache_block *rest = *link;
    struct cache_block **low = &block->left;
    struct cache_block **high = &block->right;
    *link = block;
    while (rest != NULL) {
        if (is_before(tree, rest, block)) {
            *low = rest;
            low = &rest->right;
            rest = rest->right;
        } else {
            *high = rest;
            high = &rest->left;
            rest = rest->left;
        }
    }
    *low = NULL;
    *high = NULL;
}

void cache_tree_remove(struct cache_tree *tree, struct cache_block *block)
{
    struct cache_block **link = &tree->root;
    while (*link != block) {
        link = is_before(tree, block, *link) ? &(*link)->left : &(*link)->right;
    }
    struct cache_block *low = block->left;
    struct cache_block *high = block->right;
    while (low != NULL && high != NULL) {
        if (low->priority > high->priority) {
            *link = low;
            link = &low->right;
            low = low->right;
        } else {
            *link = high;
            link = &high->left;
            high = high->left;
        }
    }
    *link = low != NULL ? low : high;
}

/* The neighbours of the place between those before key, with is_after those up to key, and the
 * others; NULL: there is none. */
struct neighbours {
    struct cache_block *low, *high;
};

static struct neighbours find_place(const struct cache_tree *tree, const struct cache_block *key,
                                    bool is_after)
{
    struct neighbours found = {NULL, NULL};
    for (struct cache_block *block = tree->root; block != NULL;) {
        const bool is_low = is_after ? !is_before(tree, key, block) : is_before(tree, block, key);
        *(is_low ? &found.low : &found.high) = block;
        block = is_low ? block->right : block->left;
    }
    return found;
}

struct cache_block *cache_tree_find(const struct cache_tree *tree, const struct cache_block *key)
{
    return find_place(tree, key, false).high;
}

struct cache_block *cache_tree_after(const struct cache_tree *tree, const struct cache_block *key)
{
    return find_place(tree, key, true).high;
}

struct cache_block *cache_tree_before(const struct cache_tree *tree, const struct cache_block *key)
{
    return find_place(tree, key, false).low;
}

struct cache_block *cache_tree_first(const struct cache_tree *tree)
{
    struct cache_block *first = tree->root;
    while (first != NULL && first->left != NULL) {
        first = first->left;
    }
    return first;
}
