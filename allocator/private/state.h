/* The body of struct hbm: what it keeps, how its blocks end, and what it reports. */
#ifndef ALLOCATOR_PRIVATE_STATE_H
#define ALLOCATOR_PRIVATE_STATE_H

#include "allocator/hbm_shape.h"
#include "allocator/private/base.h"
#include "allocator/private/block.h"
#include "allocator/private/pool.h"

/* The events that blocks wait for: which block each unfinished event keeps in use. */

/* One unfinished event.  Linked in the order of first use, and by hash of its id. */
struct hbm_event {
    uint64_t id;
    uint64_t lost_in_call; /* the last call that was told that waiting is in vain; asked again in
                              the next */
    bool wait_refused;     /* it was told so because the service refused */
    uint32_t uses;         /* first struct hbm_use */
    uint32_t hash_next;
    uint32_t previous;
    uint32_t next;
};

struct hbm_use {
    uint32_t block;
    uint32_t next; /* of the same event */
};

/* Invariant: every event in the list has at least one use; a block's use_count is the number of
 * uses that name it. */
struct hbm_pending {
    struct hbm_pool events;
    struct hbm_pool uses;
    uint32_t *buckets; /* [bucket_count], a power of two */
    uint32_t bucket_count;
    uint32_t first;
    uint32_t last;
    uint64_t completed_seen; /* completed_count at the last poll */
    bool poll_due;           /* poll even if the count is unchanged */
};

bool hbm_pending_init(struct hbm_pending *pending, struct hbm_host *host);
void hbm_pending_deinit(struct hbm_pending *pending);

/* Makes sure that `count` more uses, of as many new events, can be added without host memory. */
bool hbm_pending_reserve(struct hbm_pending *pending, uint32_t count);

/* Adds a use; room must have been reserved.  O(1). */
void hbm_pending_add(struct hbm_pending *pending, uint64_t event, uint32_t block);

/* The event with this id, or NULL. */
struct hbm_event *hbm_pending_find(const struct hbm_pending *pending, uint64_t event);

static inline struct hbm_event *hbm_pending_event(const struct hbm_pending *pending,
                                                  uint32_t number)
{
    return hbm_pool_at(&pending->events, number);
}

static inline struct hbm_use *hbm_pending_use(const struct hbm_pending *pending, uint32_t number)
{
    return hbm_pool_at(&pending->uses, number);
}

/* Takes an event out of the list and gives its record back; its uses are left to the caller, who
 * gets the first one and ends each with hbm_pending_use_end. */
uint32_t hbm_pending_remove(struct hbm_pending *pending, uint32_t number);

/* Gives one use back and returns the next. */
uint32_t hbm_pending_use_end(struct hbm_pending *pending, uint32_t use);

/* When no event is left, gives memory beyond the first slabs back. */
void hbm_pending_trim(struct hbm_pending *pending);

/* The shapes that blocks carry for reports, each kept once and counted. */

/* Invariant: equal shapes have one record; references is the number of blocks that carry it. */
struct hbm_shapes {
    struct hbm_pool pool;
    uint32_t *buckets; /* [bucket_count], a power of two */
    uint32_t bucket_count;
};

bool hbm_shapes_init(struct hbm_shapes *shapes, struct hbm_host *host);
void hbm_shapes_deinit(struct hbm_shapes *shapes);

/* Counts a reference up and returns its number; HBM_POOL_NONE when host memory is refused. */
uint32_t hbm_shapes_take(struct hbm_shapes *shapes, const struct hbm_shape *shape);

/* Counts a reference down; 0 is ignored. */
void hbm_shapes_give(struct hbm_shapes *shapes, uint32_t number);

/* NULL for 0.  Valid until the reference is given back. */
const struct hbm_shape *hbm_shapes_at(const struct hbm_shapes *shapes, uint32_t number);

/* The body of struct hbm. */

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

/* The counters of a device that are history, and sums over its blocks. */

/* Raises the peak of what is in use to the present state. */
static inline void hbm_peak_in_use_note(struct hbm *hbm)
{
    if (hbm->heap.used_bytes > hbm->totals.peak_bytes_in_use) {
        hbm->totals.peak_bytes_in_use = hbm->heap.used_bytes;
    }
}

