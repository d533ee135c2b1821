#include "page/flame_tree.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100 };

static void print_name(char to[SETUP_NAME_BYTES], const char *name, size_t length)
{
    const size_t room = SETUP_NAME_BYTES - 1;
    snprintf(to, SETUP_NAME_BYTES, "%.*s", (int)(length < room ? length : room), name);
    utf8_make_printable(to);
}

static uint32_t add_node(struct flame_tree *tree, const char name[SETUP_NAME_BYTES])
{
    CHECK(tree->count < UINT32_MAX);
    tree->nodes = array_grown(tree->nodes, tree->count, &tree->room, sizeof *tree->nodes);
    struct flame_node *node = &tree->nodes[tree->count];
    *node = (struct flame_node){0};
    memcpy(node->name, name, SETUP_NAME_BYTES);
    return (uint32_t)tree->count++;
}

static uint32_t add_child(struct flame_tree *tree, uint32_t parent,
                          const char name[SETUP_NAME_BYTES])
{
    CHECK(parent < tree->count);
    const uint32_t added = add_node(tree, name);
    struct flame_node *above = &tree->nodes[parent];
    if (above->first_child == 0) {
        above->first_child = added;
    } else {
        tree->nodes[above->last_child].next = added;
    }
    above->last_child = added;
    return added;
}

void flame_tree_init(struct flame_tree *tree, const char *name)
{
    char printed[SETUP_NAME_BYTES];
    *tree = (struct flame_tree){0};
    print_name(printed, name, strlen(name));
    (void)add_node(tree, printed);
}

void flame_tree_deinit(struct flame_tree *tree)
{
    free(tree->nodes);
    *tree = (struct flame_tree){0};
}

uint32_t flame_tree_add(struct flame_tree *tree, uint32_t parent, const char *name, size_t length)
{
    char printed[SETUP_NAME_BYTES];
    print_name(printed, name, length);
    return add_child(tree, parent, printed);
}

uint32_t flame_tree_child(struct flame_tree *tree, uint32_t parent, const char *name, size_t length)
{
    char printed[SETUP_NAME_BYTES];
    print_name(printed, name, length);
    for (uint32_t i = tree->nodes[parent].first_child; i != 0; i = tree->nodes[i].next) {
        if (strcmp(tree->nodes[i].name, printed) == 0) {
            return i;
        }
    }
    return add_child(tree, parent, printed);
}

/* --- JSON --- */

static void append_begin(const char *name, uint64_t bytes, struct writing *json)
{
    writing_append(json, "{\"name\":");
    writing_append_json(json, name);
    writing_append_format(json, ",\"bytes\":%" PRIu64 ",\"children\":[", bytes);
}

static void append_end(struct writing *json)
{
    writing_append(json, "]}");
}

static void append_leaf(const char *name, uint64_t bytes, struct writing *json)
{
    append_begin(name, bytes, json);
    append_end(json);
}

/* The children of a node that have too few bytes for a place of their own. */
struct small {
    uint64_t bytes, count;
    uint32_t last;
};

static struct small sum_small(const struct flame_tree *tree, uint32_t node, uint64_t bytes_min)
{
    struct small small = {0};
    for (uint32_t i = tree->nodes[node].first_child; i != 0; i = tree->nodes[i].next) {
        if (tree->nodes[i].bytes < bytes_min) {
            small.bytes += tree->nodes[i].bytes;
            small.count++;
            small.last = i;
        }
    }
    return small;
}

static void append_small(const struct flame_tree *tree, uint32_t node, uint64_t bytes_min,
                         const char *separator, struct writing *json)
{
    char name[SETUP_NAME_BYTES];
    const struct small small = sum_small(tree, node, bytes_min);
    if (small.count == 0) {
        return;
    }
    writing_append(json, separator);
    snprintf(name, sizeof name, "%" PRIu64 " others", small.count);
    append_leaf(small.count == 1 ? tree->nodes[small.last].name : name, small.bytes, json);
}

static void append_node(const struct flame_tree *tree, uint32_t node, uint64_t bytes_min,
                        unsigned depth, struct writing *json)
{
    const char *separator = "";
    CHECK(depth < DEPTH_MAX);
    append_begin(tree->nodes[node].name, tree->nodes[node].bytes, json);
    for (uint32_t i = tree->nodes[node].first_child; i != 0; i = tree->nodes[i].next) {
        if (tree->nodes[i].bytes >= bytes_min) {
            writing_append(json, separator);
            append_node(tree, i, bytes_min, depth + 1, json);
            separator = ",";
        }
    }
    append_small(tree, node, bytes_min, separator, json);
    append_end(json);
}

void flame_tree_append(const struct flame_tree *tree, uint64_t bytes_min, struct writing *json)
{
    append_node(tree, 0, bytes_min, 0, json);
}
