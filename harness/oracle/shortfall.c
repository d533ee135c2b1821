#include "harness/oracle/shortfall.h"

#include "harness/base/check.h"
#include "harness/oracle/private/layout.h"

#include <stdio.h>
#include <string.h>

/* A hint on each premature out-of-memory, not a verdict. */
#define SHORTFALL_NODES_MAX UINT64_C(20000)

enum shortfall_subject {
    SUBJECT_BUFFER = 0,
    SUBJECT_PROGRAM,
    SUBJECT_STACK, /* of a program whose image is there */
    SUBJECT_COUNT
};

/* The size of the largest hole, compared with the request. */
enum hole_slack {
    SLACK_SMALL = 0, /* size classes of eight for each doubling explain it */
    SLACK_MEDIUM,    /* a rounding up to a power of two explains it */
    SLACK_LARGE,
    SLACK_COUNT
};

/* missing is a bit for each mitigation, drain first: where any is, nothing else counts, because
 * requests of all kinds go through the same mitigations.  Where something was done instead, nothing
 * else counts either: it was not looked at again.  Slack does not count for a stack. */
struct shortfall {
    enum shortfall_subject subject;
    bool is_aligned; /* to so much that its place in the largest hole depends on it */
    unsigned missing;
    unsigned done; /* the same bits: what the target did for it; counts where none is missing */
    enum hole_slack slack;
};

enum {
    SHORTFALL_ALL = SHORTFALL_DRAIN | SHORTFALL_DEFRAGMENT | SHORTFALL_EVICT, /* nothing grows */
    SHORTFALL_ANY = SHORTFALL_ALL | SHORTFALL_TRIM | SHORTFALL_GROW
};

/* --- as text --- */

static void print_mitigations(const char *begin, unsigned mitigations, char *text,
                              size_t text_bytes)
{
    static const char *const names[] = {"drain", "defragment", "evict", "trim", "grow"};
    const char *separator = begin;
    size_t used = 0;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((mitigations >> i & 1) != 0) {
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", separator, names[i]);
            separator = " and ";
        }
    }
}

static void print_shortfall(const struct shortfall *shortfall,
                            char mechanism[VERDICT_MECHANISM_BYTES])
{
    static const char *const subjects[] = {"buffer", "program", "stack"};
    static const char *const slacks[] = {"under 9/8 of its size", "under twice its size",
                                         "of twice its size or more"};
    char how[64] = "fits at once";
    if (shortfall->missing != 0) {
        print_mitigations("fits after ", shortfall->missing, mechanism, VERDICT_MECHANISM_BYTES);
        return;
    }
    if (shortfall->done != 0) {
        print_mitigations("fits after its own ", shortfall->done, mechanism,
                          VERDICT_MECHANISM_BYTES);
        return;
    }
    if (shortfall->subject != SUBJECT_STACK) {
        (void)snprintf(how, sizeof how, "fits at once, in a hole %s", slacks[shortfall->slack]);
    }
    (void)snprintf(mechanism, VERDICT_MECHANISM_BYTES, "%s%s %s",
                   shortfall->is_aligned ? "aligned " : "", subjects[shortfall->subject], how);
}

