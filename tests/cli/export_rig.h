/* What the tests of exports share: a list is run, what became of its blocks is told, and goes out
 * in a format. */
#ifndef TESTS_CLI_EXPORT_RIG_H
#define TESTS_CLI_EXPORT_RIG_H

#include "replay/private/replay_parts.h"

/* One run with everything that was told of it. */
struct told {
    struct block_events *block_events;
    struct export_event *events;
    size_t count;
    struct export_feed feed; /* its exporter is NULL: none is fed */
    size_t length;           /* of what was written */
};

/* A list in which everything happens that can become of a block. */
extern const char told_list[];

/* exporter may be NULL; stream is where it writes.  Each told that is initialised is deinitialised.
 */
void told_init(struct told *told, const struct exporter *exporter, FILE *stream);
void told_deinit(struct told *told);
/* Of a run_listener; context is the told. */
void told_judged(void *context, const struct run *run, const struct verdict *verdict);
/* Writes the end of the run, and closes the stream. */
void told_finish(struct told *told, const struct trial *trial);

/* Runs the text of a list, initialises *told, and gives what the exporter wrote, told->length bytes
 * and a NUL; the caller frees. */
char *told_export(const char *ops, const struct exporter *exporter, struct told *told);

#endif
