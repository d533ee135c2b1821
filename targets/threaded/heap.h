/* The blocks of the target threaded, for any number of threads: a list in address order, the free
 * blocks whose events are unfinished in a queue, and the one mutex that guards all of it.  Every
 * function wants the mutex held, by who called threaded_enter(), and keeps it, but where it says
 * otherwise.
 *
 * The mutex is given up for what takes long: an awaited event, a copy, an eviction.  A block that
 * is copied or evicted is marked before that, and whoever names a marked block waits until the mark
 * is gone (threaded_await). */
#ifndef TARGETS_THREADED_HEAP_H
#define TARGETS_THREADED_HEAP_H

#include "harness/target.h"
#include "targets/private/option.h"

#include <pthread.h>

/* The one place where a variant is wrong, and only when calls overlap (targets/threaded/list.h says
 * how). */
enum threaded_race {
    RACE_NONE = 0,
#define RACE(name, constant, rule, summary) constant,
#include "targets/threaded/list.h"
#undef RACE
};

/* An unfinished event that keeps a block where it is. */
struct threaded_wait {
    struct threaded_wait *next;
    uint64_t event;
    bool is_lost; /* no waiting completes it */
};

enum threaded_state {
    NODE_SPARE = 0, /* of no block: it will be used again */
    NODE_LIVE,      /* in the list */
    NODE_DYING,     /* in the list and in the queue: freed, but events or holds have not ended */
    NODE_EVICTED    /* a program without an image: in the list of those */
};

/* One block or program; its address is the handle. */
struct threaded_node {
    struct threaded_node *below,
        *above; /* by address; evicted and spare ones are linked by below */
    struct threaded_node *next_queued;
    uint64_t address, size_bytes, align_bytes;
    uint64_t to_address;  /* where it is copied to; address when it is not copied */
    uint64_t stack_bytes; /* programs, in granules */
    uint64_t program;     /* the device's name for it; 0 = a buffer */
    uint64_t serial;      /* of this life of the node; 0 = spare */
    struct threaded_wait *waits;
    enum threaded_state state;
    enum block_kind kind;
    uint32_t hold_count, tag;
    bool is_pinned; /* it is held */
    bool is_moving,
        is_evicting; /* marked: the device works on it and nobody has the mutex for that */
    bool is_passed;  /* scratch of room.c, with the two below */
    uint64_t up_address, down_address;
};

struct threaded_heap {
    struct device_services device;
    uint64_t capacity_bytes, granule_bytes;
    bool moves, evicts, program_evicts_program; /* as the contract says */
    enum threaded_race race;
    pthread_mutex_t lock;
    pthread_mutex_t queue_lock; /* of RACE_LOCK_ORDER alone */
    pthread_cond_t settled;     /* the draining thread has settled something */
    pthread_cond_t finished;    /* a block is no longer marked */
    struct threaded_node *highest, *lowest;
    struct threaded_node *queued; /* the oldest first */
    struct threaded_node *evicted, *spare;
    uint64_t reserved_bytes;  /* the stack: the most that an unfinished execution needs */
    uint64_t completed_count; /* of the device, when it was last polled */
    uint64_t wait_count, serial;
    uint64_t drain_count;      /* how often a thread has begun to drain */
    bool is_draining;          /* one thread awaits an event, the others await that thread */
    uint32_t marked_count;     /* blocks that are marked */
    struct target_stats stats; /* all but the stack and the largest hole */
};

/* --- the mutex --- */

enum threaded_call { CALL_PLAIN, CALL_REQUEST, CALL_FREE };
void threaded_enter(struct threaded_heap *heap, enum threaded_call call);
void threaded_leave(struct threaded_heap *heap);
/* Gives the mutex up and takes it again: anything may have happened in between.  Only for races. */
void threaded_relax(struct threaded_heap *heap);
/* Returns when the block is not marked; the mutex is given up meanwhile. */
void threaded_await(struct threaded_heap *heap, const struct threaded_node *node);

/* --- blocks --- */

/* Takes in what the device has finished, and ends at an instant from which all of it is taken in:
 * what is seen then was so at that instant. */
void threaded_settle(struct threaded_heap *heap);
/* Lets the dying blocks go that nothing keeps. */
void threaded_settle_queue(struct threaded_heap *heap);
/* Takes the waits of the block away whose events are done. */
void threaded_poll(struct threaded_heap *heap, struct threaded_node *node);
/* The block stays until event (0: none) is done.  False: host memory was refused. */
bool threaded_add_wait(struct threaded_heap *heap, struct threaded_node *node, uint64_t event);

/* A new block like that, at its address.  FAILED: host memory was refused. */
enum target_result threaded_place(struct threaded_heap *heap, const struct threaded_node *like,
                                  struct threaded_node **out);
/* An evicted program gets its image at the address; it is evicted. */
void threaded_reload(struct threaded_heap *heap, struct threaded_node *node, uint64_t address);
void threaded_evict(struct threaded_heap *heap, struct threaded_node *node);
/* The block dies now, or when what keeps it has ended. */
void threaded_free(struct threaded_heap *heap, struct threaded_node *node);
/* The block is gone, and its node is spare. */
void threaded_release(struct threaded_heap *heap, struct threaded_node *node);
void threaded_count_released(struct threaded_heap *heap, uint64_t size_bytes);
/* Gives the host memory of everything back; needs no mutex. */
void threaded_clear(struct threaded_heap *heap);

/* The highest hole of the size whose place is a multiple of align and at least floor.  O(blocks).
 */
bool threaded_find_hole(const struct threaded_heap *heap, uint64_t size_bytes, uint64_t align_bytes,
                        uint64_t floor_bytes, uint64_t *address);
uint64_t threaded_largest_hole_bytes(const struct threaded_heap *heap);
uint64_t threaded_in_granules(const struct threaded_heap *heap, uint64_t bytes); /* rounded up */

/* While a block is copied it takes both places and all between. */
static inline uint64_t threaded_start(const struct threaded_node *node)
{
    return node->address < node->to_address ? node->address : node->to_address;
}
static inline uint64_t threaded_end(const struct threaded_node *node)
{
    return (node->address > node->to_address ? node->address : node->to_address) + node->size_bytes;
}
static inline bool threaded_is_idle(const struct threaded_node *node)
{
    return node->state == NODE_LIVE && node->waits == NULL && !node->is_pinned &&
           !node->is_moving && !node->is_evicting;
}

/* --- room.c --- */

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

/* --- an instance of the target threaded or of a race --- */

/* Kept in its contract. */
#define THREADED_OPTION_ROWS                                              \
    OPTION_WORDS("defrag", "none|slide", struct target_contract, defrag), \
        OPTION_GRANULE(struct target_contract, granule_bytes),            \
        OPTION_YES_NO("program_evicts_program", struct target_contract, program_evicts_program)

struct target_instance {
    struct threaded_heap heap;
    pthread_key_t message; /* the text of the thread's last failure */
};

#endif
