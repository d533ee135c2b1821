/* A device for the kit that does what a test says, and an allocator of a few places of one size. */
#ifndef TESTS_KIT_KIT_WORLD_H
#define TESTS_KIT_KIT_WORLD_H

#include "kit/kit.h"

enum {
    WORLD_EVENT_COUNT = 16, /* events are 1 to 15 */
    WORLD_PLACE_COUNT = 4,
    WORLD_PLACE_BYTES = 4096,
    WORLD_CAPACITY_BYTES = WORLD_PLACE_COUNT * WORLD_PLACE_BYTES
};

struct world {
    bool is_done[WORLD_EVENT_COUNT], is_lost[WORLD_EVENT_COUNT];
    uint64_t completed_count;
    uint64_t jumps_at, jumps_to;    /* asking for the first event lets the second one complete */
    uint64_t completes_in_allocate; /* an event; 0 = none */
    uint64_t wait_count;
    bool refuses_waits;
    uint64_t host_count; /* of host_alloc */
    uint64_t refused_at; /* the host_alloc that is refused, from 1; 0 = none */
    uint64_t host_bytes; /* not given back yet */
    bool refuses_regions;
    uint64_t region_count, region_end; /* held; where the last one ended */
    bool is_taken[WORLD_PLACE_COUNT];
    uint64_t free_count; /* of the allocator's free */
    struct target_instance *instance;
    struct target_contract contract;
    char reason[200];
};
extern struct world world;

/* For EVERY_TEST(.setup = world_begin, .teardown = world_close): all is zero, and what is open at
 * the end is closed. */
void world_begin(void);
/* Closes it, if it is open; all host memory must have come back. */
void world_close(void);

void world_complete(uint64_t event);
/* Opens a target of the places. */
enum target_result world_open(void);
/* The same with a call of kit_allocator.reserve_offset. */
enum target_result world_open_places(bool (*reserve)(void *state, uint64_t offset, uint64_t size));
/* The same for another allocator, option_help and setup.  What fails leaves no host memory taken.
 */
enum target_result world_open_with(const struct kit_allocator *allocator, const char *option_help,
                                   const struct target_setup *setup);

/* One place; NULL of block is allowed. */
enum target_result world_alloc(struct target_block *block);
/* The same, which must succeed. */
uint64_t world_take(void);
struct target_stats world_stats(void);

#endif
