/* Saves the verdicts of a run.  For a broken promise it saves the shrunk op list, in a file that
 * replays it, and the certificate of a premature OOM.  For an OOM that stays unknown, or on which
 * our own judges disagree, it saves the list up to it and the certificate.  For justified OOMs it
 * saves a sample of certificates. */
#ifndef CAMPAIGN_ENGINE_REPRO_STORE_H
#define CAMPAIGN_ENGINE_REPRO_STORE_H

#include "campaign/engine/findings.h"
#include "campaign/engine/output.h"
#include "campaign/trials/trial_result.h"
#include "present/report.h"

struct repro_store {
    const char *directory;  /* OUT: repros go to OUT/repros, and so on */
    uint64_t shrink_budget; /* replays; 0 = do not shrink */
    /* of a shard: a list is saved even where a shorter one of its finding is there, because of the
     * whole campaign's first verdicts it may be the shortest */
    bool keeps_all;
    const struct plan *plan; /* of the trials; not needed for paths alone */
};

enum repro_store_result {
    REPRO_STORE_SAVED,    /* the files are there */
    REPRO_STORE_LONGER,   /* the list is not shorter than the one that is there: nothing was written
                           */
    REPRO_STORE_DISPUTED, /* the checker does not accept the certificate of the shrunk list: that is
                        saved in OUT/disputes */
    REPRO_STORE_UNREPEATED, /* nobody could repeat it: the whole list is saved in OUT/unrepeated */
    REPRO_STORE_FAILED      /* a file could not be written: a message was given */
};

/* The outcome of saving a verdict.  It is a plain value, because another process makes it. */
struct saved_repro {
    enum repro_store_result result;
    bool has_certificate;
    uint64_t op_count;                 /* of the list, with its schedule */
    uint64_t lane_count, switch_count; /* 0 lanes = it has none */
    uint64_t before_count;             /* lists beside it that must run before it */
    bool is_unrepeated;                /* a death that the list did not show again */
    struct verdict shown;   /* of the last op of the list; of the trial, when it is whole */
    struct verdict dispute; /* when disputed */
    char signature[SIGNATURE_BYTES]; /* of the finding that the list shows */
    char base[FINDING_BASE_BYTES];   /* of the files */
};

/* The trial has a rule (trial_result_rule) and a list, both of the finding that is selected.
 * Shrinks in processes of its own, because a shorter list may make the target crash.  A list that
 * does not show the finding again is tried behind the trials before it (campaign/trials/trials.h);
 * without success the verdict is unrepeated, but for a death or an overrun, which was seen.  known:
 * what is saved already.  Not is_to_shrink: at once, the list as it is. */
struct saved_repro repro_store_take(const struct repro_store *repro_store,
                                    const struct trial_result *trial_result,
                                    const struct findings *known, bool is_to_shrink);
/* Saves the whole list of a verdict that could not be repeated. */
struct saved_repro repro_store_take_unrepeated(const struct repro_store *repro_store,
                                               const struct trial_result *trial_result);

/* Returns the folder of the list of an OOM of that kind.  The list of a justified one replays no
 * finding, and lies next to its certificate. */
const char *repro_store_oom_folder(enum verdict_kind kind);
/* oom is one of the trial's, justified, unknown or disputed; lists of these are saved whole, up to
 * it. */
struct saved_repro repro_store_take_oom(const struct repro_store *repro_store,
                                        const struct trial_result *trial_result,
                                        const struct saved_oom *oom);

/* The name of the files of the finding that is selected, should some be written. */
void repro_store_name(const struct repro_store *repro_store,
                      const struct trial_result *trial_result, char base[FINDING_BASE_BYTES]);

/* Removes the files of a finding. */
void repro_store_forget(const struct repro_store *repro_store, const char *base,
                        uint64_t before_count);
/* Removes what a process that was killed had begun to write in OUT; has_writer: in its folders
 * alone, because OUT itself is being written to. */
void repro_store_clean(const struct repro_store *repro_store, bool has_writer);

/* The paths that a saved verdict is reported with; they are the caller's. */
struct repro_store_paths {
    char repro[OUTPUT_PATH_BYTES], certificate[OUTPUT_PATH_BYTES], replay[OUTPUT_REPLAY_BYTES];
};
/* folder: "repros", "disputes" or "unrepeated". */
void repro_store_paths_init(struct repro_store_paths *paths, const struct repro_store *repro_store,
                            const char *folder, const char *base);

#endif
