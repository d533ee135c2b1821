/* A search for schedules, as its parts share it: the search (schedule_search.c) and what becomes of
 * its findings (schedule_search_findings.c). */
#ifndef REPLAY_PRIVATE_SCHEDULE_SEARCH_PARTS_H
#define REPLAY_PRIVATE_SCHEDULE_SEARCH_PARTS_H

#include "campaign/engine/output.h"
#include "campaign/trials/trial_result.h"
#include "harness/run/trial.h"
#include "present/terminal.h"
#include "recording/recording.h"

/* The results that the child leaves even if it dies, in memory shared with it. */
struct search_state {
    struct lanes_found found;
    struct run_totals totals;
    struct run_findings findings; /* what breaks a promise, the gravest first */
    struct refused {
        char mechanism[VERDICT_MECHANISM_BYTES];
        struct oracle_largest largest; /* that would have been served */
    } refused[RUN_FINDING_COUNT_MAX];  /* premature refusals, the first of each mechanism;
                                          refused_count of them */
    size_t refused_count;
    char reason[RUN_REASON_BYTES]; /* why the target cannot be run so */
    bool is_done, is_refused;
};

struct schedule_search {
    const char *path;
    const struct run_options *run;
    const struct recording *recording;
    struct lane_options wanted; /* completed */
    struct op_list plain;       /* the list without its schedule */
    struct op_list broken;      /* with the schedule that shows the finding that is saved */
    size_t saved;               /* its number among the findings */
    struct search_state *state;
    struct last_words *words;
    struct output output;
    struct reporter reporter;
    struct writing text;
    uint64_t start_ns;
    char repro[OUTPUT_PATH_BYTES];
    struct writing replay; /* the line that shows what broke again */
};

/* The premature refusal of that mechanism; NULL: there is none. */
const struct refused *schedule_search_find_refused(const struct search_state *state,
                                                   const char *mechanism);
/* Shrinks, saves and reports the findings, one after the other.  answer has the list of each behind
 * its count of ops; of a death there is one finding, and its list is known.  The result is
 * EXIT_KEPT, or a file could not be written. */
enum exit_code schedule_search_save(struct schedule_search *schedule_search,
                                    const struct writing *answer, bool is_dead);

#endif
