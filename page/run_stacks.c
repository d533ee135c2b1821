#include "page/run_stacks.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "page/run_holders.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_SHARE = 2000 };

/* The memory that blocks of one tag and one stack hold. */
struct leaf {
    uint64_t bytes;
    uint32_t node;
    uint8_t tag;
};

struct tree {
    const struct run_record *record;
    const struct stacks *stacks;
    struct leaf *leaves; /* leaf_count of them */
    size_t leaf_count, leaf_room;
    uint64_t *bytes; /* of each node, with what is below it */
    uint32_t *boxes; /* of each node: 1 + its box in the flame; 0: none */
    struct flame_tree flame;
    struct run_holders others; /* blocks without a stack */
};

static void add_block(struct tree *tree, const struct record_block *block, const uint32_t *nodes)
{
    const struct run_record *record = tree->record;
    const bool is_made = block->state != RECORD_STACK && block->state != RECORD_RETIRED &&
                         block->maker < record->op_count &&
                         record->ops[block->maker].op < record->list->count;
    const uint32_t node = is_made ? nodes[record->ops[block->maker].op] : STACKS_NONE;
    if (node == STACKS_NONE) {
        run_holders_count(&tree->others, block);
        return;
    }
    tree->leaves = array_grown(tree->leaves, tree->leaf_count, &tree->leaf_room,
                               sizeof *tree->leaves);
    tree->leaves[tree->leaf_count++] = (struct leaf){
        .bytes = block->size_bytes, .node = node, .tag = block->tag};
    tree->bytes[node] += block->size_bytes;
}

static void add_blocks(struct tree *tree, uint32_t turn, uint32_t host)
{
    const struct run_record *record = tree->record;
    uint32_t *nodes = stacks_by_op(tree->stacks, record->list->count);
    for (size_t i = 0; i < record->block_count && record->blocks[i].begin <= turn; i++) {
        if (record->blocks[i].end > turn && record->blocks[i].host == host) {
            add_block(tree, &record->blocks[i], nodes);
        }
    }
    free(nodes);
}

/* A parent stands before its children. */
static void sum_nodes(struct tree *tree)
{
    for (size_t i = tree->stacks->node_count; i-- > 1;) {
        CHECK(tree->stacks->nodes[i].parent < i);
        tree->bytes[tree->stacks->nodes[i].parent] += tree->bytes[i];
    }
}

static void add_nodes(struct tree *tree)
{
    const struct stacks *stacks = tree->stacks;
    tree->boxes[STACKS_NONE] = 1;
    for (size_t i = 1; i < stacks->node_count; i++) {
        if (tree->bytes[i] == 0) {
            continue;
        }
        const char *name = stacks->frames.names[stacks->nodes[i].frame].text;
        const uint32_t parent = tree->boxes[stacks->nodes[i].parent] - 1;
        const uint32_t box = flame_tree_add(&tree->flame, parent, name, strlen(name));
        tree->flame.nodes[box].bytes = tree->bytes[i];
        tree->boxes[i] = box + 1;
    }
    tree->flame.nodes[0].bytes += tree->bytes[STACKS_NONE];
}

static int compare_leaves(const void *a, const void *b)
{
    const struct leaf *left = a;
    const struct leaf *right = b;
    if (left->node != right->node) {
        return left->node < right->node ? -1 : 1;
    }
    return (left->tag > right->tag) - (left->tag < right->tag);
}

static bool has_frame(const struct tree *tree, uint32_t node, const char *name)
{
    for (; node != STACKS_NONE; node = tree->stacks->nodes[node].parent) {
        if (strcmp(name, tree->flame.nodes[tree->boxes[node] - 1].name) == 0) {
            return true;
        }
    }
    return false;
}

/* A tag that is no frame of the stack says more than the stack. */
static void add_tag(struct tree *tree, const struct leaf *leaf, uint64_t bytes)
{
    const uint32_t box = tree->boxes[leaf->node] - 1;
    const char *name = tree->record->setup.tags[leaf->tag];
    if (name[0] != '\0' && !has_frame(tree, leaf->node, name)) {
        const uint32_t child = flame_tree_add(&tree->flame, box, name, strlen(name));
        tree->flame.nodes[child].bytes = bytes;
    }
}

static void add_tags(struct tree *tree)
{
    if (tree->leaf_count > 0) {
        qsort(tree->leaves, tree->leaf_count, sizeof *tree->leaves, compare_leaves);
    }
    for (size_t i = 0; i < tree->leaf_count;) {
        const struct leaf *first = &tree->leaves[i];
        uint64_t bytes = 0;
        for (; i < tree->leaf_count && compare_leaves(first, &tree->leaves[i]) == 0; i++) {
            bytes += tree->leaves[i].bytes;
        }
        add_tag(tree, first, bytes);
    }
}

void run_stacks_append(const struct run_record *record, const struct stacks *stacks, uint32_t turn,
                       uint32_t host, struct writing *json)
{
    struct tree *tree = calloc(1, sizeof *tree);
    CHECK(tree != NULL);
    tree->record = record;
    tree->stacks = stacks;
    tree->bytes = calloc(stacks->node_count, sizeof *tree->bytes);
    tree->boxes = calloc(stacks->node_count, sizeof *tree->boxes);
    CHECK(tree->bytes != NULL && tree->boxes != NULL);
    flame_tree_init(&tree->flame, "in use");
    add_blocks(tree, turn, host);
    sum_nodes(tree);
    /* First: a frame that is called as one of them is another box. */
    run_holders_add_flame(&tree->flame, &record->setup, &tree->others);
    add_nodes(tree);
    add_tags(tree);
    flame_tree_append(&tree->flame, tree->flame.nodes[0].bytes / SMALL_SHARE, json);
    flame_tree_deinit(&tree->flame);
    free(tree->leaves);
    free(tree->bytes);
    free(tree->boxes);
    free(tree);
}

const char *run_stacks_note(const struct stacks *stacks)
{
    return stacks->is_cut
               ? "The file has more stacks than the page keeps: inner frames are missing, or are "
                 "called '" STACKS_OTHER_FRAMES "'."
               : "";
}
