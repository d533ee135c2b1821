/* Who holds memory at one turn of a run: by tag, as sums, and as the tree of a flame graph by tag
 * and by stack. */
#include "formats/common/stacks.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/order.h"
#include "harness/base/utf8.h"
#include "page/run_record.h"
#include "present/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100, SMALL_SHARE = 2000 };

/* --- a tree of names with bytes --- */

struct flame_node {
    char name[SETUP_NAME_BYTES];
    uint64_t bytes;                         /* its own, and those of its children */
    uint32_t first_child, last_child, next; /* indexes; 0: none */
};
struct flame_tree {
    struct flame_node *nodes; /* count of them; nodes[0] is the root */
    size_t count, room;
};

static void print_name(char to[SETUP_NAME_BYTES], const char *name, size_t length)
{
    const size_t room = SETUP_NAME_BYTES - 1;
    snprintf(to, SETUP_NAME_BYTES, "%.*s", (int)(length < room ? length : room), name);
    utf8_make_printable(to);
}

/* Adds a child of no bytes, whose name is cut to its room and made printable; the first node is the
 * root.  O(length). */
static uint32_t flame_tree_add(struct flame_tree *tree, uint32_t parent, const char *name,
                               size_t length)
{
    const uint32_t added = (uint32_t)tree->count;
    CHECK(tree->count < UINT32_MAX && (tree->count == 0 || parent < tree->count));
    tree->nodes = array_grown(tree->nodes, tree->count++, &tree->room, sizeof *tree->nodes);
    tree->nodes[added] = (struct flame_node){0};
    print_name(tree->nodes[added].name, name, length);
    struct flame_node *above = &tree->nodes[parent];
    if (added > 0 && above->first_child == 0) {
        above->first_child = added;
    } else if (added > 0) {
        tree->nodes[above->last_child].next = added;
    }
    above->last_child = added;
    return added;
}

/* The child of that name, which is added if need be.  O(children). */
static uint32_t flame_tree_child(struct flame_tree *tree, uint32_t parent, const char *name,
                                 size_t length)
{
    char printed[SETUP_NAME_BYTES];
    print_name(printed, name, length);
    for (uint32_t i = tree->nodes[parent].first_child; i != 0; i = tree->nodes[i].next) {
        if (strcmp(tree->nodes[i].name, printed) == 0) {
            return i;
        }
    }
    return flame_tree_add(tree, parent, name, length);
}

static void append_begin(const char *key, const char *name, uint64_t bytes, struct writing *json)
{
    json_nest(json, key, '{');
    say_json(json, "name:%s bytes:%" PRIu64 " children:[", name, bytes);
}

/* Appends the node as JSON (present/page/README.md).  Children of fewer bytes are one child, "N
 * others"; a single one stands alone, without its children.  The tree is at most 100 deep. */
static void append_node(const struct flame_tree *tree, uint32_t node, uint64_t bytes_min,
                        const char *key, unsigned depth, struct writing *json)
{
    char others[SETUP_NAME_BYTES];
    uint64_t small_bytes = 0, small_count = 0;
    uint32_t small = 0;
    CHECK(depth < DEPTH_MAX);
    append_begin(key, tree->nodes[node].name, tree->nodes[node].bytes, json);
    for (uint32_t i = tree->nodes[node].first_child; i != 0; i = tree->nodes[i].next) {
        if (tree->nodes[i].bytes >= bytes_min) {
            append_node(tree, i, bytes_min, NULL, depth + 1, json);
        } else {
            small_bytes += tree->nodes[i].bytes;
            small_count++;
            small = i;
        }
    }
    if (small_count > 0) {
        snprintf(others, sizeof others, "%" PRIu64 " others", small_count);
        append_begin(NULL, small_count == 1 ? tree->nodes[small].name : others, small_bytes, json);
        say_json(json, "]}");
    }
    say_json(json, "]}");
}

/* Appends the whole tree as a member, and frees it. */
static void take_tree(struct flame_tree *tree, uint64_t bytes_min, const char *key,
                      struct writing *json)
{
    append_node(tree, 0, bytes_min, key, 0, json);
    free(tree->nodes);
}

/* --- by tag --- */

/* Adds a block. */
static void count_block(struct run_holders *holders, const struct record_block *block)
{
    if (block->state == RECORD_STACK) {
        holders->stack_bytes += block->size_bytes;
    } else if (block->state == RECORD_RETIRED) {
        holders->retired_bytes += block->size_bytes;
        holders->retired_count++;
    } else {
        holders->bytes[block->tag] += block->size_bytes;
        holders->counts[block->tag]++;
    }
}

void run_holders_take(const struct run_record *record, uint32_t turn, uint32_t host,
                      struct run_holders *holders)
{
    *holders = (struct run_holders){0};
    for (size_t i = 0; i < record->block_count && record->blocks[i].begin <= turn; i++) {
        if (record->blocks[i].end > turn && record->blocks[i].host == host) {
            count_block(holders, &record->blocks[i]);
        }
    }
}

/* True if nobody knows who made the blocks of that tag. */
static bool is_unknown_tag(const struct setup *setup, uint8_t tag)
{
    const char *name = setup->tags[tag];
    return name[0] == '\0' || strcmp(name, SETUP_BEFORE_NAME) == 0 || setup_is_outside_name(name);
}

/* The parts of the name, between / or ;, are a path from the node down. */
static void add_path(struct flame_tree *flame, uint32_t node, const char *path, uint64_t bytes)
{
    flame->nodes[0].bytes += bytes;
    flame->nodes[node].bytes += node == 0 ? 0 : bytes;
    while (*path != '\0') {
        const size_t length = strcspn(path, "/;");
        if (length > 0) {
            node = flame_tree_child(flame, node, path, length);
            flame->nodes[node].bytes += bytes;
        }
        path += length + (path[length] != '\0');
    }
}

