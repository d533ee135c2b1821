/* OUT/campaign and OUT/checkpoint: what a campaign leaves behind, at every moment, so that another
 * process can go on with it after any end, or join it with others.  OUT/campaign says once which
 * campaign it is; OUT/checkpoint says where it stands and is replaced as a whole.  Both are for the
 * program that wrote them: another build refuses them. */
#ifndef CAMPAIGN_ENGINE_CHECKPOINT_H
#define CAMPAIGN_ENGINE_CHECKPOINT_H

#include "campaign/base/message.h"
#include "campaign/engine/findings.h"
#include "campaign/plan/run_options.h"
#include "campaign/trials/trials.h"
#include "harness/base/writing.h"
#include "present/memory_track.h"
#include "present/report.h"

/* --- what is kept, as plain values: which campaign it is, and where it stands --- */

enum { PART_FAULTS_BYTES = 320, PART_HOW_BYTES = 96 };

/* The output of a target is saved for the first trials of each part, which show what it usually
 * prints.  It is also saved for the first verdicts of each finding, as many as are shrunk. */
enum { OUTPUT_TRIAL_COUNT = 3, OUTPUT_VERDICT_COUNT = 3 };

/* One part of the plan. */
struct campaign_part {
    char name[SETUP_NAME_BYTES];
    char note[RUN_REASON_BYTES];    /* why it does not run */
    char how[PART_HOW_BYTES];       /* what would make it run; "" = nothing is known */
    char faults[PART_FAULTS_BYTES]; /* slipped into its trials, in words */
    uint64_t fault_period;          /* as in struct part */
    char trace[TRACE_PATH_BYTES];   /* its file; "" = the part runs a scenario */
    char job[TRACE_PATH_BYTES];     /* the job file with its section; "" = there is none */
    uint64_t job_line;              /* of that section */
    struct setup setup;             /* its scenario is setup.scenario */
    uint64_t op_count_max, trial_count_max, duration_ns;
    /* trial i of the whole campaign counts in the round first_round + stride * (i - head_start +
     * 1), those below head_start in first_round */
    uint64_t first_round, head_start, stride;
    struct report_lanes lanes;
};

/* The campaign to which a state belongs. */
struct campaign_head {
    struct setup setup;   /* what was said for all parts, with the seed */
    uint64_t duration_ns; /* UINT64_MAX = not bounded */
    uint64_t replay_sample;
    uint64_t plan_digest; /* of all that decides which trials are run, shards aside */
    uint64_t shard_index, shard_count;
    uint64_t part_count, argument_count;
    uint64_t has_canary, requires_probes;
    struct allowance allowance;
    char seed_source[SEED_SOURCE_BYTES]; /* "" = it was said, or drawn */
};
struct campaign_description {
    struct campaign_head head;
    struct campaign_part *parts; /* head.part_count of them */
    /* head.argument_count texts, each with its NUL: the words after "run" */
    struct writing arguments;
};

/* The state of a part. */
struct part_state {
    struct trials_progress progress;
    struct run_totals totals;
    uint64_t trials, elapsed_ns;
    uint64_t findings_only_counted;
    uint64_t unknown_saved, justified_saved; /* files of its OOMs */
    uint64_t look_count,
        growing_count;    /* trials long enough to see a tag grow; those that ended with one */
    struct growth growth; /* the largest */
    char growing_tag[SETUP_NAME_BYTES];
    uint64_t growth_trial, note_trial; /* the numbers of the trials that these are of */
    /* a sample is the fullest moment of one trial, at the ops of all up to it */
    struct memory_track memory;
    char note[RUN_REASON_BYTES + 64]; /* why it ended early; "" = it did not */
};

