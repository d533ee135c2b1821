/* The findings of a campaign: one for each signature, with how often it was seen and the files of
 * its shortest repro.  Open values without pointers, so that they can be saved as they are. */
#ifndef CAMPAIGN_ENGINE_FINDINGS_H
#define CAMPAIGN_ENGINE_FINDINGS_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/trials/earlier.h"
#include "campaign/trials/trial_result.h"
#include "harness/base/writing.h"
#include "present/report.h"

/* The first so many verdicts with one signature are shrunk.  The shortest list is kept; further
 * verdicts are only counted.  While it is shrunk, a list may show a simpler signature
 * (signature_stands_for): then it belongs to that finding. */
enum { FINDING_SHRUNK_COUNT_MAX = 3, FINDING_BASE_BYTES = 256, FINDING_RULE_BYTES = 32 };

struct finding {
    char signature[SIGNATURE_BYTES];
    char rule[FINDING_RULE_BYTES];
    char reason[VERDICT_REASON_BYTES],
        message[OBSERVATION_MESSAGE_BYTES]; /* of the verdict whose repro is kept */
    char base[FINDING_BASE_BYTES]; /* of its files, without folder and extension; "" = nothing is
                                      kept */
    uint64_t part, trial, seed;    /* where it was seen first */
    uint64_t first_order;          /* of that verdict among all of the campaign, from 1 */
    uint64_t count;
    uint64_t seen_count;       /* of these, how many seemed to be it in their trials */
    uint64_t moved_count;      /* of those, how many showed another finding when they were shrunk */
    uint64_t stayed_count;     /* and how many did not */
    uint64_t unrepeated_count; /* and how many count as verdicts that nobody can repeat */
    uint64_t counted_verdicts; /* in the trials of those that were only counted */
    char moved_to[SIGNATURE_BYTES]; /* which, of the last; "" = none did */
    uint64_t op_count;              /* of the repro */
    uint64_t before_count;          /* lists beside the repro that must run before it */
    uint64_t is_unrepeated;         /* 1 = a death that the repro did not show again */
    uint64_t has_certificate;       /* 1 = beside the repro */
    uint64_t is_known;              /* 1 = it is in the baseline */
    uint64_t has_largest; /* 1 = it is a premature OOM; largest belongs to reason and message */
    struct oracle_largest largest;
};

struct findings {
    struct finding *findings; /* count of them, in the order in which they were seen */
    size_t count, capacity;
};
void findings_deinit(struct findings *findings);
/* True if no signature is there twice, and finding_find_wrong() accepts each finding. */
bool findings_invariants_hold(const struct findings *findings);
/* The member that contradicts another: the verdicts that a finding was seen with are its own, or
 * moved to one that is named, or nobody could repeat them.  NULL: none does. */
const char *finding_find_wrong(const struct finding *finding);

/* The one of that signature; NULL: it was not seen yet. */
struct finding *findings_find(const struct findings *findings, const char *signature);
/* True if a finding has files of that name. */
bool findings_have_base(const struct findings *findings, const char *base);
/* Appends one; stays where it is until the next is added. */
struct finding *findings_add(struct findings *findings, const struct finding *finding);

/* Seen by the verdict of that order in that trial, which may be the first. */
void finding_note_first(struct finding *finding, uint64_t order, uint64_t part, uint64_t trial,
                        uint64_t seed);

/* Returns how many verdicts are its own: not those that showed another finding, or that nobody
 * could repeat. */
static inline uint64_t finding_own_count(const struct finding *finding)
{
    return finding->count - finding->moved_count - finding->unrepeated_count;
}
/* True if its number-th verdict, which is in the queue, is worth shrinking at its turn.  Beyond the
 * first three that holds only if some showed another finding or could not be repeated. */
bool finding_is_to_shrink(const struct finding *finding, uint64_t number);
/* At the end: sorts the findings by when they were first seen, however long it took to shrink
 * others.  If all shrunk verdicts of a finding showed another one, those that were only counted are
 * counted there, too. */
void findings_settle(struct findings *findings);
/* True if it is a finding of its own. */
static inline bool finding_is_shown(const struct finding *finding)
{
    return finding_own_count(finding) > 0;
}
/* True if a repro is better than the one that is kept.  In this order: it shows again; it needs
 * fewer lists before it, best none; it is shorter. */
bool finding_repro_is_better(const struct finding *finding, uint64_t op_count,
                             uint64_t before_count, bool is_unrepeated);
/* Returns how many findings are shown. */
size_t findings_shown_count(const struct findings *findings);
/* Returns how many of the shown findings the baseline does not know. */
size_t findings_new_count(const struct findings *findings);
/* Returns how many shown findings were seen first in that part. */
size_t findings_shown_in(const struct findings *findings, size_t part);

/* Returns findings_shown_count() findings as a report shows them, the gravest first; the caller
 * frees them with findings_free_report.  Paths name files in directory.  part_names[finding.part]
 * is the part where the finding was seen first. */
struct report_known *findings_report(const struct findings *findings, const char *directory,
                                     const char *const *part_names);
void findings_free_report(struct report_known *known, size_t count);

/* The known findings of a target: a text file of signatures, each with the reason why it is
 * accepted.  A campaign that finds nothing else is not red. */

/* Zero is a valid start: nothing is known. */
struct baseline {
    char (*signatures)[SIGNATURE_BYTES]; /* count of them */
    size_t count, capacity;
};
void baseline_deinit(struct baseline *baseline);

/* Reads path.  EXIT_KEPT, or EXIT_USAGE after one message with file and line; deinit in both cases.
 */
