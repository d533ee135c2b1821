/* What is kept of a run's verdicts.  Of a broken promise its list of ops, shrunk, in a file that replays it, and the
 * certificate of a premature OOM; of an OOM that stays unknown, or on which our own judges disagree, the list up to it
 * and the certificate; of the justified ones a sample of certificates. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "cli/judgement.h"
#include "cli/output.h"
#include "reports/report.h"

/* Of findings with the same rule and the same part only the first so many are kept, and of unknown OOMs. */
enum { KEEPER_SAME_COUNT_MAX = JUDGEMENT_UNKNOWN_COUNT_MAX };

struct keeper_count {
    const char *rule; /* or the name of a verdict */
    uint32_t part;
    uint64_t count;
};
struct keeper {
    const char *directory;  /* OUT: repros go to OUT/repros, and so on */
    uint64_t shrink_budget; /* replays; 0 = do not shrink */
    struct keeper_count *counts;
    size_t count;
    uint64_t certificate_count;             /* files in OUT/certificates */
    char path[OUTPUT_PATH_BYTES];           /* of the last list */
    char certificate[OUTPUT_PATH_BYTES];    /* of the last certificate */
    char replay[OUTPUT_PATH_BYTES + 32];    /* the line that runs the list */
    struct verdict dispute;                 /* on a shrunk list */
};
void keeper_init(struct keeper *keeper, const char *directory, uint64_t shrink_budget);
void keeper_deinit(struct keeper *keeper);

enum keeper_result {
    KEEPER_KEPT,     /* *finding says where; its texts are the keeper's (until it is used again) and the judgement's */
    KEEPER_COUNTED,  /* enough of these were kept */
    KEEPER_DISPUTED, /* *finding is a dispute: the checker does not accept the certificate of the shrunk list */
    KEEPER_FAILED    /* the file could not be written: a message was given */
};
/* judgement has a rule (judgement_rule is not NULL).  Shrinks in a process of its own, because a
 * shorter list may make the target crash; ctrl-C ends that and keeps the whole list. */
enum keeper_result keeper_take(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                               struct report_finding *finding);

/* oom is one of the judgement's, justified, unknown or disputed; lists of these are kept whole, up to it. */
enum keeper_result keeper_take_oom(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                                   const struct kept_oom *oom, struct report_finding *finding);

#endif
