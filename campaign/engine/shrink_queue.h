/* The verdicts of a campaign that are to be shrunk, in the order in which they were seen.  One is
 * shrunk at a time, beside the trials; its line is written at the end, so that results.jsonl does
 * not depend on how long that took.  Entries are open values without pointers, saved as they are;
 * the op lists are in memory alone: a trial that is run again gives them again. */
#ifndef CAMPAIGN_ENGINE_SHRINK_QUEUE_H
#define CAMPAIGN_ENGINE_SHRINK_QUEUE_H

#include "campaign/engine/findings.h"
#include "campaign/trials/trial_result.h"

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
