/* The events that blocks wait for: which block each unfinished event keeps in use. */
#ifndef ALLOCATOR_PRIVATE_PENDING_H
#define ALLOCATOR_PRIVATE_PENDING_H

#include "allocator/private/pool.h"

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

#endif
