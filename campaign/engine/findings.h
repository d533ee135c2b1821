/* The findings of a campaign: one for each signature, with how often it was seen and the files of
 * its shortest repro.  Open values without pointers, so that they can be saved as they are. */
#ifndef CAMPAIGN_ENGINE_FINDINGS_H
#define CAMPAIGN_ENGINE_FINDINGS_H

#include "campaign/trials/trial_result.h"
#include "present/report.h"

/* Of verdicts with one signature the first so many are shrunk; the shortest list is kept, the
 * others are counted.  A list may show a simpler signature when it is shrunk
 * (signature_stands_for): then it is one of that finding. */
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
/* No signature twice; of each finding what finding_find_wrong() looks at. */
bool findings_invariants_hold(const struct findings *findings);
/* The member that contradicts another: the verdicts that a finding was seen with are its own, or
 * moved to one that is named, or nobody could repeat them.  NULL: none does. */
const char *finding_find_wrong(const struct finding *finding);

/* The one of that signature; NULL: it was not seen yet. */
struct finding *findings_find(const struct findings *findings, const char *signature);
/* Whether one of them has files of that name. */
bool findings_have_base(const struct findings *findings, const char *base);
/* Appends one; stays where it is until the next is added. */
struct finding *findings_add(struct findings *findings, const struct finding *finding);

/* Seen by the verdict of that order in that trial, which may be the first. */
void finding_note_first(struct finding *finding, uint64_t order, uint64_t part, uint64_t trial,
                        uint64_t seed);

/* How many verdicts it has itself: not those that showed another finding, or that nobody could
 * repeat. */
static inline uint64_t finding_own_count(const struct finding *finding)
{
    return finding->count - finding->moved_count - finding->unrepeated_count;
}
/* Whether its number-th verdict, which is in the queue, is worth shrinking when its turn has come:
 * beyond the first three only where some showed another finding, or could not be repeated. */
bool finding_is_to_shrink(const struct finding *finding, uint64_t number);
/* At the end: the one that was seen first comes first, however long it took to shrink others.
 * Where all verdicts that were shrunk showed another finding, those that were only counted are
 * counted there, too. */
void findings_settle(struct findings *findings);
/* Whether it is a finding of its own. */
static inline bool finding_is_shown(const struct finding *finding)
{
    return finding_own_count(finding) > 0;
}
/* Whether a repro is better than the one that is kept: it shows again, it does so alone or behind
 * fewer lists, or else it is shorter. */
bool finding_repro_is_better(const struct finding *finding, uint64_t op_count,
                             uint64_t before_count, bool is_unrepeated);
/* How many of them are. */
size_t findings_shown_count(const struct findings *findings);
/* How many of them the baseline does not know. */
size_t findings_new_count(const struct findings *findings);
/* How many are shown of those that were seen first in that part. */
size_t findings_shown_in(const struct findings *findings, size_t part);

/* What a report says of them, the gravest first: findings_shown_count, to be freed by the caller
 * with findings_free_report.  Paths are those of files in directory; part_names[finding.part] says
 * where it was seen first. */
struct report_known *findings_report(const struct findings *findings, const char *directory,
                                     const char *const *part_names);
void findings_free_report(struct report_known *known, size_t count);

#endif
