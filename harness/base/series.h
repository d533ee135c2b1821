/* Memory in use over any number of units, each an op or a step of a job, in bounded memory. */
#ifndef HARNESS_BASE_SERIES_H
#define HARNESS_BASE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_SLOT_COUNT_MAX = 4096 }; /* even */

/* The least and the most that was in use, and which of them came first. */
struct series_slot {
    uint64_t floor_bytes, top_bytes;
    bool is_floor_first;
};

/* A plain value of 96 KiB; all zero = nothing was added.  When the slots are full every two become
 * one, and from then on a slot stands for twice as many units; the last one may not be full. */
struct series {
    size_t count;
    uint64_t unit_count, slot_units; /* slot_units: of a slot; 0 as long as count is */
    struct series_slot slots[SERIES_SLOT_COUNT_MAX];
};

/* Another unit, with that many bytes in use.  O(1) on the average. */
void series_add(struct series *series, uint64_t bytes);
/* Adds a value to the last unit: a step has many ops.  The series has at least one unit. */
void series_widen(struct series *series, uint64_t bytes);

#endif
