/* A file in another form: any format that is read becomes an op list, or the trace of what its run
 * does. */
#ifndef REPLAY_CONVERT_H
#define REPLAY_CONVERT_H

#include "formats/export/export.h"
#include "recording/recording.h"

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
