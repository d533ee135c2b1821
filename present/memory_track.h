/* How much memory was in use over a run of unknown length, in a fixed number of points: what a
 * campaign keeps of each of its jobs, and what a list leaves of each host. */
#ifndef PRESENT_MEMORY_TRACK_H
#define PRESENT_MEMORY_TRACK_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_TRACK_POINT_COUNT_MAX = 64 };

/* The most that was in use between the point before, not included, and op_count. */
struct memory_point {
    uint64_t op_count;
    uint64_t used_bytes;
    uint64_t capacity_bytes; /* of the device then: the trials of a job need not have the same */
};

/* A plain value; all zero = nothing was added.  points are in the order of their op_count, which
 * grows strictly. */
struct memory_track {
    uint64_t point_count, added_count;
    uint64_t stride, open_count; /* samples in a point, and in the last one */
    struct memory_point last;    /* as it was added */
    struct memory_point peak;    /* with the most bytes in use, the first of equals */
    struct memory_point fullest; /* that filled the largest share of its device, the first of
                                    equals; another one than the peak where devices differ */
    struct memory_point points[MEMORY_TRACK_POINT_COUNT_MAX];
};

/* sample.op_count is at least that of the sample before, capacity_bytes > 0.  When there is no room
 * for one more point two neighbours become one, and from then on a point stands for twice as many
 * samples.  O(1) on the average. */
void memory_track_add(struct memory_track *track, struct memory_point sample);

/* used_bytes in hundredths of a percent of the capacity, the rest cut off; more than 10000 when
 * more was in use than there is. */
uint64_t memory_share(const struct memory_point *point);

/* Whether it fills a larger share of its device than the other, by a byte if need be. */
bool memory_is_fuller(const struct memory_point *point, const struct memory_point *than);

/* *slope: bytes per 1000 ops by which use grows (harness/base/trend.h), 0 where it does not.
 * False, and *slope untouched, with fewer than 3 points, and where the device is not the same in
 * all of them.  O(points^2). */
bool memory_trend(const struct memory_track *track, int64_t *slope);

#endif
