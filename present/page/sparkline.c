#include "present/page/sparkline.h"

#include <inttypes.h>

enum { WIDTH = 240, HEIGHT = 32, FULL = 10000 };

static unsigned scale_op(const struct memory_track *track, uint64_t op_count)
{
    const uint64_t first = track->points[0].op_count;
    const uint64_t last = track->points[track->point_count - 1].op_count;
    if (last == first) {
        return WIDTH / 2;
    }
    const uint64_t at = op_count < first ? first : op_count > last ? last : op_count;
    return (unsigned)((double)(at - first) / (double)(last - first) * WIDTH);
}

static unsigned scale_share(const struct memory_point *point)
{
    const uint64_t share = memory_share(point);
    return HEIGHT - (unsigned)((share < FULL ? share : FULL) * HEIGHT / FULL);
}

void sparkline_draw(struct writing *html, const struct memory_track *track)
{
    if (track->point_count == 0) {
        return;
    }
    const uint64_t peak = memory_share(&track->peak);
    writing_append_format(html,
                          "<svg class=\"sparkline\" role=\"img\" width=\"%u\" height=\"%u\" "
                          "viewBox=\"-3 -3 %u %u\"><title>in use over the ops of the job, %" PRIu64
                          " points; the peak is %" PRIu64 " %% of the device</title>"
                          "<path d=\"M0 0H%uM0 %uH%u\" stroke=\"currentColor\" "
                          "stroke-opacity=\".3\"/><polyline fill=\"none\" stroke=\"currentColor\" "
                          "points=\"",
                          WIDTH + 6, HEIGHT + 6, WIDTH + 6, HEIGHT + 6, track->point_count,
                          peak / (FULL / 100), WIDTH, HEIGHT, WIDTH);
    for (uint64_t i = 0; i < track->point_count; i++) {
        writing_append_format(html, "%s%u,%u", i == 0 ? "" : " ",
                              scale_op(track, track->points[i].op_count),
                              scale_share(&track->points[i]));
    }
    writing_append_format(html,
                          "\"/><circle cx=\"%u\" cy=\"%u\" r=\"3\" fill=\"currentColor\"/></svg>",
                          scale_op(track, track->peak.op_count), scale_share(&track->peak));
}
