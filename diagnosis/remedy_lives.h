/* Finds how long the blocks and programs of a list live, from the list alone: who makes them, what
 * names them, what ends them. */
#ifndef DIAGNOSIS_REMEDY_LIVES_H
#define DIAGNOSIS_REMEDY_LIVES_H

#include "harness/op/op.h"

/* The life that one op makes or names.  A block that is donated goes on living in the output that
 * takes it over.  All those names are one life, and the first of them, its root, stands for it. */
struct remedy_life {
    uint32_t root; /* what the op makes or names: the root of that life; OP_NONE: neither, or it is
                      not there */
    uint32_t end;  /* of roots: the op that ends it (a free or unload); OP_NONE: none does */
    uint32_t last_named;  /* of roots: the last op that names it, end and releases included; itself
                             when none does */
    uint32_t before;      /* the op that named the same life last; OP_NONE for roots */
    uint32_t hold_count;  /* external references of what the op names or makes, after the op */
    bool is_donated;      /* of roots: an output takes it over */
    bool has_named_event; /* another op names the event that this one makes */
    uint64_t bytes;       /* of roots: what it takes, a multiple of the granule */
};

/* lives and live_bytes: op_count of them, by op. */
struct remedy_lives {
    struct remedy_life *lives;
    uint64_t *live_bytes; /* of all hosts together before the op: buffers and programs; a free
                             counts at once */
    size_t op_count;
    uint64_t buffer_peak_bytes; /* the most that buffers alone take on one host at one time: no
                                   smaller device can do */
    uint64_t granule_bytes;
};

/* ops and has_failed as in struct remedy_case; NULL: none has failed.  granule_bytes 0 counts as 1.
 * O(ops). */
void remedy_lives_init(struct remedy_lives *lives, const struct op_list *ops,
                       const bool *has_failed, uint64_t granule_bytes);
void remedy_lives_deinit(struct remedy_lives *lives);
/* True if each name leads back to its root, in order, and each end is of its own life.  O(ops); for
 * tests. */
bool remedy_lives_invariants_hold(const struct remedy_lives *lives);

/* Sizes as a device takes them; saturates below 2^63. */
uint64_t remedy_rounded(uint64_t size_bytes, uint64_t granule_bytes);
/* True if the kind asks for room: a buffer, an output, a donation, a program or its execution. */
bool remedy_is_request(uint8_t kind);

#endif
