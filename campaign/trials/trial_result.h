/* The result of one trial: made in a worker, sent to the parent as bytes, and merged there in the
 * order of the trials. */
#ifndef CAMPAIGN_TRIALS_TRIAL_RESULT_H
#define CAMPAIGN_TRIALS_TRIAL_RESULT_H

#include "campaign/base/file.h"
#include "campaign/plan/plan.h"
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "campaign/process/death.h"
#include "harness/base/writing.h"
#include "harness/lanes/lanes_search.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"
#include "present/job_log.h"
#include "present/memory_track.h"
#include "present/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The trials that a worker's process ran before one: what its target keeps between trials comes
 * from them. */

/* One trial to run; a plain value. */
struct task {
    uint32_t part;      /* index into the plan */
    bool is_sampled;    /* run twice, and compared */
    bool is_kept;       /* its list is to be saved with its diagnosis, whatever it shows */
    bool is_diagnosed;  /* lists of its first justified OOMs may be saved, with the reason */
    bool is_compared;   /* compared with a fresh instance of the target */
    bool has_list_kept; /* its list leaves the worker, whatever it shows */
    uint64_t trial;     /* number within its part */
    uint64_t op_count_max;
};

/* The last so many are known. */
enum { EARLIER_TASK_COUNT_MAX = 1024 };

struct earlier_task {
    struct task task;
    uint64_t elapsed_ns; /* what it took */
};
/* The tasks, in the order in which they ran; zero is a valid start. */
struct earlier_tasks {
    struct earlier_task *tasks; /* count of them */
    size_t count, capacity;
};
void earlier_tasks_deinit(struct earlier_tasks *tasks);

/* A new process: nothing ran yet. */
void earlier_tasks_clear(struct earlier_tasks *tasks);
void earlier_tasks_add(struct earlier_tasks *tasks, const struct task *task, uint64_t elapsed_ns);
/* The last EARLIER_TASK_COUNT_MAX of them; *to is as zero. */
void earlier_tasks_copy(struct earlier_tasks *to, const struct earlier_tasks *from);

/* The state that a worker leaves behind when its target ends it: how it died, the ops chosen so
 * far, and what they had shown by then. */

/* It lies in memory that the parent shares. */
enum { LAST_OP_COUNT_MAX = 1 << 20, LAST_SWITCH_COUNT_MAX = 1 << 18 };
struct last_words {
    struct death death;
    struct setup setup;
    bool has_begun;
    uint32_t stray_count; /* processes that were still there at its end, and were killed */
    uint64_t op_count;    /* beyond LAST_OP_COUNT_MAX they are only counted */
    struct op ops[LAST_OP_COUNT_MAX];
    struct run_findings findings; /* without lanes */
    bool has_lanes;               /* a schedule of the ops was tried */
    uint64_t switch_count;        /* of that schedule so far; the same */
    struct schedule_switch switches[LAST_SWITCH_COUNT_MAX];
};
struct last_words *last_words_create(void); /* NULL: no memory */
void last_words_destroy(struct last_words *words);

/* Forgets all of it but the death. */
void last_words_clear(struct last_words *words);
/* Another list begins, with that setup; words is a struct last_words, as it is below. */
void last_words_begin(void *words, const struct setup *setup);
/* The list goes on with that op. */
void last_words_note(void *words, const struct op *op);
/* Notes what the ops have shown by now, unless they have lanes. */
void last_words_note_findings(struct last_words *words, const struct run_findings *findings);
/* Has every schedule noted in words, which is the context of what is returned. */
struct lanes_witness last_words_witness(struct last_words *words);

/* Appends the ops that were noted, with the schedule. */
void last_words_take(const struct last_words *words, struct op_list *ops);

enum { TRIAL_RESULT_HANG_BYTES = 512 };

enum trial_result_end {
    TRIAL_RESULT_DONE = 0,
    TRIAL_RESULT_REFUSED, /* the target refused the setup; reason */
    TRIAL_RESULT_CRASHED, /* the target took its process with it; reason */
    TRIAL_RESULT_HUNG,  /* a call of the target, or the whole trial, did not end in time; reason */
    TRIAL_RESULT_FAILED /* a CHECK of ours failed: a fault of hbmstress, no finding; reason */
};

/* The number of OOMs of one trial that leave it with their certificates.  These are the first that
 * stay unknown (no part saves more); the first justified ones of the first trials (a sample); the
 * first premature one of each finding; and the first disputed one. */
