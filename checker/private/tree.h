/* Numbers in order: a balanced search tree (Adelson-Velsky and Landis) whose nodes are the
 * caller's. The depth is at most 1.45 log2 of their count, whatever the order in which they come
 * and go, so that the calls may call themselves.  Each call is O(log nodes). */
#ifndef CHECKER_PRIVATE_TREE_H
#define CHECKER_PRIVATE_TREE_H
#include <stdint.h>

/* A node's key stays as it is in a tree.  Several nodes with one key are of one array. */
struct tree_node {
    int64_t key;
    int height;
    struct tree_node *sides[2]; /* the lower and the higher keys */
};

/* Both return the new root; a tree without nodes is NULL.  What is taken is in the tree. */
struct tree_node *tree_put(struct tree_node *root, struct tree_node *node);
struct tree_node *tree_take(struct tree_node *root, struct tree_node *node);
/* The node with the highest key below that one, and the one with the lowest from it on; NULL: there
 * is none. */
void tree_find_around(struct tree_node *root, int64_t key, struct tree_node *around[2]);

#endif
