/* The rules about the target's memory on the host, asked after each call and after close. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_HOST_H
#define HARNESS_RULES_PRIVATE_JUDGE_HOST_H

#include "harness/rules/judge.h"

/* Both rules are kept at this moment, after as many blocks, events and programs as there are. */
static inline bool judge_keeps_host_memory(const struct host *host)
{
    return device_keeps_host_memory(host->device, model_counters(host->model)->block_count +
                                                      timeline_pending_count(host->timeline) +
                                                      model_program_count(host->model));
}
/* After each call, or after calls that overlapped.  False: a rule is broken. */
bool judge_host_memory(struct judge *judge, const struct host *host);
/* After close: everything is given back. */
void judge_host_closed(struct judge *judge, const struct host *host);

#endif
