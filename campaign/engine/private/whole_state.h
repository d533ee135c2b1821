/* A whole while it is made: what whole_make.c and whole_findings.c share. */
#ifndef CAMPAIGN_ENGINE_PRIVATE_WHOLE_STATE_H
#define CAMPAIGN_ENGINE_PRIVATE_WHOLE_STATE_H

#include "campaign/engine/result_line.h"
#include "campaign/engine/whole.h"

/* A line, and the trial that it is about. */
struct whole_line {
    struct result_line line;
    size_t shard, part;
    uint64_t trial, position; /* of the lines of its shard */
};

/* All lines about one trial, in order. */
struct whole_trial {
    const struct whole_line *lines; /* line_count of them, 1 or more */
    size_t line_count;
    size_t shard, part;
    uint64_t trial;
};

/* A verdict that waits to be shrunk in the whole, or that was shrunk. */
struct whole_entry {
    struct result_line
        line; /* of its shard, where it was only counted there; length 0: it was not */
    size_t shard;
    bool has_repro; /* its shard shrank it and has its files */
};

struct whole_findings {
    struct whole *whole;
    struct findings findings;
    /* those that wait; of one that its shard only counted there are task and signatures alone */
    struct shrink_queue queue;
    struct whole_entry *entries; /* as in the queue */
    size_t entry_capacity;
    uint64_t verdict_count;
    /* how many verdicts of each of its findings a shard has shown up to here: those of
     * shards[i].at->findings in their order, one shard behind the other */
    uint64_t *seen_counts;
};

void whole_findings_init(struct whole_findings *findings, struct whole *whole);
void whole_findings_deinit(struct whole_findings *findings);

/* Counts the findings of the trial, and appends their lines to whole->lines.  Returns whether one
 * of them is among the first of its signature, of which what the target printed is saved. */
bool whole_findings_take(struct whole_findings *findings, const struct whole_trial *trial);

/* After all trials: takes over how shrinking ended, and appends its lines.  The findings go to
 * whole->at. */
void whole_findings_end(struct whole_findings *findings);

#endif
