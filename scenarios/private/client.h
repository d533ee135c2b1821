/* A client that reacts to an out-of-memory: what it has, what it asked for last, and the ops of
 * each reaction.  Clients share one device; the tag of a block says whose it is. */
#ifndef SCENARIOS_PRIVATE_CLIENT_H
#define SCENARIOS_PRIVATE_CLIENT_H

#include "scenarios/private/op_queue.h"

/* Each is another answer to the same error. */
enum reaction {
    REACTION_WAIT = 0,  /* time passes, or an event completes; then it asks for the same */
    REACTION_AGAIN,     /* it asks for the same at once, with time pinned if nothing came between */
    REACTION_SPILL,     /* some of its blocks go to the host, which takes time; it asks again */
    REACTION_SPLIT,     /* it asks for half, twice */
    REACTION_EVICT,     /* it unloads its program, or drops its oldest block; it asks again */
    REACTION_ROLL_BACK, /* it frees all that it has and begins anew */
    REACTION_ABORT, /* it asks while another client's memory is being spilled; that one is aborted
                       from outside meanwhile: all its blocks are freed at once, and its events
                       complete */
    REACTION_COUNT
};

enum { CLIENT_COUNT_MIN = 2, CLIENT_COUNT_MAX = 8, CLIENT_BLOCKS_MAX = 24 };

/* Plain data. */
struct client {
    uint64_t demand_bytes; /* that it needs to run */
    uint64_t batch_bytes;  /* that it asks for at a time */
    uint32_t asked;        /* the op of its last request; OP_NONE: none is to be looked at */
    uint32_t answered;     /* the one before, whose answer is known; OP_NONE */
    uint32_t refused;      /* so often in a row, since it was granted something */
    uint32_t program;      /* the op that loaded it; OP_NONE */
    uint8_t tag;           /* of its blocks: its number */
    bool is_loading;       /* asked is its program */
};

/* The bytes of its blocks that it can name.  O(blocks). */
uint64_t client_held_bytes(const struct client *client, const struct model *model);

/* Looks at the answer to its last request, once. */
void client_settle(struct client *client, const struct model *model);

/* The rest of its demand, a batch at most. */
void client_queue_request(const struct client *client, struct op_queue *queue,
                          struct random *random, const struct model *model);
/* Everything is there: it executes its program, if it has one, uses its blocks until that ends, and
 * frees some or all of them. */
void client_queue_run(const struct client *client, struct op_queue *queue, struct random *random,
                      const struct model *model);
/* other: whom REACTION_ABORT aborts.  client->refused > 0. */
void client_queue_reaction(struct client *client, enum reaction reaction, struct client *other,
                           struct op_queue *queue, struct random *random,
                           const struct model *model);

#endif
