#include "harness/oracle/private/layout.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum move_progress { AT_HOME = 0, WAITING, STAGED, ARRIVED };
#define NOBODY UINT32_MAX

/* So many blocks of a circle are compared to find a small one to stage. */
enum { CIRCLE_STEPS_MAX = 64 };

void move_order_deinit(struct move_order *order)
{
    if (order->is_used) {
        span_map_deinit(&order->occupied);
    }
    free(order->moves);
    free(order->movers);
    *order = (struct move_order){0};
}

static void reserve_moves(struct move_order *order, size_t count)
{
    if (!order->is_used) {
        span_map_init(&order->occupied);
        order->is_used = true;
    }
    if (count <= order->capacity) {
        return;
    }
    order->capacity = count * 2;
    order->movers = array_resized(order->movers, order->capacity * sizeof *order->movers);
}

static void add_move(struct move_order *order, const struct reach *reach, size_t i, uint64_t from,
                     uint64_t to)
{
    order->moves = array_grown(order->moves, order->move_count, &order->move_capacity,
                               sizeof *order->moves);
    const struct reach_range *range = &reach->ranges[i];
    order->moves[order->move_count++] = (struct proof_move){range->block, from, to,
                                                            range->size_bytes};
}

static void occupy_place(struct move_order *order, size_t i, uint64_t start, uint64_t size_bytes)
{
    span_map_insert(&order->occupied,
                    &(struct span){.start = start, .end = start + size_bytes, .owner = i});
}

/* Lets the blocks that wait for range i try again. */
static void wake_block(struct move_order *order, uint32_t i)
{
    for (uint32_t waiter = order->movers[i].waiter_head; waiter != NOBODY;) {
        const uint32_t next = order->movers[waiter].waiter_next;
        order->movers[order->ready_count++].ready = waiter;
        waiter = next;
    }
    order->movers[i].waiter_head = NOBODY;
}

static void leave_place(struct move_order *order, const struct reach *reach, uint32_t i)
{
    const struct reach_range *range = &reach->ranges[i];
    span_map_erase(&order->occupied, range->start, range->start + range->size_bytes);
    wake_block(order, i);
}

/* Another range in the way of range i; NOBODY: its destination is free. */
static uint32_t find_blocker(const struct move_order *order, const struct reach *reach, uint32_t i,
                             uint64_t to)
{
    struct span span;
    uint64_t at = to;
    while (span_map_intersects(&order->occupied, at, to + reach->ranges[i].size_bytes, &span)) {
        if (span.owner != i) {
            return (uint32_t)span.owner;
        }
        at = span.end;
    }
    return NOBODY;
}

/* Moves range i if its destination is free, else lets it wait for what is there. */
static void try_move(struct move_order *order, const struct reach *reach, const uint64_t *to,
                     uint32_t i)
{
    const struct reach_range *range = &reach->ranges[i];
    const uint32_t blocker = find_blocker(order, reach, i, to[i]);
    if (blocker != NOBODY) {
        CHECK(order->movers[blocker].progress == WAITING);
        order->movers[i].blocker = blocker;
        order->movers[i].waiter_next = order->movers[blocker].waiter_head;
        order->movers[blocker].waiter_head = i;
        return;
    }
    const bool was_staged = order->movers[i].progress == STAGED;
    order->movers[i].progress = ARRIVED;
    add_move(order, reach, i, was_staged ? PROOF_IN_HOST_MEMORY : range->start, to[i]);
    if (!was_staged) {
        leave_place(order, reach, i);
    }
    occupy_place(order, i, to[i], range->size_bytes);
}

static void try_ready(struct move_order *order, const struct reach *reach, const uint64_t *to)
{
    while (order->ready_count > 0) {
        try_move(order, reach, to, order->movers[--order->ready_count].ready);
    }
}

/* Range i waits in a circle, or for one: a small block of those that are waited for goes to host
 * memory. */
static void stage_one(struct move_order *order, const struct reach *reach, uint32_t i)
{
    uint32_t chosen = order->movers[i].blocker;
    uint32_t at = chosen;
    for (int step = 0; step < CIRCLE_STEPS_MAX; step++) {
        at = order->movers[at].blocker;
        chosen = reach->ranges[at].size_bytes < reach->ranges[chosen].size_bytes ? at : chosen;
    }
    CHECK(order->movers[chosen].progress == WAITING);
    order->movers[chosen].progress = STAGED;
    order->staged_count++;
    add_move(order, reach, chosen, reach->ranges[chosen].start, PROOF_IN_HOST_MEMORY);
    leave_place(order, reach, chosen);
}

static void begin_moves(struct move_order *order, const struct reach *reach, const uint64_t *to)
{
    reserve_moves(order, reach->range_count + 1);
    span_map_clear(&order->occupied);
    order->move_count = order->ready_count = 0;
    order->staged_count = 0;
    for (size_t i = 0; i < reach->range_count; i++) {
        if (reach->ranges[i].start == OOM_IN_HOST_MEMORY) {
            order->movers[i].progress = STAGED;
        } else if (reach->ranges[i].size_bytes == 0) {
            order->movers[i].progress = AT_HOME; /* a fence */
        } else {
            occupy_place(order, i, reach->ranges[i].start, reach->ranges[i].size_bytes);
            order->movers[i].progress = to[i] != reach->ranges[i].start ? WAITING : AT_HOME;
        }
        struct mover *mover = &order->movers[i];
        mover->waiter_head = mover->waiter_next = mover->blocker = NOBODY;
    }
}

void move_order_find(struct move_order *order, const struct reach *reach, const uint64_t *to)
{
    begin_moves(order, reach, to);
    /* Upwards from the top, then downwards from the bottom: blocks that keep their order never
     * wait. */
    for (size_t i = reach->range_count; i-- > 0;) {
        if (order->movers[i].progress == WAITING && to[i] > reach->ranges[i].start) {
            try_move(order, reach, to, (uint32_t)i);
            try_ready(order, reach, to);
        }
    }
    for (size_t i = 0; i < reach->range_count; i++) {
        if (order->movers[i].progress == WAITING && to[i] < reach->ranges[i].start) {
            try_move(order, reach, to, (uint32_t)i);
            try_ready(order, reach, to);
        }
    }
    for (size_t i = 0; i < reach->range_count; i++) {
        if (order->movers[i].progress == STAGED) { /* from the start: it comes last */
            try_move(order, reach, to, (uint32_t)i);
        }
    }
    for (size_t i = 0; i < reach->range_count; i++) {
        while (order->movers[i].progress == WAITING || order->movers[i].progress == STAGED) {
            stage_one(order, reach, (uint32_t)i);
            try_ready(order, reach, to);
        }
    }
}
