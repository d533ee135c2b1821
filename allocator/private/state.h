/* The body of struct hbm. */
#ifndef ALLOCATOR_PRIVATE_STATE_H
#define ALLOCATOR_PRIVATE_STATE_H

#include "allocator/private/block.h"
#include "allocator/private/lock.h"
#include "allocator/private/pending.h"
#include "allocator/private/shapes.h"

/* A block whose contents are on the host because a move could not be finished. */
struct hbm_stranded {
    struct hbm_stranded *next;
    uint64_t token;
    uint32_t block;
};

struct hbm {
    struct hbm_heap heap; /* first: its address is that of struct hbm */
    struct hbm_lock lock; /* guards all but itself */
    struct hbm_host host;
    struct hbm_options options;
    struct hbm_pending pending;
    struct hbm_shapes shapes;
    struct hbm_program *program_first;
    struct hbm_program *program_last;
    struct hbm_stranded *stranded;
    bool return_refused; /* a service refused what the last attempt to bring a stranded block back
                            needed; meaningful while there is one */
    struct hbm_stats totals; /* the fields that are history: peaks, largest_alloc_size, ... */
    uint64_t call_count;
    uint64_t room_count; /* grows when a block ends or moves, and when a hold or a pin that kept one
                            in place does */
    uint32_t dying_count;
    uint32_t dying_order; /* given to the next block that dies */
};

#endif
