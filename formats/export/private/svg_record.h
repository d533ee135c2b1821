/* The record from which a picture of a run is drawn, gathered while the run goes on. */
#ifndef FORMATS_EXPORT_PRIVATE_SVG_RECORD_H
#define FORMATS_EXPORT_PRIVATE_SVG_RECORD_H

#include "formats/export/export.h"
#include "formats/export/private/stays.h"
#include "harness/base/writing.h"

/* Points of a curve; each stands for as many ops as are needed so that all of them suffice. */
enum { SVG_POINT_COUNT_MAX = 1024 };

/* Times in what follows count ops in the order in which they were told. */

enum svg_value { SVG_STACK, SVG_IN_USE, SVG_QUEUED, SVG_HOLE, SVG_VALUE_COUNT };
struct svg_point {
    uint64_t values[SVG_VALUE_COUNT]; /* the most within it; of the largest hole, the least */
};
struct svg_curve {
    struct svg_point points[SVG_POINT_COUNT_MAX];
    uint64_t queued_bytes; /* now */
};

struct svg_rect {
    struct stay stay; /* its begin_op is a time */
    uint64_t end;
    bool is_needed; /* it is near the failure that the picture is about */
};
struct svg_move {
    uint64_t time, from, to, size_bytes;
    uint8_t host;
    bool is_whole; /* it arrived */
};
struct svg_failure {
    uint64_t time, requested_bytes;
    uint32_t op;
    uint8_t host;
    enum verdict_kind verdict;
};

struct svg_record {
    const struct setup *setup;
    const char *source;
    struct stays stays;
    struct svg_rect *rects; /* rect_count of them, as they ended */
    size_t rect_count, rect_room;
    struct svg_move *moves; /* move_count of them */
    size_t move_count, move_room;
    struct number_map under_way;  /* moves by block */
    struct svg_failure *failures; /* failure_count of them */
    size_t failure_count, failure_room;
    struct svg_curve *curves; /* by host */
    uint64_t ops_per_point, time;
};

enum { SVG_HOST_COUNT_MAX = 8 };

/* The part of a run that is drawn, if a picture has no room for all of it. */
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

/* Appends the picture.  It may reorder and drop what the record has. */
void svg_draw(struct svg_record *record, struct writing *text);

#endif