/* The state of the campaign, without parts and findings. */
struct campaign_state {
    struct report_end end; /* of the jobs; elapsed_ns over all its processes */
    struct trials_mark mark;
    uint64_t results_bytes; /* of results.jsonl */
    uint64_t queue_bytes;   /* of these, the lines before those of the queue; 0 = not told yet */
    uint64_t limited_bytes; /* of these, lines that --results-limit bounds */
    uint64_t certificate_count;
    uint64_t verdict_count; /* on broken promises: their order */
    uint64_t canary_trials;
    uint64_t is_canary_reported, is_disputed, is_finished;
    uint64_t is_queue_told; /* results.jsonl has the lines of the queue */
};
struct checkpoint {
    struct campaign_state state;
    struct part_state *parts; /* one per part of the description */
    struct findings findings;
    struct shrink_queue queue;
    /* the files of OOMs and disputes, "FOLDER/FILE" in OUT, each with its NUL */
    struct writing saved_files;
};

/* --- the files --- */

void campaign_description_deinit(struct campaign_description *description);
void checkpoint_deinit(struct checkpoint *checkpoint);
/* True if each part, the findings and the queue have values that could be read back. */
bool checkpoint_invariants_hold(const struct checkpoint *checkpoint,
                                const struct campaign_description *description);

/* The files as bytes: what is saved, and the head of such bytes made good for what follows it. */
void campaign_description_print(const struct campaign_description *description,
                                struct writing *bytes);
void checkpoint_print(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, struct writing *bytes);
void checkpoint_seal(struct writing *bytes);

/* Replaces the file in directory, which may not be on the disk yet.  False: errno says why. */
bool campaign_description_save(const struct campaign_description *description,
                               const char *directory);
/* Saves the state in two steps, with time between them to force the files that it names to the
 * disk: as CHECKPOINT_STAGED_NAME in directory, then under its own name. */
#define CHECKPOINT_STAGED_NAME "checkpoint.partial"
bool checkpoint_stage(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, const char *directory);
bool checkpoint_commit(const char *directory);
/* The file under the other name goes, if it is there. */
void checkpoint_unstage(const char *directory);

/* Removes what another campaign left there: from now on nobody can go on with it. */
void checkpoint_forget(const char *directory);

/* The reverse of print, for bytes that may come from a stranger: each field is looked at
 * (below).  NULL, or why not, perhaps in reason.  The caller deinits in any case. */
enum { CHECKPOINT_REASON_BYTES = 128 };
const char *campaign_description_parse(const struct writing *bytes,
                                       struct campaign_description *description,
                                       char reason[CHECKPOINT_REASON_BYTES]);
const char *checkpoint_parse(const struct writing *bytes,
                             const struct campaign_description *description,
                             struct checkpoint *checkpoint, char reason[CHECKPOINT_REASON_BYTES]);

/* Reads both; the caller deinits both in any case.  EXIT_KEPT, or EXIT_USAGE after one message: no
 * campaign is there, it is another build's, it is a link, or it is damaged. */
enum exit_code checkpoint_load(const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint);

/* --- checkpoint_check.c: whether values that were read can be --- */

/* Their folder may come from a stranger.  What is accepted fires no CHECK later, whatever is done
 * with it.  Each returns NULL, or the field that cannot be.  Nothing of it was looked at before but
 * part_count, which counts the parts. */
const char *checkpoint_check_description(const struct campaign_description *description);
/* Findings, queue and files as well; description was accepted. */
const char *checkpoint_check_state(const struct checkpoint *checkpoint,
                                   const struct campaign_description *description);

/* The folders that campaigns write; ends with NULL.  A name of saved_files is "FOLDER/FILE" in one.
 */
extern const char *const checkpoint_folders[];

/* The files of a campaign's folder that may come from a stranger, looked at before any is copied or
 * written to: those that its checkpoint names, results.jsonl, and the folders below. */

/* Calls visit for each file that the checkpoint names, as "FOLDER/FILE": of findings, and others.
 * finding is NULL for these.  Stops at the first code that is not EXIT_KEPT and returns it. */
struct campaign_folder_visitor {
    enum exit_code (*visit)(void *context, const char *name, const struct finding *finding);
    void *context;
};
enum exit_code campaign_folder_walk(const struct checkpoint *at,
                                    const struct campaign_folder_visitor *visitor);

/* EXIT_KEPT; or EXIT_USAGE after one message: a file that is there is a link or no regular file, or
 * results.jsonl is missing or shorter than the checkpoint says. */
enum exit_code campaign_folder_check(const char *directory, const struct checkpoint *at);

#endif
