/* Clients that all wait: each was refused, asked again and was refused again, and in between none
 * was granted anything.  Where one of them could have had its request, had others given way, that
 * is a livelock of the job.  It breaks no promise of an allocator: a refusal that does is
 * premature, and judged as such.
 *
 * A client is a tag (setup_is_client()); its blocks and programs are those of that tag.  It waits
 * from a refused alloc, output or load on until one is granted. */
#ifndef HARNESS_RUN_STANDSTILLS_H
#define HARNESS_RUN_STANDSTILLS_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

enum {
    STANDSTILL_COUNT_MAX = 32,  /* that are told of each run */
    STANDSTILL_CLIENT_MAX = 64, /* more of them are not looked at */
    STANDSTILL_NOBODY = OP_TAG_COUNT
};

struct call;
struct host;
struct oracle;

enum standstill_way {
    STANDSTILL_ORDER = 0, /* one of them can have its request when others have given way */
    STANDSTILL_TOO_SMALL, /* none can, even with the memory of all others */
    STANDSTILL_UNKNOWN    /* a search ended, or what a block takes is not known */
};

struct standstill {
    enum standstill_way way;
    uint32_t since;           /* the request with whose refusal the last of them began to wait */
    uint32_t told;            /* the one with which each had asked again */
    uint64_t requested_bytes; /* ORDER: that the client could have had; ... */
    uint16_t client;          /* ... its tag */
    uint16_t gives_way; /* the tag of one whose memory is enough; STANDSTILL_NOBODY: nobody has to,
                           or several have to */
    bool fits_now;      /* nobody has to: it need only ask */
    uint8_t host, client_count;
};

struct standstills {
    struct standstill standstills[STANDSTILL_COUNT_MAX]; /* count of them, in their order */
    size_t count;
    uint64_t more; /* that found no place */
};

/* Listens to a run. */
struct standstill_watch;
/* NULL: the setup names fewer than two clients, and nothing is to be heard. */
struct standstill_watch *standstill_watch_create(const struct setup *setup);
void standstill_watch_destroy(struct standstill_watch *watch); /* NULL: nothing */

/* After each call that overlapped no other, once it is judged.  ops: the list so far.  The oracle
 * is asked where all stand still: at most twice for each client, in few steps; its last proof is
 * not valid any more.  True: *found is a new standstill. */
bool standstill_watch_hear(struct standstill_watch *watch, const struct host *host,
                           const struct call *call, const struct op_list *ops,
                           struct oracle *oracle, struct standstill *found);

const struct standstills *standstill_watch_read(const struct standstill_watch *watch);

#endif