enum {
    TRIAL_RESULT_UNKNOWN_COUNT_MAX = 5,
    TRIAL_RESULT_JUSTIFIED_COUNT_MAX = 2,
    TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT =
        8, /* of each part: enough to find one, too few to cost anything */
    TRIAL_RESULT_SAVED_COUNT_MAX = TRIAL_RESULT_UNKNOWN_COUNT_MAX +
                                   TRIAL_RESULT_JUSTIFIED_COUNT_MAX + RUN_FINDING_COUNT_MAX + 1
};

/* An OOM with its certificate. */
struct saved_oom {
    struct verdict verdict;
    char message[OBSERVATION_MESSAGE_BYTES];
    struct oracle_largest largest; /* that would have been served instead */
    uint64_t all_end, notable_end; /* of its line in all and in notable; 0 = it has none there */
    uint64_t certificate_start, certificate_bytes; /* in certificates; 0 bytes = it has none */
    uint64_t diagnosis_start, diagnosis_bytes;     /* in diagnoses; the same */
};

/* The texts that travel with it, in this order, and the lists. */
enum trial_result_text {
    TRIAL_RESULT_ALL,
    TRIAL_RESULT_NOTABLE,
    TRIAL_RESULT_CERTIFICATES,
    TRIAL_RESULT_DIAGNOSES,
    TRIAL_RESULT_LOGS,
    TRIAL_RESULT_TEXT_COUNT
};
enum { TRIAL_RESULT_LIST_COUNT = 2 + RUN_FINDING_COUNT_MAX };

/* The part that travels as it is; of its last two arrays what there is. */
struct trial_result_head {
    struct task task;
    enum trial_result_end end;
    /* of the finding that is selected: */
    struct verdict first;                    /* the promise that broke, or NONE */
    char signature[SIGNATURE_BYTES];         /* of first; "" = none */
    char message[OBSERVATION_MESSAGE_BYTES]; /* the target's words to `first` */
    struct run_totals totals;
    uint64_t digest; /* of all observations; 0 when the trial did not end */
    uint64_t elapsed_ns;
    struct growth growth;        /* of the last look */
    struct memory_point fullest; /* of the fullest host; capacity_bytes 0 = no op ended */
    uint64_t looked_op_count;    /* where the run was then; 0 = it was too short for a look */
    bool is_growing;
    bool has_list; /* setup and ops are there: something broke, an OOM is saved, or it was asked for
                    */
    char growing_tag[SETUP_NAME_BYTES];
    /* of a trial with findings, in words: who waited in vain, in the op of the gravest if somebody
     * did there; "" = nobody did, or it has lanes */
    char hang[TRIAL_RESULT_HANG_BYTES];
    char reason[RUN_REASON_BYTES];
    uint64_t saved_count, finding_count; /* the latter: as it travels */
    uint64_t ooms_seen, certificates_checked;
    uint64_t until_oom_count; /* of ops: up to the last saved OOM that is justified or unknown */
    uint64_t log_bytes[JOB_LOG_COUNT]; /* of logs */
    /* as they travel: of ops, oom_ops and lists; of the texts, in their order */
    uint64_t list_op_counts[TRIAL_RESULT_LIST_COUNT], text_bytes[TRIAL_RESULT_TEXT_COUNT];
    struct run_findings findings; /* what it found, the gravest first */
    /* saved_count of them, in the order of their ops */
    struct saved_oom saved[TRIAL_RESULT_SAVED_COUNT_MAX];
};
struct trial_result {
    struct trial_result_head head;
    struct setup setup;
    union { /* the longest comes first */
        struct op_list op_lists[TRIAL_RESULT_LIST_COUNT];
        struct {
            struct op_list ops; /* of the finding that is selected, else of the trial */
            /* The list of a trial that met such an OOM before its list was dealt to lanes.
             * Otherwise empty: ops begins with it (trial_result_until_oom). */
            struct op_list oom_ops;
            struct op_list lists[RUN_FINDING_COUNT_MAX]; /* as in struct trial */
        };
    };
    union {
        struct writing texts[TRIAL_RESULT_TEXT_COUNT];
        struct {
            struct writing all;          /* a JSON line for each OOM but a premature one */
            struct writing notable;      /* those of them that are not justified */
            struct writing certificates; /* of the saved OOMs, one after the other */
            /* A JSON line each: of the OOMs that are saved up to the last justified one, when it is
             * diagnosed; of premature and unknown ones that may be the first of their kind
             * (trial_diagnosis_again); of all that are saved, and of the first with each verdict,
             * when it is kept. */
            struct writing diagnoses;
            struct writing logs; /* of the first trial that counts steps: those of its hosts and of
                                    their launcher, one after the other (present/job_log.h) */
        };
    };
    char kept[FILE_PATH_BYTES]; /* where its list was kept; "" = it was not.  It does not travel */
    struct writing output;      /* what the target printed; the parent adds it */
    /* of a trial with findings: what its worker's process ran before.  It does not travel: the
     * parent knows */
    struct earlier_tasks earlier;
};
void trial_result_init(struct trial_result *trial_result);
void trial_result_deinit(struct trial_result *trial_result);

