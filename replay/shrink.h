/* Finds fewer ops that end in the same finding. */
#ifndef REPLAY_SHRINK_H
#define REPLAY_SHRINK_H

#include "recording/recording.h"

/* Texts belong to the caller. */
struct shrink_options {
    struct recording_options reading;
    const char *path;
    const char *output; /* NULL: standard output */
};

/* Searches until reading.run->duration_ns, and writes the list.  EXIT_BROKEN where the shorter list
 * shows the finding, or the list shows it only sometimes; otherwise the usual codes. */
enum exit_code replay_shrink(const struct shrink_options *options);

#endif
