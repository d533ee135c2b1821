/* An instance of a target of the kit, its blocks, and what its parts ask of each other. */
#ifndef KIT_PRIVATE_INSTANCE_H
#define KIT_PRIVATE_INSTANCE_H

#include "kit/kit.h"

/* The records of blocks, in the order of their addresses, and the largest gap between them. */

/* An event that a block waits for, in the list of all that are not known to be done. */
struct kit_pending {
    struct kit_pending *next, **link; /* *link points here */
    struct kit_block *block;
    uint64_t event;
    bool is_lost; /* no waiting completes it */
};

/* One block, from its allocation until it is given back to the allocator. */
struct kit_block {
    struct target_block at;
    enum block_kind kind;
    uint32_t tag;
    bool is_freed; /* goes when nothing holds it and nothing is pending */
    uint64_t hold_count, pending_count;
    uint64_t lost_count; /* of the pending ones */
    struct kit_pending free_event;
    /* A treap by address.  Blocks of a broken allocator may overlap; the serial orders them then.
     */
    struct kit_block *left, *right;
    uint64_t serial;
    uint64_t span_start, span_end; /* of the block and all below it in the tree */
    uint64_t gap_bytes;            /* the largest one inside the span */
};

void kit_blocks_insert(struct kit_block **root, struct kit_block *block);
/* The block must be in the tree. */
void kit_blocks_remove(struct kit_block **root, struct kit_block *block);
/* The one that begins at the address; NULL: none does. */
const struct kit_block *kit_blocks_find(const struct kit_block *root, uint64_t address);
/* The largest range of [start, end) that no block covers, as blocks are counted from their
 * addresses; where blocks overlap it may be less than what this returns. */
uint64_t kit_blocks_largest_gap(const struct kit_block *root, uint64_t start, uint64_t end);

/* An instance of a target of the kit, and what its parts ask of each other. */

/* This header stands before each piece of kit_records. */
struct kit_record {
    struct kit_record *next;
    size_t bytes; /* with this */
};

struct kit_host {
    const struct device_services *device;
    bool is_refused; /* something was, since the call began */
    struct kit_record *records;
};

/* The address space of an arena, in whole pages. */
struct kit_mapping {
    char *start;
    size_t bytes;
};

/* A name for a block.  A handle is the slot's number and how often the slot was named before, so
 * that the handle of a block that has gone means nothing. */
struct kit_slot {
    struct kit_block *block; /* NULL: free */
    uint32_t name_count;
    uint32_t next_free;       /* of a free slot: index of the next one, or KIT_SLOT_NONE */
    struct kit_block *sorted; /* for the report */
};
#define KIT_SLOT_NONE UINT32_MAX

enum { KIT_MESSAGE_BYTES = 256 };

struct target_instance {
    const struct kit_allocator *allocator;
    struct device_services device;
    struct kit_host host;
    void *state; /* allocator->state_bytes of it, or NULL */
    struct kit_mapping mapping;
    uintptr_t origin; /* the pointer at offset 0; 0: places are told as they are */
    /* The contract's, as open left them. */
    uint64_t granule_bytes, header_bytes;
    uint64_t paid_bytes; /* the header that each request has room for */
    struct target_rounding rounding;
    enum placement placement;
    struct target_stats stats; /* all but largest_free_block_bytes are kept */
    struct kit_block *root;
    uint64_t serial_last;
    struct kit_slot *slots; /* slot_capacity of them; the first slot_count were used */
    uint32_t slot_count, slot_capacity;
    uint32_t slot_free;                         /* index, or KIT_SLOT_NONE */
    struct kit_pending *pending, **pending_end; /* oldest first */
    uint64_t completed_seen; /* completed_count before the pending ones were last looked at */
    char message[KIT_MESSAGE_BYTES];
};

/* Every call begins so. */
void kit_call_begin(struct target_instance *instance);
/* Writes the message, and returns the result. */
__attribute__((format(printf, 3, 4))) enum target_result kit_fail(struct target_instance *instance,
                                                                  enum target_result result,
                                                                  const char *format, ...);

/* --- slots.c --- */

/* Names the block in a slot and sets its handle.  false: host memory was refused. */
bool kit_slot_take(struct target_instance *instance, struct kit_block *block);
/* The block gets a new handle; the old one means nothing from now on. */
void kit_slot_rename(struct target_instance *instance, struct kit_block *block);
void kit_slot_give(struct target_instance *instance, const struct kit_block *block);
/* NULL: no block has that handle. */
struct kit_block *kit_slot_find(const struct target_instance *instance, uint64_t handle);

/* --- pending.c --- */

/* The block waits for the event, with a record that the caller provides. */
void kit_pending_add(struct target_instance *instance, struct kit_block *block, uint64_t event,
                     struct kit_pending *pending);
/* Lets go what is done, and ends at an instant at which no more was done. */
void kit_pending_settle(struct target_instance *instance);
/* Awaits one event that a queued free waits for and that waiting may complete.  TARGET_NO_MEMORY:
 * there is none.  TARGET_FAILED: the device refused. */
enum target_result kit_pending_await(struct target_instance *instance);
/* Removes the record from the list and gives it back. */
void kit_pending_end(struct target_instance *instance, struct kit_pending *pending);

/* --- calls.c --- */

/* The largest free range, as far as the kit knows. */
uint64_t kit_largest_gap(const struct target_instance *instance);

/* Gives the block back to the allocator if it was freed and nothing keeps it any more. */
void kit_block_settle(struct target_instance *instance, struct kit_block *block);
/* Gives it back, whatever keeps it.  Nothing may be pending for it. */
void kit_block_drop(struct target_instance *instance, struct kit_block *block);

/* The size class of a size up to 2^63, in whole granules. */
uint64_t kit_class_bytes(const struct target_rounding *rounding, uint64_t granule_bytes,
                         uint64_t size_bytes);

/* --- options.c --- */

/* false: *reason says in one line which option is wrong and which ones are right. */
bool kit_options_check(const char *option_help, const struct target_setup *setup, char *reason,
                       size_t reason_bytes);

/* --- arena.c --- */

/* Maps the arena and returns it.  NULL: the address space is not to be had. */
void *kit_arena_map(const struct kit_arena *arena, uint64_t capacity_bytes,
                    struct kit_mapping *mapping);
void kit_arena_unmap(struct kit_mapping *mapping);

#endif
