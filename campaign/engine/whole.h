/* A whole campaign from its shards: the lines, findings and files that one run of it would have
 * left.  A shard reports and saves more than the whole would, because what is first in a shard may
 * not be the first of all; this puts the trials into the order in which one run counts them and
 * takes its decisions again. */
#ifndef CAMPAIGN_ENGINE_WHOLE_H
#define CAMPAIGN_ENGINE_WHOLE_H

#include "campaign/engine/checkpoint.h"
#include "campaign/engine/output.h"
#include "harness/base/writing.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- numbers and findings, no files --- */

/* Makes *whole ready for shards of that many parts: nothing is counted yet, and all are finished.
 */
void campaign_join_begin(struct checkpoint *whole, size_t part_count);
/* Adds a shard. */
void campaign_join_add(struct checkpoint *whole, struct checkpoint *shard, size_t part_count);

/* --- a line of results.jsonl (result_line.c) --- */

/* A line of results.jsonl: its members as values, and its text, of which a copy changes paths
 * alone: a number comes out with the digits that it had. */

/* length bytes without the newline, which belong to somebody else; values is NULL until they are
 * read. */
struct result_line {
    const char *text;
    size_t length;
    json_t *values;
};

/* Reads the text as one object whose paths stand in it as we print them.  False: it is none, and
 * values stays NULL. */
bool result_line_read(struct result_line *line);
/* Releases the values. */
void result_line_forget(struct result_line *line);

/* These search a line that was read, and only its own members, not those nested inside them.  The
 * number is below 2^63; the text belongs to the line.  False or NULL: there is none. */
bool result_line_find_number(const struct result_line *line, const char *key, uint64_t *number);
const char *result_line_find_text(const struct result_line *line, const char *key);
/* True if that member is the string `string`. */
bool result_line_has(const struct result_line *line, const char *key, const char *string);

/* FOLDER/FILE, the end of the path in that member; "" where there is none or it is longer. */
void result_line_find_saved(const struct result_line *line, const char *key, char *name,
                            size_t name_bytes);

/* Appends the line with its newline.  The members repro, certificate, kept and output name the same
 * FOLDER/FILE in directory.  Members among dropped (ends with NULL) are left out. */
void result_line_copy(const struct result_line *line, const char *directory,
                      const char *const *dropped, struct writing *to);

/* --- the whole --- */

/* A directory that comes in. */
struct whole_shard {
    const char *directory;
    struct campaign_description description;
    struct checkpoint at;
    struct writing lines; /* of results.jsonl, as long as at.state says; ends with a newline */
    /* how many verdicts of each of at.findings it has shown up to here */
    uint64_t *seen_counts;
};

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

/* The whole that the shards become. */
struct whole {
    const char *directory;      /* that comes out: paths in the lines are below it */
    struct whole_shard *shards; /* shard_count of them, in the order of their indexes; owned */
    size_t shard_count;
    struct campaign_description description; /* arrays: of the first shard */
    /* joined (campaign_join_add); whole_make() replaces its findings, and what was only counted,
     * where they are exact */
    struct checkpoint at;
    struct output output; /* gets the lines, except for the last ones, which a report makes */

    bool is_exact;             /* the findings are those of one run, see whole_make() */
    struct whole_line *sorted; /* sorted_count lines in the order of one run; owned */
    size_t sorted_count, sorted_capacity;
    struct writing lines;   /* those that wait for output */
    struct writing dropped; /* FOLDER/FILE of files that the whole would not have, each with its
                               NUL */
    /* as one run counts them: whole_findings.c */
    struct findings findings;
    /* those that wait; of one that its shard only counted there are task and signatures alone */
    struct shrink_queue queue;
    struct whole_entry *entries; /* as in the queue */
    size_t entry_capacity;
    uint64_t verdict_count;
};

/* Reads the lines of the shards, which are there.  Returns NULL, or the shard of which a line is
 * none of ours.  whole_deinit() in both cases. */
const struct whole_shard *whole_read(struct whole *whole);
void whole_deinit(struct whole *whole);
/* After whole_read(): true if the lines are in the order of one run, and of parts that exist. */
bool whole_invariants_hold(const struct whole *whole);

/* Writes the lines, and changes at.  The findings are exact if all shards are there and ended, and
 * each verdict is repeated by its own list; otherwise they stay joined.  Beyond the first three
 * verdicts of a signature, a shard has not shrunk each that one run would have: then these are only
 * counted. */
void whole_make(struct whole *whole);

/* True if the whole has that file of a shard; the file belongs to no finding. */
bool whole_has(const struct whole *whole, const char *name);
/* The shard whose files of that finding the whole has; NULL: findings are not exact. */
const struct whole_shard *whole_source(const struct whole *whole, const struct finding *finding);

/* --- whole_findings.c --- */

/* Counts the findings of the trial, and appends their lines to whole->lines.  Returns whether one
 * of them is among the first of its signature, of which what the target printed is saved. */
bool whole_take_findings(struct whole *whole, const struct whole_trial *trial);

/* After all trials: takes over how shrinking ended, and appends its lines.  The findings go to
 * whole->at. */
void whole_end_findings(struct whole *whole);

#endif
