/* Blocks whose beginning and end a file knows become ops in the order of time.  At each time the
 * frees come before the allocs, each in the order in which they were added. */
#ifndef FORMATS_COMMON_LIFETIMES_H
#define FORMATS_COMMON_LIFETIMES_H

#include "harness/op/op.h"

enum { LIFETIME_COUNT_MAX = 1 << 30 }; /* the ops of so many are as many as a list can hold */

struct lifetime {
    uint64_t size_bytes; /* 1 to IMPORT_CAPACITY_MAX */
    size_t offset;       /* for messages: where in the text it is */
    uint32_t op;         /* that makes it; lifetimes_replay() sets it */
    uint8_t align_log2;
};

/* all[count], with room for more; the times in the same order. */
struct lifetimes {
    struct lifetime *all;
    uint64_t *begins, *ends;
    size_t count, room;
    uint64_t size_bits;                /* all sizes, or-ed */
    uint64_t peak_bytes, peak_rounded; /* the most that is live at a time, as sizes say, and each in
                                          whole granules */
};

/* Room for so many, 1 to LIFETIME_COUNT_MAX; what is not used is not touched. */
void lifetimes_init(struct lifetimes *lifetimes, size_t room);
void lifetimes_deinit(struct lifetimes *lifetimes);

/* A new one, which the caller writes whole, in place.  Times are any numbers, begin < end.  There
 * must be room. */
static inline struct lifetime *lifetimes_add(struct lifetimes *lifetimes, uint64_t begin,
                                             uint64_t end, uint64_t size_bytes)
{
    const size_t number = lifetimes->count++;
    lifetimes->begins[number] = begin;
    lifetimes->ends[number] = end;
    lifetimes->size_bits |= size_bytes;
    return &lifetimes->all[number];
}

/* With at least one lifetime: appends the ops to the empty list and sets the peaks.  Returns
 * count, or the number of the first with which more than IMPORT_CAPACITY_MAX are live in
 * whole granules (of granule_mask + 1 bytes): the ops end there.  Cost: that of
 * radix_order(). */
size_t lifetimes_replay(struct lifetimes *lifetimes, uint64_t granule_mask, struct op_list *ops);

#endif
