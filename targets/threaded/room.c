#include "targets/threaded/heap.h"

#include "harness/base/align.h"

#include <sched.h>

/* --- where a request fits once blocks slide and programs are evicted ---
 *
 * Only the order of blocks and the unmovable ones decide whether it fits, so after each copy the
 * same plan is found again.  The heap's mutex is held, and no block is marked. */

/* The copy that comes next, into free memory and its own place. */
struct threaded_move {
    struct threaded_node *node;
    uint64_t to_address;
};

/* A span [start, end) between two unmovable blocks; NULL: the end of the device.  Passed blocks
 * count as gone. */
struct room_gap {
    struct threaded_node *below, *above;
    uint64_t start, end;
    /* those below it go down, it and those above go up; above: all go down */
    struct threaded_node *split;
};

static bool is_movable(const struct threaded_heap *heap, const struct threaded_node *node)
{
    return heap->moves && threaded_is_idle(node);
}

/* True if the program's image may be taken away for the request. */
static bool may_evict(const struct threaded_want *want, const struct threaded_node *node)
{
    return want->may_evict && node->kind == BLOCK_PROGRAM && node != want->program &&
           threaded_is_idle(node);
}

static struct threaded_node *find_lowest(const struct threaded_heap *heap,
                                         const struct room_gap *gap)
{
    return gap->below != NULL ? gap->below->above : heap->lowest;
}

static struct threaded_node *find_highest(const struct threaded_heap *heap,
                                          const struct room_gap *gap)
{
    return gap->above != NULL ? gap->above->below : heap->highest;
}

