/* The collectives of a run: executions that start together, on every host of their group.
 *
 * A host joins a group once for each of its executions there, in their order: the n-th of each
 * member are one collective.  It starts when the last member joined, by whichever clock is last. */
#ifndef HARNESS_DEVICE_COLLECTIVES_H
#define HARNESS_DEVICE_COLLECTIVES_H

#include "harness/op/setup.h"

struct timeline;

/* A collective that not all of its members have joined.  Its events may be over already: its
 * members wait no longer than the bound. */
struct collective {
    uint16_t group;
    uint64_t members, joined; /* bit per host */
    struct collective_member {
        uint64_t event, delay_ns, joined_ns; /* joined_ns: by its host's clock */
    } hosts[OP_HOST_COUNT_MAX];              /* by host: of those that joined */
};

struct collectives;
/* setup outlives it, and is complete; timelines: of setup->host_count hosts, which outlive it, too.
 */
struct collectives *collectives_create(const struct setup *setup,
                                       struct timeline *const *timelines);
void collectives_destroy(struct collectives *collectives); /* NULL: nothing */

/* The host's pending event is an execution of the group, enqueued now: it is due delay_ns after the
 * last member joined, or at the bound.  A host that is no member is alone in a collective of its
 * own.  O(open collectives). */
void collectives_join(struct collectives *collectives, uint64_t event, uint16_t group,
                      uint32_t host, uint64_t delay_ns);

/* The collectives that wait for a member, in the order in which they were begun. */
size_t collectives_open_count(const struct collectives *collectives);
const struct collective *collectives_open_at(const struct collectives *collectives, size_t index);
/* The open collective in which this event waits; NULL: none. */
const struct collective *collectives_open_of(const struct collectives *collectives, uint64_t event);

#endif
