/* The time that a block stays in one place and in one state: what pictures and timelines are made
 * of.  Events begin stays and end them. */
#ifndef FORMATS_EXPORT_PRIVATE_STAYS_H
#define FORMATS_EXPORT_PRIVATE_STAYS_H

#include "formats/export/export.h"
#include "harness/base/number_map.h"

enum stay_state { STAY_LIVE = 0, STAY_QUEUED, STAY_PROGRAM, STAY_RETIRED, STAY_STATE_COUNT };
const char *stay_state_name(enum stay_state state); /* "live", "queued free", ... */

struct stay {
    uint64_t address, size_bytes, requested_bytes;
    uint64_t begin_ns; /* virtual time of its host */
    uint32_t block;    /* the op that made the block */
    uint32_t begin_op;
    uint8_t host, tag, lane, state;
};

/* The stays under way, in no order; a zeroed one is empty.  Memory follows the most that there ever
 * were. */
struct stays {
    struct stay *stays; /* count of them */
    size_t count, room;
    struct number_map places; /* by block */
};
void stays_deinit(struct stays *stays);

/* The stay that an event ended, and the one that it began. */
struct stay_change {
    bool has_ended, has_begun;
    struct stay ended, begun;
};
struct stay_change stays_take(struct stays *stays, const struct export_event *event);

#endif
