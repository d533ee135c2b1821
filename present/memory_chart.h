/* Memory over time for people and programs: a line for each device, as tpu-info shows it, with its
 * history. */
#ifndef PRESENT_MEMORY_CHART_H
#define PRESENT_MEMORY_CHART_H

#include "harness/base/writing.h"
#include "present/memory_track.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One device (a host of a list), or one job of a campaign. */
struct memory_device {
    const char *name;                  /* any text; it is made visible */
    const struct memory_track *track;  /* at least one point */
    const int64_t *bytes_per_1000_ops; /* by which it grows, where that was judged by each op; NULL:
                                          the points of the track decide */
};

/* How it is drawn. */
struct memory_chart {
    unsigned width;   /* columns of a terminal, > 0; lines are cut there.  0 = no terminal: whole
                         lines without  any escape sequence */
    bool has_colour;  /* only on a terminal */
    bool is_indented; /* below a heading: two columns, but for the alarm */
    unsigned alarm_percent; /* of the capacity, 1..100; 0 = no alarm */
};

/* "18.45 GiB": to the nearest hundredth, as tpu-info and the runtime's messages, in the unit of
 * whole_bytes (GiB; of a small device MiB, KiB, B). */
enum { MEMORY_TEXT_BYTES = 40 };
void memory_print(uint64_t bytes, uint64_t whole_bytes, char text[MEMORY_TEXT_BYTES]);

/* The fullest moment filled that much of its device, or more. */
bool memory_is_alarming(const struct memory_track *track, unsigned alarm_percent);

/* Appends a line with what is in use now of what there is, a bar and the peak, and one with a
 * sparkline and the trend; where there is an alarm a third one, which begins with "ALARM".  Returns
 * the lines. */
size_t memory_chart_draw(const struct memory_chart *chart, const struct memory_device *device,
                         struct writing *text);

/* The same as one JSON line:
 * {"type":"memory","name":...,"used_bytes":...,"capacity_bytes":...,"peak_bytes":...,
 * "peak_op":...,"trend_bytes_per_1000_ops":...,"alarm":true|false,"points":[[op_count,used_bytes,capacity_bytes],...]}.
 * Nothing in it depends on the width; the trend is left out where there is none, alarm without
 * alarm_percent. */
void memory_chart_json(const struct memory_chart *chart, const struct memory_device *device,
                       struct writing *text);

#endif
