/* Tries to see a verdict again that was seen once, in lanes that nobody scheduled. */
#ifndef CAMPAIGN_PROCESS_REPEAT_H
#define CAMPAIGN_PROCESS_REPEAT_H

#include "harness/lanes/lanes_search.h"
#include "harness/oracle/signature.h"

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
