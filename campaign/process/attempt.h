/* Runs one list once in a process of its own, and returns how it ends.  A target that dies or hangs
 * there is an answer like any other. */
#ifndef CAMPAIGN_PROCESS_ATTEMPT_H
#define CAMPAIGN_PROCESS_ATTEMPT_H

#include "campaign/base/message.h"
#include "harness/base/writing.h"
#include "harness/lanes/lanes_search.h"
#include "harness/oracle/signature.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"

/* A list that runs first, in the same process; nothing of it is judged. */
struct earlier_list {
    const struct target *target;
    struct setup setup;
    struct op_list ops;
};

/* How a list is run. */
struct attempt {
    const struct target *target;
    const struct setup *setup;
    /* before_count of them, which run before it; with some, a difference from a fresh instance
     * is a finding, too, where one of that kind is looked for */
    const struct earlier_list *const *before;
    size_t before_count;
    const char *signature;  /* of the finding that counts, if the list shows it; NULL, or when it
                               does  not: the gravest */
    uint64_t op_timeout_ns; /* processor time of one call; 0 = the usual */
    uint64_t stuck_ns; /* wall time of one call that takes no processor time; 0 = without a bound */
    uint64_t duration_ns;    /* wall time of all */
    bool is_uninterruptible; /* it is the last thing that is run: the second ctrl-C ends it */
    bool is_run_again;       /* when no promise breaks: what again_breaks finds counts, too */
};

enum attempt_end {
    ATTEMPT_ENDED,   /* the target lived; verdict NONE: every promise was kept */
    ATTEMPT_DIED,    /* it died or hung: a verdict like any other */
    ATTEMPT_REFUSED, /* the target refused the setup */
    ATTEMPT_FAULTY,  /* a CHECK of ours failed; reason of the verdict */
    ATTEMPT_STOPPED, /* ctrl-C */
    ATTEMPT_EARLIER, /* a list before it took the process with it */
    ATTEMPT_FAILED   /* no process could be had; errno says why */
};
struct attempt_result {
    enum attempt_end end;
    struct verdict first;
    char signature[SIGNATURE_BYTES]; /* "" = none */
    size_t op_count; /* of the list, up to the op that broke; all of it when none did,
                        and with lanes */
};

/* Runs such a list.  What becomes of it does not matter, as long as the process lives. */
void earlier_list_run(const struct earlier_list *list);

/* certificate (NULL: not wanted) gets that of a premature or disputed OOM appended. */
void attempt_run(const struct attempt *attempt, const struct op_list *ops,
                 struct writing *certificate, struct attempt_result *result);

/* Tries to see a verdict again that was seen once, in lanes that nobody scheduled. */

/* The verdict to repeat, and how: all searches run one after the other, each until its schedules
 * are used up. */
struct repeat {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
    const char *signature;
    const struct lanes_search *searches; /* search_count of them; schedule_count_max > 0 */
    size_t search_count;
    uint64_t duration_ns; /* wall time of all of them */
};

/* Searches in a process of its own.  True: a run had the same signature; *shown is then the list
 * with the schedule that showed it, or empty where nobody decided.  True as well, with an empty
 * list, when that cannot be decided: the target killed the process, ctrl-C came, or there was no
 * process.  False: it did not show, in these schedules or in that time. */
bool repeat_shows(const struct repeat *repeat, struct op_list *shown);

/* Asks whether a target accepts a setup, in a process of its own and before anything runs.  A
 * target that crashes or never returns when it is opened damages nothing else. */

/* What the target reported when it was opened. */
struct target_probe {
    bool has_programs;                   /* it loads and executes programs */
    bool has_regions;                    /* it takes its memory in regions */
    bool sleeps;                         /* it sleeps and wakes */
    char why_no_lanes[RUN_REASON_BYTES]; /* why it cannot be run with lanes; "" = it can */
};

/* Opens and closes the target with that setup, within duration_ns.  where (NULL: nowhere) begins
 * the message of a failure.  EXIT_KEPT and *opening; or after one message EXIT_USAGE when it
 * refuses, EXIT_BROKEN when it crashes or hangs, EXIT_HARNESS when there is no process for it. */
enum exit_code target_probe_run(const struct target *target, const struct setup *setup,
                                const char *where, uint64_t duration_ns,
                                struct target_probe *target_probe);

/* A fresh instance of a target: a process in which none ever ran, kept apart for comparison.  A
 * target that answers a list otherwise there keeps state between trials. */

/* The mechanism of what is found here. */
#define FRESH_MECHANISM "state outlives a trial"

struct fresh;

/* Forks the process that stays fresh, so it is called before any target ran in this one.  It dies
 * with this one.  NULL: it could not be started; then nothing is compared. */
struct fresh *fresh_create(void);
void fresh_destroy(struct fresh *fresh); /* NULL: nothing */

/* The trial ran in this process, and nothing ended it.  Runs its list in a child of the fresh
 * process, for ten seconds at most.  True when the target answers otherwise there: then *broken is
 * the verdict, on the first op that differs.  What that child dies of is no answer. */
bool fresh_breaks(struct fresh *fresh, const struct target *target, const struct trial *trial,
                  struct verdict *broken);

#endif
