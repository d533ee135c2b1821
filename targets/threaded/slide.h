/* Finds where a request fits once blocks slide and programs are evicted, and which block is to be
 * copied next.  Only the order of blocks and the unmovable ones decide whether it fits, so after
 * each copy the same plan is found again.  The heap's mutex is held, and no block is marked. */
#ifndef TARGETS_THREADED_SLIDE_H
#define TARGETS_THREADED_SLIDE_H

#include "targets/threaded/heap.h"

/* The needs of a request: a block, a stack below all blocks, or both. */
struct threaded_want {
    uint64_t size_bytes;  /* in granules; 0 = no block */
    uint64_t align_bytes; /* at least the granule */
    uint64_t stack_bytes;
    uint64_t floor_bytes; /* the larger of that and of the stack that is reserved: no block may lie
                             below it */
    struct threaded_node *program; /* that is executed, and not evicted for itself; NULL */
    bool may_evict;
    bool has_drained; /* of RACE_DRAIN_UNLOCKED alone */
};

/* Returns true when blocks can slide so that the request fits; without_idle: once all programs are
 * gone that may be evicted for it.  Exact, alignments included: for each span between two unmovable
 * blocks, and each position in its order, those below go down, those above go up.  O(blocks). */
bool threaded_fits(struct threaded_heap *heap, const struct threaded_want *want, bool without_idle);

/* The copy that comes next, into free memory and its own place. */
struct threaded_move {
    struct threaded_node *node;
    uint64_t to_address;
};
/* False: it does not fit without evictions, or no block need move.  O(blocks). */
bool threaded_next_move(struct threaded_heap *heap, const struct threaded_want *want,
                        struct threaded_move *move);
/* The copy that comes next when all blocks go as high as they can; false: they are there. */
bool threaded_next_upward(struct threaded_heap *heap, struct threaded_move *move);

/* Returns true when the program's image may be taken away for the request. */
bool threaded_may_evict(const struct threaded_want *want, const struct threaded_node *node);

/* Makes room for a request of the target threaded: awaits queued frees, copies blocks, evicts
 * programs, each with the mutex given up, and searches again after each.
 * Holds the mutex before and after, but gives it up meanwhile.  OK: there is room at this moment,
 * and *address is the place for want->size_bytes; when want->program is set, size_bytes was set to
 * what it needs at this moment: nothing while its image is there.  NO_MEMORY: at this moment
 * nothing is left to await, to copy or to evict for it. FAILED: the device refused something. */
enum target_result threaded_make_room(struct threaded_heap *heap, struct threaded_want *want,
                                      uint64_t *address);

/* Copies blocks together; the mutex as above.  FAILED: a copy was refused. */
enum target_result threaded_defragment(struct threaded_heap *heap);

#endif
