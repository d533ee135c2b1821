#include "formats/common/lifetimes.h"

#include "formats/common/import.h"
#include "formats/common/radix.h"
#include "formats/common/room.h"
#include "harness/base/check.h"

#include <stdlib.h>

void lifetimes_init(struct lifetimes *lifetimes, size_t room)
{
    CHECK(room > 0 && room <= LIFETIME_COUNT_MAX);
    *lifetimes = (struct lifetimes){.room = room,
                                    .all = room_make(room * sizeof *lifetimes->all),
                                    .begins = room_make(room * sizeof *lifetimes->begins),
                                    .ends = room_make(room * sizeof *lifetimes->ends)};
}

void lifetimes_deinit(struct lifetimes *lifetimes)
{
    free(lifetimes->all);
    free(lifetimes->begins);
    free(lifetimes->ends);
    *lifetimes = (struct lifetimes){0};
}

/* The bytes that are live while the ops are made. */
struct live_sums {
    uint64_t bytes, rounded, granule_mask;
};

static uint64_t round_size(const struct live_sums *live, uint64_t size_bytes)
{
    return (size_bytes + live->granule_mask) & ~live->granule_mask;
}

/* False: more is live than may be. */
static inline bool begin_lifetime(struct lifetimes *lifetimes, struct lifetime *lifetime,
                                  struct live_sums *live, struct op_list *ops)
{
    lifetime->op = (uint32_t)ops->count;
    *room_next(ops) = (struct op){.kind = OP_ALLOC,
                                  .ref = OP_NONE,
                                  .event = OP_NONE,
                                  .size_bytes = lifetime->size_bytes,
                                  .align_log2 = lifetime->align_log2};
    live->bytes += lifetime->size_bytes;
    live->rounded += round_size(live,
                                lifetime->size_bytes); /* at most 2^51 + granule: no overflow */
    lifetimes->peak_bytes = live->bytes > lifetimes->peak_bytes ? live->bytes
                                                                : lifetimes->peak_bytes;
    lifetimes->peak_rounded = live->rounded > lifetimes->peak_rounded ? live->rounded
                                                                      : lifetimes->peak_rounded;
    return live->rounded <= IMPORT_CAPACITY_MAX;
}

static inline void end_lifetime(const struct lifetime *lifetime, struct live_sums *live,
                                struct op_list *ops)
{
    *room_next(ops) = (struct op){.kind = OP_FREE, .ref = lifetime->op, .event = OP_NONE};
    live->bytes -= lifetime->size_bytes;
    live->rounded -= round_size(live, lifetime->size_bytes);
}

/* The numbers of the lifetimes as they begin, as they end, and room to sort them. */
struct lifetime_orders {
    uint64_t *begins, *ends, *other;
};

/* The lifetime that is needed soon, and its time.  Orders jump in arrays that are larger than the
 * caches. */
static inline void prefetch_lifetime(const struct lifetime *all, const uint64_t *times,
                                     const uint64_t *order, size_t count, size_t at)
{
    enum { AHEAD = 16 };
    if (at + AHEAD < count) {
        __builtin_prefetch(&all[order[at + AHEAD]], 1);
        __builtin_prefetch(&times[order[at + AHEAD]]);
    }
}

static size_t replay_all(struct lifetimes *lifetimes, const struct lifetime_orders *orders,
                         uint64_t granule_mask, struct op_list *ops)
{
    const size_t count = lifetimes->count;
    struct live_sums live = {.granule_mask = granule_mask};
    for (size_t begun = 0, ended = 0; ended < count;) {
        const uint64_t next = orders->ends[ended];
        if (begun == count || lifetimes->ends[next] <= lifetimes->begins[orders->begins[begun]]) {
            end_lifetime(&lifetimes->all[next], &live, ops);
            prefetch_lifetime(lifetimes->all, lifetimes->ends, orders->ends, count, ended++);
            continue;
        }
        if (!begin_lifetime(lifetimes, &lifetimes->all[orders->begins[begun]], &live, ops)) {
            return orders->begins[begun];
        }
        prefetch_lifetime(lifetimes->all, lifetimes->begins, orders->begins, count, begun++);
    }
    return count;
}

size_t lifetimes_replay(struct lifetimes *lifetimes, uint64_t granule_mask, struct op_list *ops)
{
    const size_t count = lifetimes->count;
    const size_t bytes = count * sizeof(uint64_t);
    CHECK(count > 0 && ops->count == 0);
    const struct lifetime_orders orders = {room_make(bytes), room_make(bytes), room_make(bytes)};
    radix_order(lifetimes->begins, count, orders.begins, orders.other);
    radix_order(lifetimes->ends, count, orders.ends, orders.other);
    room_for_ops(ops, 2 * count);
    const size_t excess = replay_all(lifetimes, &orders, granule_mask, ops);
    free(orders.begins);
    free(orders.ends);
    free(orders.other);
    return excess;
}
