#include "formats/common/stacks.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

struct stacks *stacks_create(void)
{
    struct stacks *stacks = calloc(1, sizeof *stacks);
    CHECK(stacks != NULL);
    stacks->nodes = array_grown(NULL, 0, &stacks->node_room, sizeof *stacks->nodes);
    stacks->nodes[stacks->node_count++] = (struct stack_node){0};
    return stacks;
}

void stacks_destroy(struct stacks *stacks)
{
    if (stacks != NULL) {
        name_table_deinit(&stacks->frames);
        free(stacks->nodes);
        free(stacks->slots.slots);
        free(stacks->ops);
        free(stacks);
    }
}

/* The last number stands for all further frames. */
uint32_t stacks_frame(struct stacks *stacks, const char *text, size_t length)
{
    if (stacks->frames.count + 1 >= STACKS_FRAME_COUNT_MAX) {
        stacks->is_cut = true;
        return name_table_add(&stacks->frames, STACKS_OTHER_FRAMES, strlen(STACKS_OTHER_FRAMES));
    }
    return name_table_add(&stacks->frames, text, length);
}

/* --- nodes --- */

static uint64_t hash_node(const void *thing, uint64_t seed)
{
    const struct stack_node *node = thing;
    uint64_t hash = ((uint64_t)node->parent << 32 | node->frame) + seed;
    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94D049BB133111EB);
    return hash ^ hash >> 31;
}

static bool is_same_node(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct stack_node)) == 0;
}

/* The child of that frame; the parent itself where there is no room for one. */
static uint32_t find_child(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
    const struct stack_node node = {.parent = parent, .frame = frame};
    static const struct slots_kind kind = {sizeof node, hash_node, is_same_node};
    uint32_t *slot = slots_find(&stacks->slots, &kind, stacks->nodes, 1, stacks->node_count, &node);
    if (*slot != 0) {
        return *slot - 1;
    }
    if (stacks->node_count == STACKS_NODE_COUNT_MAX) {
        stacks->is_cut = true;
        return parent;
    }
    *slot = (uint32_t)stacks->node_count + 1;
    ARRAY_ADD(stacks->nodes, stacks->node_count, stacks->node_room) = node;
    return (uint32_t)stacks->node_count - 1;
}

uint32_t stacks_add(struct stacks *stacks, const uint32_t *frames, size_t count, bool has_more)
{
    uint32_t node = STACKS_NONE;
    CHECK(count <= STACKS_DEPTH_MAX);
    if (stacks->step_count + count > STACKS_STEP_COUNT_MAX) {
        stacks->is_cut = true;
        return STACKS_NONE;
    }
    stacks->step_count += (uint32_t)count;
    if (has_more && count > 0) {
        node = find_child(stacks, node,
                          stacks_frame(stacks, STACKS_OUTER_FRAMES, strlen(STACKS_OUTER_FRAMES)));
        count = node == STACKS_NONE ? 0 : count;
    }
    for (size_t i = count; i-- > 0;) {
        const uint32_t child = find_child(stacks, node, frames[i]);
        if (child == node) {
            break; /* the frames below it have no place either */
        }
        node = child;
    }
    return node;
}

/* --- ops --- */

void stacks_say(struct stacks *stacks, uint32_t op, uint32_t node)
{
    if (node == STACKS_NONE) {
        return;
    }
    CHECK(stacks != NULL && node < stacks->node_count);
    ARRAY_ADD(stacks->ops, stacks->op_count, stacks->op_room) = (struct stack_of_op){.op = op,
                                                                                     .node = node};
}

uint32_t *stacks_by_op(const struct stacks *stacks, size_t op_count)
{
    uint32_t *nodes = calloc(op_count + 1, sizeof *nodes);
    CHECK(nodes != NULL);
    for (size_t i = 0; i < stacks->op_count; i++) {
        CHECK(stacks->ops[i].op < op_count);
        nodes[stacks->ops[i].op] = stacks->ops[i].node;
    }
    return nodes;
}
