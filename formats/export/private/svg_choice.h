/* What of a run is drawn, where a picture has no room for all of it. */
#ifndef FORMATS_EXPORT_PRIVATE_SVG_CHOICE_H
#define FORMATS_EXPORT_PRIVATE_SVG_CHOICE_H

#include "formats/export/private/svg_record.h"

enum { SVG_HOST_COUNT_MAX = 8 };

struct svg_choice {
    const struct svg_failure *about;    /* the failure that it is about; NULL: there is none */
    uint32_t hosts[SVG_HOST_COUNT_MAX]; /* that are drawn: host_count of them */
    uint32_t host_count;
    size_t rect_count, move_count; /* of the record: the first are drawn */
    size_t whole_move_count;       /* that might be */
    bool is_whole_near;            /* all rectangles near the failure are drawn */
};

/* Brings what is drawn to the front of the record's rectangles and moves, and drops rectangles of
 * hosts that are not drawn. */
struct svg_choice svg_choose(struct svg_record *record);

#endif
