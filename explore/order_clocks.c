#include "explore/order.h"

#include "explore/private/check.h"
#include "explore/private/order_shadow.h"

#include <stdlib.h>
#include <string.h>

/* The clocks of each lane up to which its acts have been seen; 0 from count on. */
struct clocks {
    uint32_t count;
    uint32_t at[LANE_COUNT_MAX];
};

struct lane_order {
    struct clocks seen; /* all of at[] is defined: 0 from count on.  seen.at[own] is the lane's
                           clock, from 1 */
    /* released by what the lane read relaxed: seen from its next acquire fence on */
    struct clocks awaited;
    struct clocks fenced; /* what the lane had seen at its last release fence: its relaxed stores
                             release that */
};

enum { OWNER_NONE = LANE_COUNT_MAX };

/* The clocks that acquires of an address see. */
struct meeting {
    const void *address;
    uint32_t generation; /* another one than the order's: a free place */
    uint32_t owner;      /* the only lane that released here, or OWNER_NONE */
    struct clocks released;
};

struct order {
    uint32_t lane_count; /* lanes [0, lane_count) are defined */
    struct lane_order lanes[LANE_COUNT_MAX];
    /* meeting_capacity of them, a power of two; at most half are in use */
    struct meeting *meetings;
    uint32_t meeting_capacity, meeting_count, generation;
    struct shadow shadow;
};

enum { MEETING_CAPACITY_FIRST = 256 };

static struct meeting *create_meetings(uint32_t capacity)
{
    struct meeting *meetings = calloc(capacity, sizeof *meetings);
    EXPLORE_CHECK(meetings != NULL);
    return meetings;
}

struct order *order_create(void)
{
    struct order *order = calloc(1, sizeof *order);
    EXPLORE_CHECK(order != NULL);
    order->meetings = create_meetings(MEETING_CAPACITY_FIRST);
    order->meeting_capacity = MEETING_CAPACITY_FIRST;
    shadow_init(&order->shadow);
    order_reset(order);
    return order;
}

void order_destroy(struct order *order)
{
    if (order != NULL) {
        shadow_deinit(&order->shadow);
        free(order->meetings);
        free(order);
    }
}

void order_reset(struct order *order)
{
    if (++order->generation == 0) {
        memset(order->meetings, 0, order->meeting_capacity * sizeof *order->meetings);
        order->generation = 1;
    }
    order->meeting_count = 0;
    order->lane_count = 0;
    shadow_reset(&order->shadow);
}

/* --- clocks --- */

static void join_clocks(struct clocks *to, const struct clocks *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        to->at[i] = i < to->count && to->at[i] > from->at[i] ? to->at[i] : from->at[i];
    }
    to->count = to->count > from->count ? to->count : from->count;
}

static void copy_clocks(struct clocks *to, const struct clocks *from)
{
    to->count = from->count;
    memcpy(to->at, from->at, from->count * sizeof from->at[0]);
}

static void init_lane(struct lane_order *lane, uint32_t number)
{
    memset(&lane->seen, 0, sizeof lane->seen);
    lane->seen.at[number] = 1;
    lane->seen.count = number + 1;
    lane->awaited.count = lane->fenced.count = 0;
}

static struct lane_order *find_lane(struct order *order, uint8_t lane)
{
    EXPLORE_CHECK(lane < LANE_COUNT_MAX);
    while (order->lane_count <= lane) {
        init_lane(&order->lanes[order->lane_count], order->lane_count);
        order->lane_count++;
    }
    return &order->lanes[lane];
}

/* Advances the lane: what it does from here on is not part of what it released. */
static void advance_lane(struct lane_order *lane, uint8_t number)
{
    EXPLORE_CHECK(lane->seen.at[number] < UINT32_MAX);
    lane->seen.at[number]++;
}

/* What the lane did until now comes before what `to` does next; what it does next is not ordered.
 */
static void join_lane(struct order *order, uint8_t to, uint8_t lane)
{
    EXPLORE_CHECK(to != lane);
    struct lane_order *from = find_lane(order, lane);
    join_clocks(&find_lane(order, to)->seen, &from->seen);
    advance_lane(from, lane);
}

void order_start(struct order *order, uint8_t parent, uint8_t child)
{
    join_lane(order, child, parent);
}

void order_join(struct order *order, uint8_t lane, uint8_t joined)
{
    join_lane(order, lane, joined);
}

/* --- meetings --- */

static struct meeting *find_meeting_place(const struct order *order, const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    for (;; at++) {
        struct meeting *meeting = &order->meetings[at & (order->meeting_capacity - 1)];
        if (meeting->generation != order->generation || meeting->address == address) {
            return meeting;
        }
    }
}

static void grow_meetings(struct order *order)
{
    struct meeting *const old = order->meetings;
    const uint32_t old_capacity = order->meeting_capacity;
    EXPLORE_CHECK(old_capacity <= UINT32_MAX / 2);
    order->meeting_capacity = old_capacity * 2;
    order->meetings = create_meetings(order->meeting_capacity);
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].generation == order->generation) {
            *find_meeting_place(order, old[i].address) = old[i];
        }
    }
    free(old);
}

/* NULL: nothing was ever released there. */
static const struct meeting *find_known_meeting(const struct order *order, const void *address)
{
    const struct meeting *meeting = find_meeting_place(order, address);
    return meeting->generation == order->generation ? meeting : NULL;
}

static struct meeting *find_meeting(struct order *order, const void *address)
{
    struct meeting *meeting = find_meeting_place(order, address);
    if (meeting->generation == order->generation) {
        return meeting;
    }
    if (order->meeting_count >= order->meeting_capacity / 2) {
        grow_meetings(order);
        meeting = find_meeting_place(order, address);
    }
    meeting->address = address;
    meeting->generation = order->generation;
    meeting->owner = OWNER_NONE;
    meeting->released.count = 0;
    order->meeting_count++;
    return meeting;
}

