/* The contents of a simulated device's memory, owner by owner.  device.h says what a stamp, an
 * owner and settling are. */
#ifndef HARNESS_DEVICE_PRIVATE_DEVICE_CONTENTS_H
#define HARNESS_DEVICE_PRIVATE_DEVICE_CONTENTS_H

#include "harness/device/span_map.h"

/* The range on which an owner was last stamped; bytes 0 = nothing. */
struct contents_record {
    uint64_t address, bytes;
};
struct contents {
    /* by owner, record_capacity of them; what memory holds unless is_detailed */
    struct contents_record *records;
    size_t record_capacity;
    struct span_map map; /* range by range, while is_detailed */
    bool is_detailed;
    bool is_exact;        /* while is_detailed: the records say the same */
    size_t idle_count;    /* stamps since then */
    struct span *scratch; /* extents of the copy under way */
    size_t scratch_capacity;
};
void contents_init(struct contents *contents);
void contents_deinit(struct contents *contents);
size_t contents_footprint_bytes(const struct contents *contents);

/* The parts of the next two that not every op needs. */
void contents_grow(struct contents *contents, uint32_t owner);
void contents_put_range(struct contents *contents, uint64_t address, uint64_t bytes,
                        uint32_t owner);
void contents_erase_range(struct contents *contents, const struct contents_record *record,
                          uint32_t owner);

static inline void contents_stamp(struct contents *contents, uint64_t address, uint64_t bytes,
                                  uint32_t owner)
{
    if (owner >= contents->record_capacity) {
        contents_grow(contents, owner);
    }
    contents->records[owner] = (struct contents_record){address, bytes};
    if (contents->is_detailed) {
        contents_put_range(contents, address, bytes, owner);
    }
}
bool contents_hold(const struct contents *contents, uint64_t address, uint64_t bytes,
                   uint32_t owner);
static inline void contents_scrub(struct contents *contents, uint32_t owner)
{
    if (owner >= contents->record_capacity) {
        return;
    }
    const struct contents_record record = contents->records[owner];
    contents->records[owner].bytes = 0;
    if (contents->is_detailed && record.bytes > 0) {
        contents_erase_range(contents, &record, owner);
    }
}
void contents_settle(struct contents *contents);
/* Nothing but what the records say is in memory, once those are stamped anew whose bytes went
 * elsewhere.  It goes on range by range until as many were stamped as there are records. */
void contents_keep(struct contents *contents);
/* The first half of what the owner was last stamped with is gone, wherever its bytes are now. */
void contents_lose_half(struct contents *contents, uint32_t owner);

/* Nobody's bytes lie in [start, end). */
void contents_erase(struct contents *contents, uint64_t start, uint64_t end);
/* Copies as memmove does. */
void contents_copy(struct contents *contents, uint64_t from, uint64_t to, uint64_t bytes);
/* Extents of a range, counted from its start. */
struct contents_piece {
    struct span *spans; /* count of them; the caller frees */
    size_t count;
};
struct contents_piece contents_take(struct contents *contents, uint64_t from, uint64_t bytes);
/* Puts the bytes [offset, offset + bytes) of the piece down at `to`, over whatever was there. */
void contents_put(struct contents *contents, const struct contents_piece *piece, uint64_t offset,
                  uint64_t to, uint64_t bytes);

#endif
