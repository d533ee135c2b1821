/* What is kept of a broken promise: its list of ops, shrunk, in a file that replays it. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "cli/judgement.h"
#include "cli/output.h"
#include "reports/report.h"

/* Of findings with the same rule and the same part only the first so many are kept. */
enum { KEEPER_SAME_COUNT_MAX = 5 };

struct keeper_count {
    const char *rule;
    uint32_t part;
    uint64_t count;
};
struct keeper {
    const char *directory;  /* OUT; repros go to OUT/repros */
    uint64_t shrink_budget; /* replays; 0 = do not shrink */
    struct keeper_count *counts;
    size_t count;
    char path[OUTPUT_PATH_BYTES];           /* of the last repro */
    char replay[OUTPUT_PATH_BYTES + 32];    /* the line that runs it */
};
void keeper_init(struct keeper *keeper, const char *directory, uint64_t shrink_budget);
void keeper_deinit(struct keeper *keeper);

enum keeper_result {
    KEEPER_KEPT,    /* *finding says where; its texts are the keeper's and the judgement's */
    KEEPER_COUNTED, /* enough of these were kept */
    KEEPER_FAILED   /* the file could not be written: a message was given */
};
/* judgement has a rule (judgement_rule is not NULL).  Shrinks in a process of its own, because a
 * shorter list may make the target crash; ctrl-C ends that and keeps the whole list. */
enum keeper_result keeper_take(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                               struct report_finding *finding);

#endif
