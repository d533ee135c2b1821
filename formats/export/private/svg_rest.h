/* What a map has no room for: shades, by how much of each part is taken. */
#ifndef FORMATS_EXPORT_PRIVATE_SVG_REST_H
#define FORMATS_EXPORT_PRIVATE_SVG_REST_H

#include "formats/export/private/svg_record.h"
#include "harness/base/svg.h"

#include <stddef.h>

/* Draws the rectangles of the record from number `first` on, those of one host, as at most 2,880
 * boxes in the map: of the classes rest, and r1 (a quarter is taken) to r4 (all of it). */
void svg_draw_rest(const struct svg_record *record, size_t first, uint32_t host,
                   const struct svg_box *map, struct writing *svg);

#endif