/* Adds what the holders have as paths of the names of their tags.  What nobody can be named for is
 * a child of the root, "unknown origin". */
static void add_holders(struct flame_tree *flame, const struct setup *setup,
                        const struct run_holders *holders)
{
    static const char unknown[] = "unknown origin";
    char name[SETUP_NAME_BYTES];
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        if (holders->bytes[tag] > 0) {
            const uint32_t parent = is_unknown_tag(setup, (uint8_t)tag)
                                        ? flame_tree_child(flame, 0, unknown, strlen(unknown))
                                        : 0;
            add_path(flame, parent, setup_tag_name(setup, (uint8_t)tag, name), holders->bytes[tag]);
        }
    }
    if (holders->stack_bytes > 0) {
        add_path(flame, 0, "stack", holders->stack_bytes);
    }
    if (holders->retired_bytes > 0) {
        add_path(flame, 0, "retired", holders->retired_bytes);
    }
}

void run_holders_append_flame(const struct run_holders *holders, const struct setup *setup,
                              struct writing *json)
{
    struct flame_tree flame = {0};
    (void)flame_tree_add(&flame, 0, "in use", strlen("in use"));
    add_holders(&flame, setup, holders);
    take_tree(&flame, 0, "flame", json);
}

/* --- by stack --- */

/* The memory that blocks of one tag and one stack hold. */
struct stack_leaf {
    uint64_t bytes;
    uint32_t node;
    uint8_t tag;
};

struct stack_tree {
    const struct run_record *record;
    const struct stacks *stacks;
    struct stack_leaf *leaves; /* leaf_count of them */
    size_t leaf_count, leaf_room;
    uint64_t *bytes; /* of each node, with what is below it */
    uint32_t *boxes; /* of each node: 1 + its box in the flame; 0: none */
    struct flame_tree flame;
    struct run_holders others; /* blocks without a stack */
};

static void add_block(struct stack_tree *tree, const struct record_block *block,
                      const uint32_t *nodes)
{
    const struct run_record *record = tree->record;
    const bool is_made = block->state != RECORD_STACK && block->state != RECORD_RETIRED &&
                         block->maker < record->op_count &&
                         record->ops[block->maker].op < record->list->count;
    const uint32_t node = is_made ? nodes[record->ops[block->maker].op] : STACKS_NONE;
    if (node == STACKS_NONE) {
        count_block(&tree->others, block);
        return;
    }
    tree->leaves = array_grown(tree->leaves, tree->leaf_count, &tree->leaf_room,
                               sizeof *tree->leaves);
    tree->leaves[tree->leaf_count++] = (struct stack_leaf){
        .bytes = block->size_bytes, .node = node, .tag = block->tag};
    tree->bytes[node] += block->size_bytes;
}

static void add_blocks(struct stack_tree *tree, uint32_t turn, uint32_t host)
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
static void sum_nodes(struct stack_tree *tree)
{
    for (size_t i = tree->stacks->node_count; i-- > 1;) {
        CHECK(tree->stacks->nodes[i].parent < i);
        tree->bytes[tree->stacks->nodes[i].parent] += tree->bytes[i];
    }
}

static void add_nodes(struct stack_tree *tree)
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
    const struct stack_leaf *left = a, *right = b;
    return compare_places(left->node, left->tag, right->node, right->tag);
}

static bool has_frame(const struct stack_tree *tree, uint32_t node, const char *name)
{
    for (; node != STACKS_NONE; node = tree->stacks->nodes[node].parent) {
        if (strcmp(name, tree->flame.nodes[tree->boxes[node] - 1].name) == 0) {
            return true;
        }
    }
    return false;
}

/* A tag that is no frame of the stack says more than the stack. */
static void add_tag(struct stack_tree *tree, const struct stack_leaf *leaf, uint64_t bytes)
{
    const uint32_t box = tree->boxes[leaf->node] - 1;
    const char *name = tree->record->setup.tags[leaf->tag];
    if (name[0] != '\0' && !has_frame(tree, leaf->node, name)) {
        const uint32_t child = flame_tree_add(&tree->flame, box, name, strlen(name));
        tree->flame.nodes[child].bytes = bytes;
    }
}

static void add_tags(struct stack_tree *tree)
{
    if (tree->leaf_count > 0) {
        qsort(tree->leaves, tree->leaf_count, sizeof *tree->leaves, compare_leaves);
    }
    for (size_t i = 0; i < tree->leaf_count;) {
        const struct stack_leaf *first = &tree->leaves[i];
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
    struct stack_tree *tree = calloc(1, sizeof *tree);
    CHECK(tree != NULL);
    tree->record = record;
    tree->stacks = stacks;
    tree->bytes = calloc(stacks->node_count, sizeof *tree->bytes);
    tree->boxes = calloc(stacks->node_count, sizeof *tree->boxes);
    CHECK(tree->bytes != NULL && tree->boxes != NULL);
    (void)flame_tree_add(&tree->flame, 0, "in use", strlen("in use"));
    add_blocks(tree, turn, host);
    sum_nodes(tree);
    /* First: a frame that is called as one of them is another box. */
    add_holders(&tree->flame, &record->setup, &tree->others);
    add_nodes(tree);
    add_tags(tree);
    take_tree(&tree->flame, tree->flame.nodes[0].bytes / SMALL_SHARE, "flameStacks", json);
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