/* Raises peaks to the present state. */
static inline void hbm_peaks_note(struct hbm *hbm)
{
    const uint64_t reserved_bytes = hbm_heap_reserved(&hbm->heap);
    HBM_CHECK(hbm->heap.used_bytes <= hbm->options.capacity_bytes - reserved_bytes);
    hbm_peak_in_use_note(hbm);
    if (reserved_bytes > hbm->totals.peak_bytes_reserved) {
        hbm->totals.peak_bytes_reserved = reserved_bytes;
    }
}

/* Remembers the size of a new block if it is the largest so far. */
static inline void hbm_largest_note(struct hbm *hbm, uint64_t size_bytes)
{
    if (size_bytes > hbm->totals.largest_alloc_size) {
        hbm->totals.largest_alloc_size = size_bytes;
    }
}

/* The largest stack that could be reserved now, by the contract. */
uint64_t hbm_reservable(const struct hbm *hbm);

static inline uint64_t hbm_free_bytes(const struct hbm *hbm)
{
    return hbm->options.capacity_bytes - hbm->heap.used_bytes - hbm_heap_reserved(&hbm->heap);
}

/* The calling thread reads these about the last call that failed. */

/* Each sets this thread's failure and returns the matching result.  The state is read now. */
enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form,
                                uint64_t requested_bytes, const char *name);
enum hbm_result hbm_fail_invalid(const struct hbm *hbm, const char *text);
enum hbm_result hbm_fail_unavailable(const struct hbm *hbm, const char *text);

/* Blocks whose contents are on the host because a move could not be finished. */

/* Tries to bring stranded blocks back, by way of moves if there is no hole. */
HBM_RARE void hbm_stranded_retry(struct hbm *hbm);

/* Forgets the contents of a stranded block, which ends. */
void hbm_stranded_drop(struct hbm *hbm, uint32_t number);

/* Does the same for all stranded blocks: the device is destroyed. */
void hbm_stranded_drop_all(struct hbm *hbm);

/* The next stranded block that has no range, from `stranded` on; NULL: there is none. */
const struct hbm_stranded *hbm_stranded_absent(const struct hbm *hbm,
                                               const struct hbm_stranded *stranded);

/* The end of blocks: freed at once, or when the events and references that keep them are gone. */

HBM_APART void hbm_collect_completed(struct hbm *hbm);

/* Collects completed events; called first in every public call that only reads, with the lock held.
 */
static inline void hbm_collect_events(struct hbm *hbm)
{
    if (hbm->pending.first != HBM_POOL_NONE) {
        hbm_collect_completed(hbm);
    }
}

/* Does the same in every other public call, and brings stranded blocks back, too. */
static inline void hbm_collect(struct hbm *hbm)
{
    hbm_collect_events(hbm);
    if (__builtin_expect(hbm->stranded != NULL, 0)) {
        hbm_stranded_retry(hbm);
    }
}

/* Returns true for a live buffer or output whose end is that of its range, and nothing else.  It
 * has no references, unfinished uses or shape, and its contents are on the device. */
static inline bool hbm_block_ends_plainly(const struct hbm_block *block)
{
    static_assert((HBM_ROLE_BUFFER | 1) == HBM_ROLE_OUTPUT, "the two differ in one bit");
    const uint64_t asked = (struct hbm_block){.role = HBM_ROLE_MAX & ~1u,
                                              .dying = 1,
                                              .place = HBM_PLACE_MAX,
                                              .in_use = 1}
                               .links;
    const uint64_t plain = (struct hbm_block){.role = HBM_ROLE_BUFFER, .place = HBM_PLACE_DEVICE}
                               .links;
    const uint64_t none_of = (struct hbm_block){.hold_count = UINT32_MAX, .shaped = 1}.holds;
    return (block->links & asked) == plain && (block->holds & none_of) == 0;
}

/* Frees a live block: at once, or when it is no longer held. */
void hbm_block_free(struct hbm *hbm, uint32_t number);

/* Ends a dying block that nothing holds any more. */
void hbm_block_settle(struct hbm *hbm, uint32_t number);

typedef void hbm_report_visitor(void *context, const struct hbm_report_entry *entry);

/* hbm_report_print with the lock already held. */
void hbm_report_print_locked(struct hbm *hbm, const struct hbm_sink *sink);

#endif
