#include "formats/common/stacks.h"

#include "formats/common/hash_seed.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* As in name_table.c: half full, such a probe is no chance. */
enum { SLOT_COUNT_MIN = 64, PROBE_COUNT_MAX = 512 };

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
        free(stacks->slots);
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

/* Where nodes fall in the table decides nothing but time. */
static uint64_t hash_node(const struct stack_node *node, uint64_t seed)
{
    uint64_t hash = ((uint64_t)node->parent << 32 | node->frame) + seed;
    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94D049BB133111EB);
    return hash ^ hash >> 31;
}

/* Where the node stands, or the empty slot where it belongs; NULL: the probe is too long. */
static uint32_t *find_slot(const struct stacks *stacks, const struct stack_node *node)
{
    const size_t mask = stacks->slot_count - 1;
    size_t i = (size_t)hash_node(node, stacks->seed) & mask;
    for (int probes = 0; probes < PROBE_COUNT_MAX; probes++, i = (i + 1) & mask) {
        const struct stack_node *known = &stacks->nodes[stacks->slots[i]];
        if (stacks->slots[i] == 0 ||
            (known->parent == node->parent && known->frame == node->frame)) {
            return &stacks->slots[i];
        }
    }
    return NULL;
}

/* False: with this seed a probe is too long. */
static bool fill_slots(struct stacks *stacks)
{
    memset(stacks->slots, 0, stacks->slot_count * sizeof *stacks->slots);
    for (size_t i = 1; i < stacks->node_count; i++) {
        uint32_t *slot = find_slot(stacks, &stacks->nodes[i]);
        if (slot == NULL) {
            return false;
        }
        *slot = (uint32_t)i;
    }
    return true;
}

static void hash_anew(struct stacks *stacks)
{
    while (!fill_slots(stacks)) {
        stacks->seed = hash_seed_draw();
    }
}

static uint32_t *find_slot_with_room(struct stacks *stacks, const struct stack_node *node)
{
    if (2 * stacks->node_count > stacks->slot_count) {
        stacks->slot_count = stacks->slot_count == 0 ? SLOT_COUNT_MIN : stacks->slot_count * 2;
        stacks->slots = array_resized(stacks->slots, stacks->slot_count * sizeof *stacks->slots);
        hash_anew(stacks);
    }
    uint32_t *slot = find_slot(stacks, node);
    while (slot == NULL) {
        stacks->seed = hash_seed_draw();
        hash_anew(stacks);
        slot = find_slot(stacks, node);
    }
    return slot;
}

/* The child of that frame; the parent itself where there is no room for one. */
static uint32_t find_child(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
    const struct stack_node node = {.parent = parent, .frame = frame};
    uint32_t *slot = find_slot_with_room(stacks, &node);
    if (*slot != 0) {
        return *slot;
    }
    if (stacks->node_count == STACKS_NODE_COUNT_MAX) {
        stacks->is_cut = true;
        return parent;
    }
    *slot = (uint32_t)stacks->node_count;
    stacks->nodes = array_grown(stacks->nodes, stacks->node_count, &stacks->node_room,
                                sizeof *stacks->nodes);
    stacks->nodes[stacks->node_count++] = node;
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
    stacks->ops = array_grown(stacks->ops, stacks->op_count, &stacks->op_room, sizeof *stacks->ops);
    stacks->ops[stacks->op_count++] = (struct stack_of_op){.op = op, .node = node};
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