enum exit_code baseline_read(const char *path, struct baseline *baseline);
bool baseline_has(const struct baseline *baseline, const char *signature);

/* Appends the findings as such a file; target is whose they are. */
void baseline_print(const struct findings *findings, const char *target, struct writing *text);

/* The lists that run before a repro: files beside it, OUT/repros/BASE.before-1.ops and so on, and
 * the line that replays all of them. */

/* The path of the one with that number, from 1. */
void before_path(const char *directory, const char *base, uint64_t number,
                 char path[FILE_PATH_BYTES]);

/* "hbmstress replay REPRO --after FILE ...", as a shell takes it. */
void before_append_replay(struct writing *text, const char *directory, const char *base,
                          uint64_t count);

/* Returns the repeats as reports show them; before_free_report() frees them. */
struct report_repeats before_report(const char *directory, const char *base, uint64_t count,
                                    bool is_unrepeated);
void before_free_report(const struct report_repeats *repeats);

/* Writes all of them.  False: a message was given. */
bool before_write(const char *directory, const char *base, const struct earlier *earlier);
/* Removes count of them. */
void before_forget(const char *directory, const char *base, uint64_t count);

/* The verdicts of a campaign that are to be shrunk, in the order in which they were seen.  One is
 * shrunk at a time, beside the trials; its line is written at the end, so that results.jsonl does
 * not depend on how long that took.  Entries are open values without pointers, saved as they are;
 * the op lists are in memory alone: a trial that is run again gives them again. */

enum shrink_state {
    SHRINK_WAITING = 0, /* or it is under way */
    SHRINK_SAVED,       /* its list became the repro of its finding */
    SHRINK_COUNTED,     /* nothing was saved of it: it was not worth it, or no shorter */
    SHRINK_UNREPEATED,  /* it is no finding: OUT/unrepeated has its list */
    SHRINK_DISPUTED     /* our judges disagree on its shrunk list */
};

/* Files that gave way to those of a shorter list are removed when a state on the disk says so. */
enum superseded { SUPERSEDED_NOT = 0, SUPERSEDED_NOW, SUPERSEDED_SAVED, SUPERSEDED_GONE };

struct shrink_entry {
    struct task task;                /* of its trial */
    uint64_t finding;                /* which one of the trial's */
    uint64_t order;                  /* of all verdicts of the campaign */
    uint64_t number;                 /* of those with the signature that it was seen with, from 1 */
    uint64_t state;                  /* enum shrink_state */
    uint64_t is_superseded;          /* enum superseded */
    char seen_as[SIGNATURE_BYTES];   /* the signature it was seen with */
    char base[FINDING_BASE_BYTES];   /* of its files, when it has some */
    char signature[SIGNATURE_BYTES]; /* of the finding that it counts as */
    struct verdict verdict;          /* of its repro; of the trial where there is none */
    struct verdict seen;             /* of the trial */
    char message[OBSERVATION_MESSAGE_BYTES];
    uint64_t has_largest;
    struct oracle_largest largest;
    uint64_t op_count, lane_count, switch_count, has_certificate; /* of its repro */
    uint64_t before_count, is_unrepeated;                         /* as in struct finding */
};

/* entries and lists: count of them.  lists[i] is NULL when it is not needed any more, or is not
 * there yet. */
struct shrink_queue {
    struct shrink_entry *entries;
    struct trial_result **lists;
    size_t count, capacity;
    size_t next; /* all before it wait no more */
};
void shrink_queue_deinit(struct shrink_queue *queue);
/* True if all entries before next wait no more, only entries that wait have lists, and every entry
 * whose files gave way was saved. */
bool shrink_queue_invariants_hold(const struct shrink_queue *queue);

/* True if the number-th verdict of a signature enters the queue: the first three, then the 4th, the
 * 8th, the 16th …, in case that all of these show another finding. */
bool shrink_queue_takes(uint64_t number);

/* Appends one, with the list of the finding that is selected.  Returns it; it stays where it is
 * until the next is added. */
struct shrink_entry *shrink_queue_add(struct shrink_queue *queue,
                                      const struct trial_result *trial_result, size_t finding);
/* Returns the entry's verdict as a report has it, without files.  part_name is the part of its
 * task; known is the finding that it counts as. */
struct report_finding shrink_entry_report(const struct shrink_entry *entry, const char *part_name,
                                          const struct finding *known);
/* Appends one that was read. */
void shrink_queue_restore(struct shrink_queue *queue, const struct shrink_entry *entry);

/* The first that waits; NULL: none does. */
struct shrink_entry *shrink_queue_first(struct shrink_queue *queue);
/* Returns the entry's list; NULL: the trial must be run again for it. */
struct trial_result *shrink_queue_list(const struct shrink_queue *queue,
                                       const struct shrink_entry *entry);
/* It waits no more, and its list goes. */
void shrink_queue_end(struct shrink_queue *queue, struct shrink_entry *entry,
                      enum shrink_state state);

/* The list of the entry showed another finding than it was seen as, which counts it then. */
void shrink_entry_move(struct shrink_entry *entry, const struct findings *findings,
                       const char *signature);
/* The files of the entry are the best of the finding: those that it had give way. */
void shrink_queue_take_files(struct shrink_queue *queue, const struct shrink_entry *entry,
                             struct finding *finding);

/* The task of a trial that an entry waits for, one after the other: those from *at on.  False:
 * there is no more. */
bool shrink_queue_missing(const struct shrink_queue *queue, size_t *at, struct task *task);
/* Takes the lists out of a trial that was run again.  False: no entry waited for that trial. */
bool shrink_queue_put(struct shrink_queue *queue, struct trial_result *trial_result);

#endif
