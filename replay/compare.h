/* Compares what a log says with what a run of its ops saw: requests granted or refused, and the
 * byte counts that the log gives. */
#ifndef REPLAY_COMPARE_H
#define REPLAY_COMPARE_H

#include "formats/formats.h"
#include "harness/base/writing.h"
#include "recording/recording.h"

enum { COMPARE_SHOWN_MAX = 20 };

/* One difference.  kind SAID_FAILED: the answer to a request; else a byte count. */
struct compare_difference {
    uint32_t op;
    enum said_kind kind;
    uint64_t log, run; /* bytes; SAID_FAILED: enum compare_answer */
};
enum compare_answer {
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

#endif
