/* Runs a recorded list again and judges it again. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "formats/export/export.h"
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

/* Finds fewer ops that end in the same finding. */

/* Texts belong to the caller. */
struct shrink_options {
    struct recording_options reading;
    const char *path;
    const char *output; /* NULL: standard output */
};

/* Searches until reading.run->duration_ns, and writes the list.  EXIT_BROKEN where the shorter list
 * shows the finding, or the list shows it only sometimes; otherwise the usual codes. */
enum exit_code replay_shrink(const struct shrink_options *options);

/* A file in another form: any format that is read becomes an op list, or the trace of what its run
 * does. */

/* Texts belong to the caller; NULL: not given. */
struct convert_options {
    struct recording_options reading;
    const char *path;
    const char *output; /* NULL: standard output */
    const char *at;     /* of a trace that shows one moment: "peak", "failure", or an op's number */
};

/* Writes the ops of the file, which must replay.  The usual codes. */
enum exit_code convert_to_ops(const struct convert_options *options);
/* Runs the file on its target in a process of its own, and writes what happened.  The code of the
 * run, or another one after one message. */
enum exit_code convert_to_trace(const struct convert_options *options,
                                const struct exporter *exporter);

#endif
