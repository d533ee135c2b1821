/* Connects a run to an exporter: listens to the run, and feeds the exporter with what became of
 * each block and what each op did. */
#ifndef REPLAY_EXPORT_FEED_H
#define REPLAY_EXPORT_FEED_H

#include "formats/export/export.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"
#include "recording/block_events.h"

struct export_feed {
    const struct exporter *exporter;
    struct export export; /* stream, source and moment are the caller's to set */
    struct block_events *block_events;
    struct setup setup; /* of the run */
    uint64_t event_count;
    int error; /* errno of the first write that failed; 0: none did */
    bool has_begun, is_good;
};

/* False: no host memory.  Ends with export_feed_deinit, in either case. */
bool export_feed_init(struct export_feed *feed, const struct exporter *exporter);
void export_feed_deinit(struct export_feed *feed);

/* The function of a run_listener; context is the feed. */
void export_feed_judged(void *context, const struct run *run, const struct verdict *verdict);

/* After the run: writes its end.  False: no host memory, now or before. */
bool export_feed_finish(struct export_feed *feed, const struct trial *trial);

#endif
