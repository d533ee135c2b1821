#include "targets/threaded/slide.h"

#include "harness/base/align.h"

/* A span [start, end) between two unmovable blocks; NULL: the end of the device.  Passed blocks
 * count as gone. */
struct gap {
    struct threaded_node *below, *above;
    uint64_t start, end;
    /* those below it go down, it and those above go up; above: all go down */
    struct threaded_node *split;
};

static bool is_movable(const struct threaded_heap *heap, const struct threaded_node *node)
{
    return heap->moves && threaded_is_idle(node);
}

bool threaded_may_evict(const struct threaded_want *want, const struct threaded_node *node)
{
    return want->may_evict && node->kind == BLOCK_PROGRAM && node != want->program &&
           threaded_is_idle(node);
}

static struct threaded_node *find_lowest(const struct threaded_heap *heap, const struct gap *gap)
{
    return gap->below != NULL ? gap->below->above : heap->lowest;
}

static struct threaded_node *find_highest(const struct threaded_heap *heap, const struct gap *gap)
{
    return gap->above != NULL ? gap->above->below : heap->highest;
}

/* The gap above an unmovable block. */
static struct gap open_gap(const struct threaded_heap *heap, uint64_t floor_bytes,
                           struct threaded_node *below)
{
    struct gap gap = {.below = below, .start = floor_bytes};
    if (below != NULL && threaded_end(below) > floor_bytes) {
        gap.start = threaded_end(below);
    }
    struct threaded_node *above = find_lowest(heap, &gap);
    while (above != NULL && (above->is_passed || is_movable(heap, above))) {
        above = above->above;
    }
    gap.above = above;
    gap.end = above != NULL ? above->address : heap->capacity_bytes;
    return gap;
}

/* Sets up_address of the gap's blocks; false: there is no room for them, because of the stack. */
static bool push_up(const struct threaded_heap *heap, const struct gap *gap)
{
    uint64_t top = gap->end;
    if (top < gap->start) {
        return false;
    }
    for (struct threaded_node *node = find_highest(heap, gap); node != gap->below;
         node = node->below) {
        if (node->is_passed) {
            continue;
        }
        if (node->size_bytes > top - gap->start) {
            return false;
        }
        top = align_down(top - node->size_bytes, node->align_bytes);
        if (top < gap->start) {
            return false;
        }
        node->up_address = top;
    }
    return true;
}

/* Sets the split that makes room, and down_address of the blocks below it.  After push_up(). */
static bool find_split(const struct threaded_heap *heap, const struct threaded_want *want,
                       struct gap *gap)
{
    uint64_t bottom = gap->start;
    for (struct threaded_node *node = find_lowest(heap, gap);; node = node->above) {
        if (node != gap->above && node->is_passed) {
            continue;
        }
        const uint64_t top = node == gap->above ? gap->end : node->up_address;
        const uint64_t at = align_up(bottom, want->align_bytes);
        if (at <= top && want->size_bytes <= top - at) {
            gap->split = node;
            return true;
        }
        if (node == gap->above) {
            return false;
        }
        node->down_address = align_up(bottom, node->align_bytes);
        bottom = node->down_address + node->size_bytes;
    }
}

/* The lowest gap that takes the request; the lowest one of all must have room for its own above the
 * stack. */
static bool find_gap(struct threaded_heap *heap, const struct threaded_want *want,
                     bool without_idle, struct gap *gap)
{
    for (struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        node->is_passed = without_idle && threaded_may_evict(want, node);
    }
    struct threaded_node *below = NULL;
    do {
        *gap = open_gap(heap, want->floor_bytes, below);
        const bool is_roomy = push_up(heap, gap);
        if (below == NULL && !is_roomy) {
            return false;
        }
        if (is_roomy && find_split(heap, want, gap)) {
            return true;
        }
        below = gap->above;
    } while (below != NULL);
    return false;
}

bool threaded_fits(struct threaded_heap *heap, const struct threaded_want *want, bool without_idle)
{
    struct gap gap;
    return find_gap(heap, want, without_idle, &gap);
}

/* --- one copy after the other --- */

/* Blocks that lie below the floor push those above them up, as far as need be; the highest of them
 * goes first.  False: there are none. */
static bool find_move_above_floor(const struct threaded_heap *heap, uint64_t floor_bytes,
                                  struct threaded_move *move)
{
    uint64_t bottom = floor_bytes;
    move->node = NULL;
    for (struct threaded_node *node = heap->lowest; node != NULL && node->address < bottom;
         node = node->above) {
        *move = (struct threaded_move){node, align_up(bottom, node->align_bytes)};
        bottom = move->to_address + node->size_bytes;
    }
    return move->node != NULL;
}

/* Finds the next move: blocks that go up, the highest first; then blocks that go down, the lowest
 * first.  Each then finds its place free. */
static bool find_move_in_gap(const struct threaded_heap *heap, const struct gap *gap,
                             struct threaded_move *move)
{
    bool is_above = gap->split != gap->above;
    for (struct threaded_node *node = find_highest(heap, gap); node != gap->below;
         node = node->below) {
        *move = (struct threaded_move){node, is_above ? node->up_address : node->down_address};
        if (move->to_address > node->address) {
            return true;
        }
        is_above = is_above && node != gap->split;
    }
    for (struct threaded_node *node = find_lowest(heap, gap); node != gap->split;
         node = node->above) {
        *move = (struct threaded_move){node, node->down_address};
        if (move->to_address < node->address) {
            return true;
        }
    }
    return false;
}

bool threaded_next_move(struct threaded_heap *heap, const struct threaded_want *want,
                        struct threaded_move *move)
{
    struct gap gap;
    if (!find_gap(heap, want, false, &gap)) {
        return false;
    }
    return find_move_above_floor(heap, want->floor_bytes, move) ||
           find_move_in_gap(heap, &gap, move);
}

bool threaded_next_upward(struct threaded_heap *heap, struct threaded_move *move)
{
    uint64_t top = heap->capacity_bytes;
    for (struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        if (is_movable(heap, node)) {
            const uint64_t to = align_down(top - node->size_bytes, node->align_bytes);
            if (to > node->address) {
                *move = (struct threaded_move){node, to};
                return true;
            }
        }
        top = node->address;
    }
    return false;
}
