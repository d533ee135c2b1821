/* What is kept of a run's verdicts.  Of a broken promise its list of ops, shrunk, in a file that
 * replays it, and the certificate of a premature OOM; of an OOM that stays unknown, or on which our
 * own judges disagree, the list up to it and the certificate; of the justified ones a sample of
 * certificates. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "cli/findings.h"
#include "cli/judgement.h"
#include "cli/output.h"
#include "reports/report.h"

struct keeper {
    const char *directory;  /* OUT: repros go to OUT/repros, and so on */
    uint64_t shrink_budget; /* replays; 0 = do not shrink */
};

enum keeper_result {
    KEEPER_KEPT,     /* the files are there */
    KEEPER_LONGER,   /* the list is not shorter than the one that is there: nothing was written */
    KEEPER_DISPUTED, /* the checker does not accept the certificate of the shrunk list: that is kept
                        in OUT/disputes */
    KEEPER_FAILED    /* a file could not be written: a message was given */
};

/* What became of a verdict; a plain value, because it is made in a process of its own. */
struct kept {
    enum keeper_result result;
    bool has_certificate;
    uint64_t op_count;                 /* of the list, with its schedule */
    uint64_t lane_count, switch_count; /* 0 lanes = it has none */
    struct verdict dispute;            /* when disputed */
    char base[FINDING_BASE_BYTES];     /* of the files */
};

/* judgement has a rule (judgement_rule is not NULL) and a list.  Shrinks in processes of its own,
 * because a shorter list may make the target crash.  op_count_known: of the list that is kept
 * already; 0 = none. */
struct kept keeper_take(const struct keeper *keeper, const struct plan *plan,
                        const struct judgement *judgement, uint64_t op_count_known);
/* The same without shrinking, at once. */
struct kept keeper_take_whole(const struct keeper *keeper, const struct plan *plan,
                              const struct judgement *judgement, uint64_t op_count_known);

/* oom is one of the judgement's, justified, unknown or disputed; lists of these are kept whole, up
 * to it. */
struct kept keeper_take_oom(const struct keeper *keeper, const struct plan *plan,
                            const struct judgement *judgement, const struct kept_oom *oom);

/* Removes the files of a finding. */
void keeper_forget(const struct keeper *keeper, const char *base);

/* The paths that a kept verdict is reported with; they are the caller's. */
struct keeper_paths {
    char repro[OUTPUT_PATH_BYTES], certificate[OUTPUT_PATH_BYTES], replay[OUTPUT_REPLAY_BYTES];
};
/* folder: "repros" or "disputes". */
void keeper_paths_init(struct keeper_paths *paths, const struct keeper *keeper, const char *folder,
                       const char *base);

#endif
