/* Allocations and frees of device memory as XLA's and TensorFlow's profiler saw them, from
 * whichever file, become a run: merged by time, each allocator a device of its own, and what was
 * there before the profile began put before them.
 *
 * Each event says how many bytes its allocator has in use.  The first says so how much was there
 * before; whatever no free of the window tells apart is one block of exactly the missing bytes.
 * Every later event is held against the sum of the blocks. Source: tsl/profiler (memory TraceMe
 * events of BFCAllocator::AddTraceMe), xprof memory_profile.proto. */
#ifndef FORMATS_PROFILE_PRIVATE_MEMORY_EVENTS_H
#define FORMATS_PROFILE_PRIVATE_MEMORY_EVENTS_H

#include "formats/common/import.h"
#include "formats/common/tags.h"

/* Numbers that an event may carry; names are those of the files. */
enum memory_fact {
    MEMORY_ADDR,
    MEMORY_REQUESTED_BYTES,
    MEMORY_ALLOCATION_BYTES,  /* what the block takes */
    MEMORY_BYTES_ALLOCATED,   /* in use after the event */
    MEMORY_BYTES_AVAILABLE,   /* free after it */
    MEMORY_BYTES_RESERVED,    /* of the stack */
    MEMORY_PEAK_BYTES_IN_USE, /* since the allocator began */
    MEMORY_FACT_COUNT
};

/* Texts that an event may carry. */
enum memory_text {
    MEMORY_ALLOCATOR_NAME,
    MEMORY_INDEX_ON_HOST, /* the device where there is no name; a number as text */
    MEMORY_DEVICE_ORDINAL,
    MEMORY_TF_OP,
    MEMORY_REGION_TYPE,
    MEMORY_DATA_TYPE,
    MEMORY_SHAPE,
    MEMORY_TEXT_COUNT
};

enum { MEMORY_TEXT_BYTES = 128 };

/* One event as a file has it.  Zero-initialise, then set. */
struct memory_event {
    bool is_allocation;
    int64_t time_ns;
    uint32_t time_ps; /* 0..999, to be added */
    size_t at; /* the byte of the text where it begins; events of the same time keep this order */
    uint64_t facts[MEMORY_FACT_COUNT];
    uint32_t known;                                   /* bit 1 << fact: it is there */
    char texts[MEMORY_TEXT_COUNT][MEMORY_TEXT_BYTES]; /* "" = not there */
};

/* Takes over what the file says under that name; names that are not needed are passed over.  A text
 * that is too long is kept as name_keep() does.  False: a fact is no number, or, but for addresses,
 * one below 0. */
bool memory_event_take_number(struct memory_event *event, const char *name, size_t name_length,
                              uint64_t number, bool is_negative);
bool memory_event_take_text(struct memory_event *event, const char *name, size_t name_length,
                            const char *text, size_t length);

/* Holds all events of a file. is_text: positions are said as line and column, else as byte. */
struct memory_events;
struct memory_events *memory_events_create(const struct import_input *input, bool is_text);
void memory_events_destroy(struct memory_events *events);

/* Adds one; device names the allocator of an event that does not say it.  IMPORT_INVALID with
 * *error: no address, a size above 2^50, a block smaller than what was requested, more than
 * OP_HOST_COUNT_MAX allocators.  O(1) on average. */
enum import_result memory_events_add(struct memory_events *events, const struct memory_event *event,
                                     const char *device, struct import_error *error);

/* Makes the ops of all events.  The capacity becomes what the allocators say, where they do (the
 * rest of smaller ones is retired).  Says the bytes in use after each op, and the peak where it
 * lies in the window. IMPORT_INCOMPLETE: there is no event.  IMPORT_INVALID: an event contradicts
 * those before it: a block where one is live, a second free, sizes that differ, or another sum in
 * use. O(events log events). */
enum import_result memory_events_import(struct memory_events *events,
                                        const struct import_input *input, struct import *import,
                                        struct import_error *error);

/* --- events while they are gathered --- */

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
