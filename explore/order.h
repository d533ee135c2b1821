/* Happens-before between lanes, by vector clocks, and the check that plain accesses are ordered by
 * it.  The scheduler runs lanes one at a time, so without this nobody would see that two accesses
 * meet only by luck.
 *
 * FastTrack (Flanagan and Freund, PLDI 2009): the last write and the last reads of each 8 bytes, as
 * lane and clock. */
#ifndef EXPLORE_ORDER_H
#define EXPLORE_ORDER_H

#include "explore/strategy.h"

struct order;

struct order *order_create(void);
void order_destroy(struct order *order);
/* Forgets everything: a new run.  Cheap. */
void order_reset(struct order *order);

/* The child begins after all that the parent did until now; whoever joins the lane comes after all
 * it did. */
void order_start(struct order *order, uint8_t parent, uint8_t child);
void order_join(struct order *order, uint8_t lane, uint8_t joined);
/* Releases an object: what came before is ordered before what is done after the next acquire of
 * it. */
void order_release(struct order *order, uint8_t lane, const void *object);
void order_acquire(struct order *order, uint8_t lane, const void *object);
/* Memory that was given back: the next user has nothing to do with the last. */
void order_forget(struct order *order, const void *address, size_t size_bytes);

/* Every word and every object is found from its address, each remembered access is in one list, and
 * no lane has seen more of another than that did: slow and complete, for tests. */
bool order_invariants_hold(const struct order *order);

/* One side of a race. */
struct access {
    uint8_t lane;
    bool is_write;
    uint32_t op;       /* STEP_OP_NONE: of no client */
    const void *place; /* code address */
};
struct race {
    const void *address;
    size_t size_bytes;
    struct access earlier, later;
};
/* A plain access of size_bytes (1..16, or a range).  True: it races with an earlier one; *race says
 * with which. */
bool order_access(struct order *order, const struct access *access, const void *address,
                  size_t size_bytes, struct race *race);

#endif
