/* What a replay is made of: other schedules, the comparison with a log, proofs, and exporters. */
#ifndef REPLAY_PRIVATE_REPLAY_PARTS_H
#define REPLAY_PRIVATE_REPLAY_PARTS_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "formats/export/export.h"
#include "formats/formats.h"
#include "harness/base/writing.h"
#include "harness/run/observation_log.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"
#include "recording/block_events.h"
#include "recording/recording.h"

#include <stdbool.h>

/* replay --strategy: other schedules of a recorded list with lanes than the one that it has. */

/* Runs the list under schedule after schedule, until one does harm or all that were asked for are
 * done; says what that came to.  What breaks a promise is shrunk, each finding by itself, and kept
 * in run->out if that was said.  As replay's exit code. */
enum exit_code schedule_search_run(const char *path, const struct run_options *run,
                                   const struct recording *recording);

/* Compares what a log says with what a run of its ops saw: requests granted or refused, and the
 * byte counts that the log gives. */

enum { COMPARE_SHOWN_MAX = 20 };

/* One difference.  kind SAID_FAILED: the answer to a request; else a byte count. */
struct compare_difference {
    uint32_t op;
    enum said_kind kind;
    uint64_t log, run; /* bytes; SAID_FAILED: enum log_answer */
};
enum log_answer {
    COMPARE_GRANTED = 0,
    COMPARE_FAILED,  /* out of memory */
    COMPARE_REFUSED, /* another answer than either */
    COMPARE_SKIPPED, /* not asked: what it needs is not there */
    COMPARE_NOT_RUN  /* the run ended before it */
};

/* One comparison.  No pointers but to the recording: it may lie in memory that processes share. */
struct compare {
    const struct recording *recording;
    uint64_t requests, requests_differ; /* asked so far */
    uint64_t values, values_differ;     /* byte counts of the log that were compared */
    uint64_t ops;                       /* taken */
    uint64_t peak_bytes[OP_HOST_COUNT_MAX];
    uint32_t last_op;
    uint32_t first_op; /* of the first difference */
    size_t shown_count;
    struct compare_difference shown[COMPARE_SHOWN_MAX]; /* the first ones; shown_count of them */
};

/* recording must outlive it, and is from an import. */
void compare_init(struct compare *compare, const struct recording *recording);

/* To be called from a run_listener after each op; ops that the end of the run adds are left out.
 * O(log of what is said). */
void compare_take(struct compare *compare, const struct run *run);

/* To be called after the run: requests that were not reached differ, too. */
void compare_end(struct compare *compare);

/* The differences and the sums, for people, and as one JSON line of type "compare". */
void compare_text(const struct compare *compare, struct writing *text);
void compare_json(const struct compare *compare, struct writing *text);

/* Writes the folder of replay --certificates: the list as it was run, what it met, and the
 * certificate of each out-of-memory (docs/certificate.md). */

/* A file that grows. */
struct proof_file {
    const char *name;
    int descriptor;         /* -1: not open */
    struct writing waiting; /* whole lines */
    uint64_t length;        /* that is written */
};

struct replay_proofs {
    const char *directory; /* NULL: nothing is left */
    struct proof_file list, observations;
    struct observation_log *log;
    size_t op_count; /* in both files */
    char partial[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    bool is_failed; /* a message was given; nothing more is written */
};

/* Makes the folder before anything runs.  EXIT_KEPT, or another code after one message. */
enum exit_code replay_proofs_init(struct replay_proofs *proofs, const char *directory);
void replay_proofs_deinit(struct replay_proofs *proofs);

/* To be called after each op.  ops: what is replayed, with its schedule if it has lanes. */
void replay_proofs_take(struct replay_proofs *proofs, const struct run *run,
                        const struct op_list *ops);
/* Writes the certificate of the last op, and what was taken up to it.  Its path, valid until the
 * next; NULL: it cannot be written, which is told once. */
const char *replay_proofs_save(struct replay_proofs *proofs, const struct verdict *verdict,
                               const struct writing *certificate);
/* To be called after the last op.  False: something could not be written. */
bool replay_proofs_end(struct replay_proofs *proofs);

/* Connects a run to an exporter: listens to the run, and feeds the exporter with what became of
 * each block and what each op did. */

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
