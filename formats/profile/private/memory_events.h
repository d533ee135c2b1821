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

#endif
