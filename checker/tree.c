#include "checker/private/tree.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOWER, HIGHER };

static int get_height(const struct tree_node *node)
{
    return node == NULL ? 0 : node->height;
}

static void set_height(struct tree_node *node)
{
    const int lower = get_height(node->sides[LOWER]), higher = get_height(node->sides[HIGHER]);
    node->height = 1 + (lower > higher ? lower : higher);
}

/* Orders nodes by key; those of one key are in the order of their array. */
static int find_side(const struct tree_node *root, const struct tree_node *node)
{
    const bool is_lower = node->key != root->key ? node->key < root->key : node < root;
    return is_lower ? LOWER : HIGHER;
}

/* The node on that side becomes the root. */
static struct tree_node *raise_side(struct tree_node *root, int side)
{
    struct tree_node *raised = root->sides[side];
    root->sides[side] = raised->sides[!side];
    raised->sides[!side] = root;
    set_height(root);
    set_height(raised);
    return raised;
}

/* Both sides are balanced, and one is at most two higher than the other. */
static struct tree_node *balance_root(struct tree_node *root)
{
    for (int side = LOWER; side <= HIGHER; side++) {
        struct tree_node *high = root->sides[side];
        if (get_height(high) <= get_height(root->sides[!side]) + 1) {
            continue;
        }
        if (get_height(high->sides[!side]) > get_height(high->sides[side])) {
            root->sides[side] = raise_side(high, !side);
        }
        return raise_side(root, side);
    }
    set_height(root);
    return root;
}

struct tree_node *tree_put(struct tree_node *root, struct tree_node *node)
{
    if (root == NULL) {
        node->sides[LOWER] = node->sides[HIGHER] = NULL;
        node->height = 1;
        return node;
    }
    const int side = find_side(root, node);
    root->sides[side] = tree_put(root->sides[side], node);
    return balance_root(root);
}

static struct tree_node *take_lowest(struct tree_node *root, struct tree_node **lowest)
{
    if (root->sides[LOWER] == NULL) {
        *lowest = root;
        return root->sides[HIGHER];
    }
    root->sides[LOWER] = take_lowest(root->sides[LOWER], lowest);
    return balance_root(root);
}

struct tree_node *tree_take(struct tree_node *root, struct tree_node *node)
{
    if (root != node) {
        const int side = find_side(root, node);
        root->sides[side] = tree_take(root->sides[side], node);
        return balance_root(root);
    }
    if (node->sides[HIGHER] == NULL) {
        return node->sides[LOWER];
    }
    struct tree_node *next;
    struct tree_node *higher = take_lowest(node->sides[HIGHER], &next);
    next->sides[LOWER] = node->sides[LOWER];
    next->sides[HIGHER] = higher;
    return balance_root(next);
}

void tree_find_around(struct tree_node *root, int64_t key, struct tree_node *around[2])
{
    around[LOWER] = around[HIGHER] = NULL;
    while (root != NULL) {
        const int side = root->key < key ? LOWER : HIGHER;
        around[side] = root;
        root = root->sides[!side];
    }
}