/* The one that has this name.  There are few. */
static bool find_shortfall(const char *name, struct shortfall *found)
{
    enum { HOLE_COUNT = SUBJECT_COUNT * 2 * SLACK_COUNT };
    char text[VERDICT_MECHANISM_BYTES];
    for (unsigned i = 0; i < HOLE_COUNT + 2 * SHORTFALL_ANY; i++) {
        const unsigned bits = i < HOLE_COUNT ? 0 : i - HOLE_COUNT;
        *found = (struct shortfall){
            .subject = i % SUBJECT_COUNT,
            .is_aligned = i / SUBJECT_COUNT % 2 != 0,
            .slack = i / SUBJECT_COUNT / 2 % SLACK_COUNT,
            .missing = i >= HOLE_COUNT && bits < SHORTFALL_ANY ? bits + 1 : 0,
            .done = bits >= SHORTFALL_ANY ? bits - SHORTFALL_ANY + 1 : 0,
        };
        print_shortfall(found, text);
        if (strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

bool shortfall_is_simpler(const char *name, const char *than)
{
    struct shortfall a;
    struct shortfall b;
    if (!find_shortfall(name, &a) || !find_shortfall(than, &b)) {
        return false;
    }
    if (a.missing != 0 && b.missing != 0) {
        return (a.missing & b.missing) == a.missing;
    }
    if (a.done != 0 && b.done != 0) {
        return (a.done & b.done) == a.done;
    }
    return a.missing == b.missing && a.done == b.done && a.subject == b.subject &&
           a.is_aligned == b.is_aligned && a.slack >= b.slack;
}

bool shortfall_explains(const char *name, const char *than)
{
    struct shortfall a;
    struct shortfall b;
    if (!find_shortfall(name, &a) || !find_shortfall(than, &b) || a.missing != 0) {
        return false;
    }
    const bool has_less = a.is_aligned <= b.is_aligned && a.slack >= b.slack;
    if (b.missing != 0 || a.done != 0 || b.done != 0) {
        return b.missing != 0 || a.done == 0;
    }
    return a.subject == b.subject && has_less && strcmp(name, than) != 0;
}

bool shortfall_lacks_mitigation(const char *name)
{
    struct shortfall shortfall;
    return find_shortfall(name, &shortfall) && (shortfall.missing != 0 || shortfall.done != 0);
}

/* --- of an out-of-memory --- */

/* True if the request fits after these mitigations alone, as far as the budget tells. */
static bool fits_after(struct oracle *oracle, const struct oom *oom, unsigned mitigations)
{
    struct oom limited = *oom;
    struct verdict verdict = {0};
    limited.drains = oom->drains && (mitigations & SHORTFALL_DRAIN) != 0;
    limited.defrag = (mitigations & SHORTFALL_DEFRAGMENT) != 0 ? oom->defrag : DEFRAG_NONE;
    limited.evicts = oom->evicts && (mitigations & SHORTFALL_EVICT) != 0;
    limited.program_evicts_program = oom->program_evicts_program &&
                                     (mitigations & SHORTFALL_EVICT) != 0;
    limited.promised.trims = oom->promised.trims && (mitigations & SHORTFALL_TRIM) != 0;
    if (oom->needs_trim && !limited.promised.trims) {
        limited.faults_fired |= 1u << FAULT_REGION;
    }
    limited.faults_fired |= (mitigations & SHORTFALL_GROW) != 0 ? 0 : 1u << FAULT_REGION;
    oracle_judge(oracle, &limited, SHORTFALL_NODES_MAX, &verdict);
    return verdict.kind == VERDICT_PREMATURE;
}

/* The first of these after which it fits; the last one needs no question. */
static unsigned find_first(struct oracle *oracle, const struct oom *oom, const unsigned *sets,
                           size_t count)
{
    size_t i = 0;
    while (i + 1 < count && !fits_after(oracle, oom, sets[i])) {
        i++;
    }
    return sets[i];
}

/* The fewest mitigations; of as few the documented order decides. */
static unsigned find_missing(struct oracle *oracle, const struct oom *oom)
{
    static const unsigned by_count[] = {0,
                                        SHORTFALL_DRAIN,
                                        SHORTFALL_DEFRAGMENT,
                                        SHORTFALL_EVICT,
                                        SHORTFALL_DRAIN | SHORTFALL_DEFRAGMENT,
                                        SHORTFALL_DRAIN | SHORTFALL_EVICT,
                                        SHORTFALL_DEFRAGMENT | SHORTFALL_EVICT,
                                        SHORTFALL_ALL};
    static const unsigned growing[] = {0,
                                       SHORTFALL_DRAIN,
                                       SHORTFALL_GROW,
                                       SHORTFALL_DRAIN | SHORTFALL_GROW,
                                       SHORTFALL_TRIM | SHORTFALL_GROW,
                                       SHORTFALL_DRAIN | SHORTFALL_TRIM | SHORTFALL_GROW};
    return oom->promised.grows
               ? find_first(oracle, oom, growing, sizeof growing / sizeof growing[0])
               : find_first(oracle, oom, by_count, sizeof by_count / sizeof by_count[0]);
}

/* The room of the largest hole beyond the request, which fits. */
static uint64_t find_spare_bytes(const struct oom *oom, struct reach *reach)
{
    const struct reach_limits nothing = {0};
    struct oom held = *oom; /* holes of new regions do not count */
    struct reach_gap gap = reach_before_all;
    uint64_t largest = 0;
    held.faults_fired |= 1u << FAULT_REGION;
    reach_decide(reach, &held, &nothing);
    if (oom->placement != PLACEMENT_RANGES) {
        return sums_free_bytes(reach) - reach->need;
    }
    while (reach_next_gap(reach, &gap)) {
        largest = gap.end - gap.start > largest ? gap.end - gap.start : largest;
    }
    CHECK(largest >= reach->need);
    return largest - reach->need;
}

void shortfall_name(struct oracle *oracle, const struct oom *oom, struct reach *reach,
                    unsigned done, char mechanism[VERDICT_MECHANISM_BYTES])
{
    const struct oom_request *request = &oom->request;
    struct shortfall shortfall = {
        .missing = find_missing(oracle, oom),
        .done = done,
        .subject = request->size_bytes == 0           ? SUBJECT_STACK
                   : request->class == REQUEST_BUFFER ? SUBJECT_BUFFER
                                                      : SUBJECT_PROGRAM,
    };
    if (shortfall.missing == 0 && shortfall.done == 0 && shortfall.subject != SUBJECT_STACK) {
        const uint64_t spare_bytes = find_spare_bytes(oom, reach);
        shortfall.slack = spare_bytes < reach->need / 8 ? SLACK_SMALL
                          : spare_bytes < reach->need   ? SLACK_MEDIUM
                                                        : SLACK_LARGE;
        shortfall.is_aligned = oom->placement != PLACEMENT_PAGES &&
                               spare_bytes < request->align_bytes - oom->granule_bytes;
    }
    print_shortfall(&shortfall, mechanism);
}
