/* A tree of names with bytes: what a flame graph shows. */
#ifndef PAGE_FLAME_TREE_H
#define PAGE_FLAME_TREE_H

#include "harness/base/writing.h"
#include "harness/op/setup.h"

struct flame_node {
    char name[SETUP_NAME_BYTES];
    uint64_t bytes;                         /* its own, and those of its children */
    uint32_t first_child, last_child, next; /* indexes; 0: none */
};
/* Open to read. */
struct flame_tree {
    struct flame_node *nodes; /* count of them; nodes[0] is the root */
    size_t count, room;
};
void flame_tree_init(struct flame_tree *tree, const char *name);
void flame_tree_deinit(struct flame_tree *tree);

/* Adds a child of no bytes, whose name is cut to its room and made printable.  O(length). */
uint32_t flame_tree_add(struct flame_tree *tree, uint32_t parent, const char *name, size_t length);
/* The child of that name, which is added if need be.  O(children). */
uint32_t flame_tree_child(struct flame_tree *tree, uint32_t parent, const char *name,
                          size_t length);

/* Appends the tree as JSON (reports/page/README.md).  Children of fewer bytes are one child, "N
 * others"; a single one of a node stands alone, without its children.  The tree is at most 100
 * deep. */
void flame_tree_append(const struct flame_tree *tree, uint64_t bytes_min, struct writing *json);

#endif
