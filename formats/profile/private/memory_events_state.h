/* Memory events while they are gathered, as memory_events*.c share them. */
#ifndef FORMATS_PROFILE_PRIVATE_MEMORY_EVENTS_STATE_H
#define FORMATS_PROFILE_PRIVATE_MEMORY_EVENTS_STATE_H

#include "formats/common/capacity.h"
#include "formats/common/name_table.h"
#include "formats/profile/private/memory_events.h"

/* One event, kept: texts are names of the tables. */
struct kept_event {
    uint64_t facts[MEMORY_FACT_COUNT];
    int64_t time_ns;
    size_t at;
    uint64_t size_bytes; /* of the block; 0 = not known (frees that carry an address only) */
    uint32_t tag;        /* index into tags; UINT32_MAX: none */
    uint16_t time_ps;
    uint8_t host;
    uint8_t known; /* bit 1 << fact */
    bool is_allocation;
    bool was_there;   /* the free of a block that no event made */
    bool is_left_out; /* the free of a block that has no bytes, or of which nothing says the size */
};

/* One allocator: a device of the run. */
struct allocator {
    uint64_t event_count;
    bool says_in_use;           /* at least one event does */
    uint64_t base_bytes;        /* in use before the window */
    uint64_t freed_start_bytes; /* of it, what frees of the window tell apart */
    int64_t live_bytes;         /* since the window began: may be below 0 */
    uint64_t in_use_max;        /* in the window, its beginning included */
    bool says_peak;
    uint64_t first_peak_bytes;
    /* events whose peak is not the one of the window, though it lies in it */
    uint64_t other_peak_count;
    uint64_t capacity_events;      /* that say what is free */
    uint64_t heap_min, heap_max;   /* in use + free */
    uint64_t total_min, total_max; /* in use + free + reserved */
    uint64_t reserved_min, reserved_max;
    uint64_t unused_address; /* of no event */
};

struct memory_events {
    const struct import_input *input;
    bool is_text;
    struct kept_event *events; /* count of them */
    size_t count, room;
    struct name_table tags;
    /* names of hosts, by number of kept_event.host until they are numbered by time */
    struct name_table devices;
    struct allocator allocators[OP_HOST_COUNT_MAX];
    uint64_t empty_count;   /* events of blocks of no bytes: left out */
    uint64_t unsized_count; /* frees of blocks that were there, of which nothing says the size */
};

/* import_fail with the place of an event. */
enum import_result memory_fail(const struct memory_events *events, size_t at,
                               struct import_error *error, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

static inline bool memory_has(const struct kept_event *event, enum memory_fact fact)
{
    return (event->known & 1u << fact) != 0;
}

/* Gives each free the size of the allocation at its address, and finds the blocks that were there.
 * Events are in order of time. Refuses a second allocation or free, and sizes that differ.  Sets
 * unused_address. */
enum import_result memory_events_link(struct memory_events *events, struct import_error *error);

/* Holds what each event says of the sums against the blocks, and fills the rest of the allocators.
 * The size of a block that was there is what its free took from the bytes in use, where the free
 * does not say it. */
enum import_result memory_events_sum(struct memory_events *events, struct import_error *error);

#endif
