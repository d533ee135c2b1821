/* Runs one list once in a process of its own, and returns how it ends.  A target that dies or hangs
 * there is an answer like any other. */
#ifndef CAMPAIGN_PROCESS_ATTEMPT_H
#define CAMPAIGN_PROCESS_ATTEMPT_H

#include "harness/base/writing.h"
#include "harness/lanes/lanes_search.h"
#include "harness/oracle/signature.h"
#include "harness/run/run.h"

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
     * (fresh.h) is a finding, too, where one of that kind is looked for */
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

#endif
