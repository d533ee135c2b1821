/* Virtual time and its events: of a whole run, shared by its devices, or of each host. */
#ifndef HARNESS_DEVICE_TIMELINE_H
#define HARNESS_DEVICE_TIMELINE_H

#include "harness/op/op.h"

/* Every timeline begins with them: they are read at each op, where a call would cost more than what
 * it returns. */
struct timeline_counts {
    uint64_t now_ns;
    uint64_t completed_count; /* events that completed, in order, ever */
    size_t pending_count;
};
struct timeline;
static inline const struct timeline_counts *timeline_counts(const struct timeline *timeline)
{
    return (const struct timeline_counts *)(const void *)timeline;
}
static inline uint64_t timeline_now_ns(const struct timeline *timeline)
{
    return timeline_counts(timeline)->now_ns;
}
static inline uint64_t timeline_completed_count(const struct timeline *timeline)
{
    return timeline_counts(timeline)->completed_count;
}
static inline size_t timeline_pending_count(const struct timeline *timeline)
{
    return timeline_counts(timeline)->pending_count;
}

struct timeline *timeline_create(void);
/* Another clock of the same run: its events are others, and no two events of a run have one id.
 * What one of these timelines added is unknown to the others.  At most 64 share an origin. */
struct timeline *timeline_create_beside(struct timeline *timeline);
void timeline_destroy(struct timeline *timeline); /* NULL: nothing */

/* Events.  An event is named by the op that made it: id = op number + 1, never 0. */
enum event_state { EVENT_UNKNOWN = 0, EVENT_PENDING, EVENT_DONE };
/* Makes an event that completes delay_ns from now (DELAY_NEVER: lost). */
void timeline_add(struct timeline *timeline, uint64_t event, uint64_t delay_ns);
/* Adds an event in the same way, but on a stream, 0..63: it completes after all events that were
 * enqueued there before it.  Whoever completes one completes those too; one that is late or lost
 * delays all later ones.  O(pending). */
void timeline_enqueue(struct timeline *timeline, uint64_t event, uint32_t stream,
                      uint64_t delay_ns);
/* Takes back the event that was added last: it is done, and completes no other. */
void timeline_cancel(struct timeline *timeline, uint64_t event);
/* Returns the event's stream; 0 = it is on none, too, or nobody knows the event. */
uint32_t timeline_stream(const struct timeline *timeline, uint64_t event);
/* Returns the pending event of the stream that was enqueued last; 0 = there is none.  O(pending).
 */
uint64_t timeline_last_enqueued(const struct timeline *timeline, uint32_t stream);
/* A pending event that was added as lost now gets its due time, delay_ns from now. */
void timeline_start(struct timeline *timeline, uint64_t event, uint64_t delay_ns);
/* Starts it in the same way, at a time that may be past: it completes then at once. */
void timeline_start_at(struct timeline *timeline, uint64_t event, uint64_t due_ns);
/* Somebody was told that no wait brings the pending event, which is due never: it stays so, even
 * where it is of a collective that starts later.  One that is not started yet is due when it is. */
void timeline_give_up(struct timeline *timeline, uint64_t event);
/* A pending event is due delay_ns later than it was (DELAY_NEVER: lost, even when its collective
 * goes on). */
void timeline_postpone(struct timeline *timeline, uint64_t event, uint64_t delay_ns);
/* Returns which other pending event, not lost, is due last, and of several the highest id; 0 =
 * there is none.  O(pending). */
uint64_t timeline_last_due(const struct timeline *timeline, uint64_t event);
/* Completes all of those now, in the order in which they were due. */
void timeline_complete_others(struct timeline *timeline, uint64_t event);
enum event_state timeline_state(const struct timeline *timeline, uint64_t event);
/* When it completes if nothing else happens; DELAY_NEVER when lost.  Only for pending events. */
uint64_t timeline_due_ns(const struct timeline *timeline, uint64_t event);
/* Completes it now.  No effect when it is not pending. */
void timeline_complete(struct timeline *timeline, uint64_t event);
/* Lets time pass; events complete in the order of their due times, then of their ids. */
void timeline_advance(struct timeline *timeline, uint64_t delay_ns);
/* Pending events, for choosing one: index < timeline_pending_count; order is deterministic. */
uint64_t timeline_pending_at(const struct timeline *timeline, size_t index);
/* Events that completed: index < timeline_completed_count. */
uint64_t timeline_completed_at(const struct timeline *timeline, uint64_t index);
/* Returns how many events of all timelines of the run completed. */
uint64_t timeline_completed_beside(const struct timeline *timeline);
/* Nobody needed to see what completed from that index on: as if no waiting would have done it. */
void timeline_excuse(struct timeline *timeline, uint64_t index);
/* For an event that is done: its index there, and whether no waiting would have completed it. */
uint64_t timeline_completed_index(const struct timeline *timeline, uint64_t event);
bool timeline_was_lost(const struct timeline *timeline, uint64_t event);

#endif
