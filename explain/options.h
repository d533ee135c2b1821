/* What is to be explained, and how. */
#ifndef EXPLAIN_OPTIONS_H
#define EXPLAIN_OPTIONS_H

#include "recording/recording.h"

/* Texts belong to the caller; NULL: not given. */
struct explain_options {
    struct recording_options reading;
    const char *paths[2]; /* the file; and one that it is compared with */
    const char *svg, *what_if_out, *checkpoint_tags;
    uint64_t alarm_percent; /* 1..100, of a device; 0: not given */
    bool is_json, has_what_if, has_timeline;
    bool changes_setup; /* the run is on another target or device than that of the file */
};

#endif
