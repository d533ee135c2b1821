/* Memory in use over a run as a small picture, in SVG: what `watch` prints as a line of blocks. */
#ifndef PRESENT_PAGE_SPARKLINE_H
#define PRESENT_PAGE_SPARKLINE_H

#include "harness/base/writing.h"
#include "present/memory_track.h"

/* Appends it: the share of the device that was in use, by op; the top is a full device, and its
 * peak is marked.  Nothing without points. */
void sparkline_draw(struct writing *html, const struct memory_track *track);

#endif
