/* Who asked for each block: stacks of frames, as a tree in which stacks share the outer frames that
 * they have in common.  Bounded, whatever a file has. */
#ifndef FORMATS_COMMON_STACKS_H
#define FORMATS_COMMON_STACKS_H

#include "formats/common/tags.h"

#include <stdbool.h>

enum {
    STACKS_DEPTH_MAX = 64,            /* of a stack: its innermost frames; see stacks_add */
    STACKS_FRAME_COUNT_MAX = 1 << 18, /* distinct ones, at 80 bytes */
    STACKS_NODE_COUNT_MAX = 1 << 20,  /* at 8 bytes, and 8 of the table */
    STACKS_STEP_COUNT_MAX = 1 << 26,  /* frames of all stacks that are added: some 4 s */
    STACKS_NONE = 0                   /* no stack: the root */
};

/* The innermost frame of a stack; its callers are its parent and what is above it. */
struct stack_node {
    uint32_t parent; /* below its own number */
    uint32_t frame;  /* frames.names[frame] */
};

/* The stack of what an op makes. */
struct stack_of_op {
    uint32_t op, node;
};

/* Open to read. */
struct stacks {
    struct name_table frames; /* texts as they came: whoever prints one escapes it */
    struct stack_node *nodes; /* node_count of them; nodes[STACKS_NONE] is the root */
    size_t node_count, node_room;
    struct slots slots;      /* of nodes, by parent and frame */
    struct stack_of_op *ops; /* op_count of them, in no order */
    size_t op_count, op_room;
    uint32_t step_count;
    bool is_cut; /* frames, nodes or steps ran out: further ones are STACKS_OTHER_FRAMES or left out
                  */
};
#define STACKS_OTHER_FRAMES "other frames"
#define STACKS_OUTER_FRAMES "more outer frames"

struct stacks *stacks_create(void);
void stacks_destroy(struct stacks *stacks); /* NULL is allowed */

/* The number of the frame with that text, a new one if need be.  O(length), on average. */
uint32_t stacks_frame(struct stacks *stacks, const char *text, size_t length);

/* The node of a stack of frames[count], the innermost first; count is at most STACKS_DEPTH_MAX.
 * has_more: it had outer ones, which are left out; STACKS_OUTER_FRAMES stands for them.
 * STACKS_NONE for count 0.  O(count), on average. */
uint32_t stacks_add(struct stacks *stacks, const uint32_t *frames, size_t count, bool has_more);

/* Says the stack of an op; once for each.  STACKS_NONE says nothing, and is allowed without stacks
 * (NULL). */
void stacks_say(struct stacks *stacks, uint32_t op, uint32_t node);

/* The nodes by op, op_count of them, STACKS_NONE where nothing is said; the caller frees. */
uint32_t *stacks_by_op(const struct stacks *stacks, size_t op_count);

#endif
