/* Runs a recorded list again and judges it again. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "recording/recording.h"

/* Texts belong to the caller; NULL and 0: not given. */
struct replay_options {
    struct recording_options reading;
    const char *path;
    const char *const *after; /* after_count lists that run first, in the same process */
    size_t after_count;
    const char *certificates; /* a folder */
    uint64_t replay_count;    /* how often it is run, to compare */
    bool has_compare;         /* path is a log, which the run is compared with */
};

/* Runs, judges and prints; with a strategy of reading.run searches other schedules instead.  The
 * usual codes. */
enum exit_code replay_run(const struct replay_options *options);

#endif
