/* A whole campaign from its shards: the lines, findings and files that one run of it would have
 * left.  A shard reports and saves more than the whole would, because what is first in a shard may
 * not be the first of all; this puts the trials into the order in which one run counts them and
 * takes its decisions again. */
#ifndef CAMPAIGN_ENGINE_WHOLE_H
#define CAMPAIGN_ENGINE_WHOLE_H

#include "campaign/engine/checkpoint.h"
#include "campaign/engine/output.h"
#include "harness/base/writing.h"

#include <stdbool.h>

/* Joins what several shards of one campaign counted and found, as a run of the whole would have it:
 * numbers and findings, no files. */

/* Makes *whole ready for shards of that many parts: nothing is counted yet, and all are finished.
 */
void campaign_join_begin(struct checkpoint *whole, size_t part_count);
/* Adds a shard. */
void campaign_join_add(struct checkpoint *whole, struct checkpoint *shard, size_t part_count);

/* A shard as it was read; the whole only looks at it. */
struct whole_shard {
    const struct campaign_description *description;
    const struct checkpoint *at;
    struct writing lines; /* of results.jsonl, as long as at->state says; ends with a newline */
};

/* The whole that the shards become. */
struct whole {
    const char *directory;            /* paths in the lines are below it */
    const struct whole_shard *shards; /* shard_count of them, in the order of their indexes */
    size_t shard_count;
    /* joined (campaign_join_add); whole_make() replaces its findings, and what was only counted,
     * where they are exact */
    struct checkpoint *at;
    struct output *output; /* gets the lines, except for the last ones, which a report makes */

    bool is_exact;             /* the findings are those of one run, see whole_make() */
    struct whole_line *sorted; /* sorted_count lines in the order of one run; owned */
    size_t sorted_count, sorted_capacity;
    struct writing lines;   /* those that wait for output */
    struct writing dropped; /* FOLDER/FILE of files that the whole would not have, each with its
                               NUL */
};

/* Reads the lines of the shards; whole has its first members.  Returns NULL, or the shard of which
 * a line is none of ours.  whole_deinit() in both cases. */
const struct whole_shard *whole_read(struct whole *whole);
void whole_deinit(struct whole *whole);
/* After whole_read(): true if the lines are in the order of one run, and of parts that exist. */
bool whole_invariants_hold(const struct whole *whole);

/* Writes the lines, and changes *at.  The findings are exact if all shards are there and ended, and
 * each verdict is repeated by its own list; otherwise they stay joined.  Beyond the first three
 * verdicts of a signature, a shard has not shrunk each that one run would have: then these are only
 * counted. */
void whole_make(struct whole *whole);

/* True if the whole has that file of a shard; the file belongs to no finding. */
bool whole_has(const struct whole *whole, const char *name);
/* The shard whose files of that finding the whole has; NULL: findings are not exact. */
const struct whole_shard *whole_source(const struct whole *whole, const struct finding *finding);

#endif