static void add_to_meeting(struct meeting *meeting, uint8_t lane, const struct clocks *released)
{
    meeting->owner = meeting->released.count == 0 || meeting->owner == lane ? lane : OWNER_NONE;
    join_clocks(&meeting->released, released);
}

static void empty_meeting(struct meeting *meeting)
{
    meeting->owner = OWNER_NONE;
    meeting->released.count = 0;
}

static void forget_meetings(struct order *order, uintptr_t address, size_t size_bytes)
{
    if (size_bytes < order->meeting_capacity) {
        for (size_t i = 0; i < size_bytes; i++) {
            struct meeting *meeting = find_meeting_place(order, (const void *)(address + i));
            if (meeting->generation == order->generation) {
                empty_meeting(meeting);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < order->meeting_capacity; i++) {
        struct meeting *meeting = &order->meetings[i];
        if (meeting->generation == order->generation &&
            (uintptr_t)meeting->address - address < size_bytes) {
            empty_meeting(meeting);
        }
    }
}

void order_release(struct order *order, uint8_t lane, const void *object)
{
    struct lane_order *from = find_lane(order, lane);
    add_to_meeting(find_meeting(order, object), lane, &from->seen);
    advance_lane(from, lane);
}

void order_acquire(struct order *order, uint8_t lane, const void *object)
{
    const struct meeting *meeting = find_known_meeting(order, object);
    if (meeting != NULL) {
        join_clocks(&find_lane(order, lane)->seen, &meeting->released);
    }
}

/* --- atomic operations --- */

void order_atomic_load(struct order *order, uint8_t lane, const void *object, bool acquires)
{
    const struct meeting *meeting = find_known_meeting(order, object);
    if (meeting != NULL) {
        struct lane_order *reader = find_lane(order, lane);
        join_clocks(acquires ? &reader->seen : &reader->awaited, &meeting->released);
    }
}

void order_atomic_store(struct order *order, uint8_t lane, const void *object, bool releases)
{
    struct lane_order *writer = find_lane(order, lane);
    if (!releases && writer->fenced.count == 0 && find_known_meeting(order, object) == NULL) {
        return;
    }
    struct meeting *meeting = find_meeting(order, object);
    /* A release sequence goes on with the stores of the lane that began it (C17 5.1.2.4, paragraph
     * 10). */
    if (releases || meeting->owner != lane) {
        empty_meeting(meeting);
    }
    if (releases) {
        order_release(order, lane, object);
    } else if (writer->fenced.count != 0) {
        add_to_meeting(meeting, lane, &writer->fenced);
    }
}

void order_atomic_update(struct order *order, uint8_t lane, const void *object, bool releases)
{
    const struct lane_order *writer = find_lane(order, lane);
    if (releases) {
        order_release(order, lane, object);
    } else if (writer->fenced.count != 0) {
        add_to_meeting(find_meeting(order, object), lane, &writer->fenced);
    }
}

void order_atomic_fence(struct order *order, uint8_t lane, bool acquires, bool releases)
{
    struct lane_order *self = find_lane(order, lane);
    if (acquires) {
        join_clocks(&self->seen, &self->awaited);
        self->awaited.count = 0;
    }
    if (releases) {
        copy_clocks(&self->fenced, &self->seen);
        advance_lane(self, lane);
    }
}

/* --- memory --- */

void order_forget(struct order *order, const void *address, size_t size_bytes)
{
    shadow_forget(&order->shadow, (uintptr_t)address, size_bytes);
    forget_meetings(order, (uintptr_t)address, size_bytes);
}

static bool touch_bytes(struct order *order, const struct access *access, bool is_atomic,
                        const void *address, size_t size_bytes, struct race *race)
{
    const struct shadow_access touch = {access, is_atomic, find_lane(order, access->lane)->seen.at};
    const uintptr_t start = (uintptr_t)address, end = start + size_bytes;
    for (uintptr_t at = start & ~(uintptr_t)7; at < end; at += 8) {
        if (shadow_touch(&order->shadow, at, shadow_mask(at, start, end), &touch, race)) {
            return true;
        }
    }
    return false;
}

bool order_access(struct order *order, const struct access *access, const void *address,
                  size_t size_bytes, struct race *race)
{
    return touch_bytes(order, access, false, address, size_bytes, race);
}

bool order_atomic_access(struct order *order, const struct access *access, const void *address,
                         size_t size_bytes, struct race *race)
{
    return touch_bytes(order, access, true, address, size_bytes, race);
}

/* --- invariants --- */

/* No clock is ahead of its lane. */
static bool are_clocks_past(const struct order *order, const struct clocks *clocks)
{
    for (uint32_t i = 0; i < clocks->count; i++) {
        if (clocks->at[i] > (i < order->lane_count ? order->lanes[i].seen.at[i] : 0)) {
            return false;
        }
    }
    return clocks->count <= LANE_COUNT_MAX;
}

bool order_invariants_hold(const struct order *order)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < order->lane_count; i++) {
        const struct lane_order *lane = &order->lanes[i];
        if (!are_clocks_past(order, &lane->seen) || !are_clocks_past(order, &lane->awaited) ||
            !are_clocks_past(order, &lane->fenced)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < order->meeting_capacity; i++) {
        const struct meeting *meeting = &order->meetings[i];
        if (meeting->generation == order->generation) {
            count++;
            if (find_meeting_place(order, meeting->address) != meeting ||
                !are_clocks_past(order, &meeting->released)) {
                return false;
            }
        }
    }
    return count == order->meeting_count && shadow_invariants_hold(&order->shadow);
}