/* The gap above an unmovable block. */
static struct room_gap open_gap(const struct threaded_heap *heap, uint64_t floor_bytes,
                                struct threaded_node *below)
{
    struct room_gap gap = {.below = below, .start = floor_bytes};
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
static bool push_up(const struct threaded_heap *heap, const struct room_gap *gap)
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
                       struct room_gap *gap)
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
                     bool without_idle, struct room_gap *gap)
{
    for (struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        node->is_passed = without_idle && may_evict(want, node);
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

/* True if blocks can slide so that the request fits; without_idle: once all programs are gone that
 * may be evicted for it.  Exact, alignments included: for each span between two unmovable blocks,
 * and each position in its order, those below go down, those above go up.  O(blocks). */
static bool fits(struct threaded_heap *heap, const struct threaded_want *want, bool without_idle)
{
    struct room_gap gap;
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
static bool find_move_in_gap(const struct threaded_heap *heap, const struct room_gap *gap,
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

/* False: it does not fit without evictions, or no block need move.  O(blocks). */
static bool next_move(struct threaded_heap *heap, const struct threaded_want *want,
                      struct threaded_move *move)
{
    struct room_gap gap;
    if (!find_gap(heap, want, false, &gap)) {
        return false;
    }
    return find_move_above_floor(heap, want->floor_bytes, move) ||
           find_move_in_gap(heap, &gap, move);
}

/* The copy that comes next when all blocks go as high as they can; false: they are there. */
static bool next_upward(struct threaded_heap *heap, struct threaded_move *move)
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

/* --- one mitigation after the other --- */

/* The outcome of a mitigation. */
enum room_step {
    STEP_AGAIN,  /* something has changed: search again */
    STEP_NONE,   /* it has nothing to offer */
    STEP_REFUSED /* by the device */
};

/* --- queued frees --- */

static bool may_complete(const struct threaded_node *node)
{
    for (const struct threaded_wait *wait = node->waits; wait != NULL; wait = wait->next) {
        if (wait->is_lost) {
            return false;
        }
    }
    return node->waits != NULL && node->hold_count == 0;
}

/* The oldest queued free that waiting completes; NULL: there is none. */
static struct threaded_node *find_drainable(const struct threaded_heap *heap)
{
    struct threaded_node *node = heap->queued;
    while (node != NULL && !may_complete(node)) {
        node = node->next_queued;
    }
    return node;
}

/* RACE_SPINS: for a drain that begins from here on, which may never come. */
static void spin_until_drained(struct threaded_heap *heap)
{
    const uint64_t seen = heap->drain_count;
    while (heap->drain_count == seen) {
        threaded_leave(heap);
        (void)sched_yield();
        threaded_enter(heap, CALL_PLAIN);
    }
}

/* Another thread drains: returns when it has settled something. */
static void await_drainer(struct threaded_heap *heap)
{
    const uint64_t seen = heap->drain_count;
    if (heap->race == RACE_WAKEUP_LOST) {
        threaded_relax(heap);
        (void)pthread_cond_wait(&heap->settled, &heap->lock);
        return;
    }
    if (heap->race == RACE_SPINS) {
        threaded_relax(heap);
        spin_until_drained(heap);
        return;
    }
    if (heap->race == RACE_UNLOCKS_TWICE) {
        threaded_leave(heap);
        threaded_relax(heap);
        return;
    }
    while (heap->is_draining && heap->drain_count == seen) {
        (void)pthread_cond_wait(&heap->settled, &heap->lock);
    }
}

/* Takes in the oldest queued frees up to the first that is not done; false: not even one is. */
static bool settle_front(struct threaded_heap *heap)
{
    bool is_any = false;
    while (heap->queued != NULL) {
        threaded_poll(heap, heap->queued);
        if (heap->queued->waits != NULL || heap->queued->hold_count > 0) {
            break;
        }
        threaded_release(heap, heap->queued);
        is_any = true;
    }
    return is_any;
}

/* A queued free as the draining thread found it, before it gave the mutex up. */
struct awaited {
    struct threaded_node *node;
    uint64_t serial, size_bytes, event;
};

/* The event was awaited, but others may have settled the free meanwhile, and used its node again.
 */
static void settle_awaited(struct threaded_heap *heap, const struct awaited *awaited)
{
    struct threaded_node *node = awaited->node;
    const bool is_same = node->serial == awaited->serial;
    if (is_same || (heap->race == RACE_REUSED_ID && node->state != NODE_SPARE)) {
        threaded_poll(heap, node);
        if (node->waits == NULL && node->hold_count == 0) {
            threaded_release(heap, node);
        }
    } else if (heap->race == RACE_DOUBLE_DRAIN) {
        threaded_count_released(heap, awaited->size_bytes);
    }
}

static void mark_lost(const struct awaited *awaited)
{
    if (awaited->node->serial != awaited->serial) {
        return;
    }
    for (struct threaded_wait *wait = awaited->node->waits; wait != NULL; wait = wait->next) {
        wait->is_lost = wait->is_lost || wait->event == awaited->event;
    }
}

/* Awaits one event of the oldest queued free, as the only thread that does. */
static enum room_step drain_one(struct threaded_heap *heap, struct threaded_node *node)
{
    const struct awaited awaited = {node, node->serial, node->size_bytes, node->waits->event};
    heap->is_draining = true;
    heap->drain_count++;
    threaded_leave(heap);
    const enum device_result result = heap->device.event_wait(heap->device.context, awaited.event);
    threaded_enter(heap, CALL_PLAIN);
    heap->is_draining = false;
    if (result == DEVICE_LOST) {
        mark_lost(&awaited);
    } else if (result == DEVICE_OK) {
        settle_awaited(heap, &awaited);
    }
    if (heap->race == RACE_SIGNAL) {
        (void)pthread_cond_signal(&heap->settled);
    } else {
        (void)pthread_cond_broadcast(&heap->settled);
    }
    return result == DEVICE_REFUSED ? STEP_REFUSED : STEP_AGAIN;
}

static enum room_step drain_queue(struct threaded_heap *heap, struct threaded_want *want)
{
    struct threaded_node *node = find_drainable(heap);
    if (node == NULL || want->has_drained) {
        return STEP_NONE;
    }
    if (heap->is_draining && heap->race == RACE_FIRST_UNFINISHED) {
        return settle_front(heap) ? STEP_AGAIN : STEP_NONE;
    }
    if (heap->is_draining) {
        await_drainer(heap);
        return STEP_AGAIN;
    }
    const enum room_step step = drain_one(heap, node);
    if (heap->race == RACE_DRAIN_UNLOCKED) {
        want->has_drained = find_drainable(heap) == NULL;
        threaded_relax(heap);
    }
    return step;
}

/* --- copies and evictions --- */

static enum room_step finish_block(struct threaded_heap *heap, enum device_result result)
{
    heap->marked_count--;
    (void)pthread_cond_broadcast(&heap->finished);
    return result == DEVICE_OK ? STEP_AGAIN : STEP_REFUSED;
}

/* Gives the mutex up once a block was chosen.  False: afterwards it is no longer the same, or no
 * longer there; who uses it by then is not looked at. */
static bool relax_and_recheck(struct threaded_heap *heap, const struct threaded_node *node)
{
    const struct threaded_node before = *node;
    threaded_relax(heap);
    return node->serial == before.serial && node->address == before.address &&
           node->state == NODE_LIVE && !node->is_moving && !node->is_evicting;
}

static enum room_step move_block(struct threaded_heap *heap, const struct threaded_move *move)
{
    struct threaded_node *node = move->node;
    if (heap->race == RACE_MOVES_PINNED && !relax_and_recheck(heap, node)) {
        return STEP_AGAIN;
    }
    const uint64_t from = node->address;
    const uint64_t size = node->size_bytes;
    node->is_moving = true;
    node->to_address = move->to_address;
    heap->marked_count++;
    threaded_leave(heap);
    const enum device_result result = heap->device.copy(heap->device.context, from,
                                                        move->to_address, size);
    threaded_enter(heap, CALL_PLAIN);
    node->address = node->to_address = result == DEVICE_OK ? move->to_address : from;
    node->is_moving = false;
    return finish_block(heap, result);
}

/* The highest program that may go. */
static enum room_step evict_one(struct threaded_heap *heap, const struct threaded_want *want)
{
    struct threaded_node *node = heap->highest;
    while (node != NULL && !may_evict(want, node)) {
        node = node->below;
    }
    if (node == NULL) {
        return STEP_NONE;
    }
    if (heap->race == RACE_EVICTS_BUSY && !relax_and_recheck(heap, node)) {
        return STEP_AGAIN;
    }
    node->is_evicting = true;
    heap->marked_count++;
    threaded_leave(heap);
    const enum device_result result = heap->device.unload(heap->device.context, node->program);
    threaded_enter(heap, CALL_PLAIN);
    node->is_evicting = false;
    if (result == DEVICE_OK) {
        threaded_evict(heap, node);
    }
    return finish_block(heap, result);
}

/* --- the request --- */

/* One mitigation, in the documented order.  NONE is decided with the mutex in hand from the last
 * look at the device on, when nobody else is in the middle of one: so nothing fits at that instant,
 * whatever were awaited, copied and evicted. */
static enum room_step take_step(struct threaded_heap *heap, struct threaded_want *want)
{
    const enum room_step drained = drain_queue(heap, want);
    if (drained != STEP_NONE) {
        return drained;
    }
    if (heap->marked_count > 0) {
        (void)pthread_cond_wait(&heap->finished, &heap->lock);
        return STEP_AGAIN;
    }
    if (!fits(heap, want, true)) {
        return STEP_NONE;
    }
    struct threaded_move move;
    if (next_move(heap, want, &move)) {
        return move_block(heap, &move);
    }
    return evict_one(heap, want);
}

static bool has_room(struct threaded_heap *heap, const struct threaded_want *want,
                     uint64_t *address)
{
    const bool is_stack_free = heap->lowest == NULL ||
                               threaded_start(heap->lowest) >= want->floor_bytes;
    return is_stack_free &&
           (want->size_bytes == 0 || threaded_find_hole(heap, want->size_bytes, want->align_bytes,
                                                        want->floor_bytes, address));
}

/* Notes what the request needs at this moment. */
static void note_needs(struct threaded_heap *heap, struct threaded_want *want)
{
    if (want->program != NULL) {
        threaded_await(heap, want->program);
    }
    threaded_settle(heap);
    if (want->program != NULL) {
        want->size_bytes = want->program->state == NODE_EVICTED ? want->program->size_bytes : 0;
    }
    const uint64_t reserved = heap->reserved_bytes;
    want->floor_bytes = want->stack_bytes > reserved ? want->stack_bytes : reserved;
}

/* Ends because each round but the last awaits, copies or evicts something, or another thread did.
 */
enum target_result threaded_make_room(struct threaded_heap *heap, struct threaded_want *want,
                                      uint64_t *address)
{
    for (;;) {
        note_needs(heap, want);
        if (has_room(heap, want, address)) {
            return TARGET_OK;
        }
        const enum room_step step = take_step(heap, want);
        if (step != STEP_AGAIN) {
            return step == STEP_NONE ? TARGET_NO_MEMORY : TARGET_FAILED;
        }
    }
}

/* Makes at most as many copies as there are blocks now: a heap that others change has no end. */
enum target_result threaded_defragment(struct threaded_heap *heap)
{
    const uint64_t count_max = heap->stats.num_allocs;
    struct threaded_move move;
    for (uint64_t i = 0; i < count_max; i++) {
        threaded_settle(heap);
        while (heap->marked_count > 0) {
            (void)pthread_cond_wait(&heap->finished, &heap->lock);
        }
        if (!next_upward(heap, &move)) {
            break;
        }
        if (move_block(heap, &move) == STEP_REFUSED) {
            return TARGET_FAILED;
        }
    }
    return TARGET_OK;
}
