/* Finds who holds the device at one moment, as the model knows it: counts and bytes by kind and
 * state, and the tags with the most. */
#ifndef RECORDING_OCCUPANCY_H
#define RECORDING_OCCUPANCY_H

#include "harness/model/model.h"

/* oldest_op and newest_op: the ops that made the first and the last of them; meaningless when count
 * is 0. */
struct occupancy_sum {
    uint64_t count, bytes;
    uint32_t oldest_op, newest_op;
};
enum { OCCUPANCY_TAG_COUNT_MAX = 8 };

/* Each block is in exactly one of movable, held, idle, busy, dying and retired; evicted programs
 * hold nothing. */
struct occupancy {
    uint64_t capacity_bytes, free_bytes, largest_hole_bytes, hole_count, reserved_bytes,
        in_use_bytes;
    struct occupancy_sum movable, held; /* buffers and outputs */
    struct occupancy_sum idle, busy;    /* programs on the device */
    struct occupancy_sum dying;         /* queued frees; oldest_op is OP_NONE: not known here */
    struct occupancy_sum retired;       /* memory that went bad; oldest_op is OP_NONE */
    uint64_t evicted_count;
    struct {
        uint8_t tag;
        struct occupancy_sum sum;
    } tags[OCCUPANCY_TAG_COUNT_MAX]; /* of live blocks and programs, most bytes first; tag_count of
                                     them */
    uint32_t tag_count;
};

/* O(blocks). */
void occupancy_take(const struct model *model, struct occupancy *occupancy);

#endif
