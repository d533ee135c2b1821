/* The blocks of the target first_fit: a list in address order, new ones into the highest hole that
 * fits.  It polls what the device has finished and never waits. */
#ifndef TARGETS_PRIVATE_FIRST_FIT_HEAP_H
#define TARGETS_PRIVATE_FIRST_FIT_HEAP_H

#include "harness/target.h"

/* An unfinished event that keeps a block where it is. */
struct first_fit_wait {
    struct first_fit_wait *next;
    uint64_t event;
    uint64_t vain_in_call; /* number of the call in which the device did not end it */
};

/* One block; the blocks are linked by descending address and never overlap. */
struct first_fit_node {
    struct first_fit_node *below, *above;
    uint64_t address, size_bytes;
    uint64_t asked_bytes; /* programs: of the image */
    uint64_t stack_bytes,
        asked_stack_bytes; /* programs: what an execution needs, in granules and as asked */
    struct first_fit_wait *waits;
    const char *name;
    uint64_t program;      /* its id */
    uint64_t vain_in_call; /* number of the call in which the device did not let it go */
    uint32_t hold_count;
    uint32_t tag;
    uint32_t stream;    /* of its request, where that matters */
    uint64_t recording; /* to which it belongs, where that matters; 0 = none */
    enum block_kind kind;
    bool is_dying;
    bool is_evicted; /* a program without an image: among heap.evicted, linked by `below` */
};

/* An open value; zero-initialise, then set device, capacity and granule. */
struct first_fit_heap {
    struct device_services device;
    uint64_t capacity_bytes, granule_bytes;
    struct first_fit_node *highest;
    struct first_fit_node *evicted; /* programs */
    uint64_t call_count;            /* requests that took steps */
    uint64_t reserved_bytes;        /* the stack: the most that an unfinished execution needs */
    uint64_t completed_count;       /* of the device, when it was last polled */
    uint64_t wait_count;            /* of all blocks */
    struct target_stats stats;      /* all but the stack and the largest hole */
};

/* The properties of a wanted block; size and align in granules, floor the lowest address. */
struct first_fit_wanted {
    uint64_t size_bytes, align_bytes, floor_bytes;
    uint64_t header_bytes;      /* what is aligned is so much above the block's start */
    struct first_fit_node like; /* everything but links and place */
};

/* Takes in what the device has finished: blocks that were dying go, the stack shrinks.  Every call
 * begins with it. */
void first_fit_collect(struct first_fit_heap *heap);

/* The highest place that fits.  True sets *address and the block above it; nothing is taken.
 * O(blocks). */
bool first_fit_find_place(const struct first_fit_heap *heap, const struct first_fit_wanted *wanted,
                          uint64_t *address, struct first_fit_node **above);
/* Makes a node like that one, with its size, at the place that was found.  NULL: host memory was
 * refused. */
struct first_fit_node *first_fit_add(struct first_fit_heap *heap, const struct first_fit_node *like,
                                     uint64_t address, struct first_fit_node *above);
/* Takes it.  NO_MEMORY: no hole fits; FAILED: host memory was refused. */
enum target_result first_fit_place(struct first_fit_heap *heap,
                                   const struct first_fit_wanted *wanted,
                                   struct first_fit_node **out);
/* Links a node that has its place, below `above` (NULL: it is the highest); unlinks it. */
void first_fit_link(struct first_fit_heap *heap, struct first_fit_node *node,
                    struct first_fit_node *above);
void first_fit_unlink(struct first_fit_heap *heap, struct first_fit_node *node);
/* Gives back the host memory of a node that is not linked. */
void first_fit_drop(struct first_fit_heap *heap, struct first_fit_node *node);
/* Takes away those of its waits whose events are done. */
void first_fit_poll(struct first_fit_heap *heap, struct first_fit_node *node);
/* Lets a dying block go if nothing keeps it. */
void first_fit_settle(struct first_fit_heap *heap, struct first_fit_node *node);
/* The block stays until event (0: none) is done.  False: host memory was refused. */
bool first_fit_add_wait(struct first_fit_heap *heap, struct first_fit_node *node, uint64_t event);
/* Gives the host memory of all blocks back. */
void first_fit_clear(struct first_fit_heap *heap);

uint64_t first_fit_free_bytes(const struct first_fit_heap *heap);
uint64_t first_fit_largest_hole_bytes(const struct first_fit_heap *heap); /* O(blocks) */
/* Returns where the lowest block begins: as nothing moves, no stack can be larger.  O(blocks). */
uint64_t first_fit_reservable_bytes(const struct first_fit_heap *heap);
uint64_t first_fit_in_granules(const struct first_fit_heap *heap, uint64_t bytes); /* rounded up */

/* --- steps before a request is refused: queued frees are awaited, idle programs evicted --- */

/* A call begins: what the device refused or could not end in the last one may be asked for again.
 */
void first_fit_begin_steps(struct first_fit_heap *heap);
/* Awaits a queued free or, when none is left that waiting can end, evicts a program; then takes in
 * what the device has finished.  False: there is none either, and nothing was finished. */
bool first_fit_step(struct first_fit_heap *heap, bool may_evict);

/* Places an evicted program again, where first_fit_find_place() said; it waits for event.  False:
 * host memory was refused, and nothing changed. */
bool first_fit_bring_back(struct first_fit_heap *heap, struct first_fit_node *program,
                          uint64_t event, uint64_t address, struct first_fit_node *above);
/* The client does not need the evicted program any more. */
void first_fit_forget(struct first_fit_heap *heap, struct first_fit_node *program);

/* --- ways of real allocators, which first_fit can be told to have --- */

/* Counters that are late, upper bounds or absent, memory that others of the process take from, and
 * owners that are counted.  An open value; first_fit_ways_init() begins it. */
struct first_fit_ways {
    enum target_counting counting; /* of all counters */
    enum target_limit limit;
    bool owners;
    bool steps;                /* it drains and evicts: first_fit_step() */
    enum target_growth cost;   /* of device calls and memory accesses: changes nothing else */
    bool declares;             /* that it is so; false: the contract is the usual one */
    struct target_stats shown; /* the last time */
    uint64_t look_count;       /* how often the counters were shown */
};

void first_fit_ways_init(struct first_fit_ways *ways);
void first_fit_ways_declare(const struct first_fit_ways *ways, struct target_contract *contract);

/* Returns true when others of the process leave no room for so many bytes now. */
bool first_fit_is_taken(const struct first_fit_ways *ways, const struct first_fit_heap *heap,
                        uint64_t size_bytes);
/* Makes of the right counters those that are shown.  evicts: some request may evict. */
void first_fit_show(struct first_fit_ways *ways, const struct first_fit_heap *heap, bool evicts,
                    struct target_stats *stats);

#endif