/* Selects one of its findings, with its list: at first it is the gravest. */
void trial_result_select(struct trial_result *trial_result, size_t finding);

/* The name of the promise that broke, by the finding that is selected; NULL: none, or our judges
 * disagree on it. */
const char *trial_result_rule(const struct trial_result *trial_result);

/* The list up to the last saved OOM that is justified or unknown; it belongs to the trial result.
 */
struct op_list trial_result_until_oom(const struct trial_result *trial_result);

/* The OOM on which our judges disagree; NULL: there is none. */
const struct saved_oom *trial_result_dispute(const struct trial_result *trial_result);
/* That of the selected finding, if it is premature; else NULL. */
const struct saved_oom *trial_result_premature(const struct trial_result *trial_result);

/* In a worker, before the first trial: sets what some trials are compared with from now on. */
void trial_result_compare_with(struct fresh *fresh);

/* Runs the trial.  Not for two threads at once. */
void trial_result_make(const struct plan *plan, const struct task *task, struct last_words *words,
                       struct trial_result *trial_result);

/* Makes the result of a trial whose worker died or was stopped; words->death says how.  What it had
 * found before comes after that.  Its totals have only the verdicts on these findings. */
void trial_result_make_dead(const struct task *task, const struct last_words *words,
                            struct trial_result *trial_result);

/* Packs to bytes: they stay where they are in trial_result, in so many pieces, and are copied
 * nowhere.  Returns how many pieces there are. */
enum { TRIAL_RESULT_PIECE_COUNT_MAX = 4 + TRIAL_RESULT_LIST_COUNT + TRIAL_RESULT_TEXT_COUNT };
size_t trial_result_pack(struct trial_result *trial_result,
                         struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX]);
/* Unpacks from bytes.  The longest list stays where it is: trial_result takes over the memory of
 * *bytes, which is empty then.  False: these are not the bytes of a trial result; they stay. */
bool trial_result_unpack(struct writing *bytes, struct trial_result *trial_result);

/* Explains why a trial whose list is saved ran out of memory: while it runs, so that nothing is run
 * twice; or, if nobody knew that it would be saved, by one more run of its list. */

struct trial_diagnosis;

/* place outlives it. */
struct trial_diagnosis *trial_diagnosis_create(const struct report_place *place, uint64_t seed);
void trial_diagnosis_destroy(struct trial_diagnosis *trial_diagnosis); /* NULL: nothing */

/* To be called after each op, and after the last promises: takes in what the op did. */
void trial_diagnosis_step(struct trial_diagnosis *trial_diagnosis, const struct run *run);

/* To be called after that, if the op ran out of memory and its verdict is justified, premature or
 * unknown.  Appends a JSON line of type "diagnosis". */
void trial_diagnosis_explain(const struct trial_diagnosis *trial_diagnosis, const struct run *run,
                             const struct verdict *verdict, struct writing *lines);

/* Explains, of the saved OOMs of the trial that have no line, the first premature one of each
 * mechanism and the first TRIAL_RESULT_UNKNOWN_COUNT_MAX unknown ones of each part, among those
 * that this process explained and that count before it: the first of the whole campaign are among
 * these, whichever process runs their trials.  Nothing where lanes were tried.  Not for two threads
 * at once.  Cost: a run of the trial's list up to the last of them, if there is one. */
void trial_diagnosis_again(const struct plan *plan, const struct trial *trial,
                           struct trial_result *trial_result);

#endif
