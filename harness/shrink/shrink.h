/* Makes a failing list shorter and never lets it become another finding: each shorter list is
 * tried, and counts only when it ends in the same signature (harness/oracle/signature.h). */
#ifndef HARNESS_SHRINK_SHRINK_H
#define HARNESS_SHRINK_SHRINK_H

#include "harness/oracle/signature.h"
#include "harness/run/run.h"

struct shrink_result {
    struct op_list ops; /* the caller deinits */
    /* that ops are run with; that of the try, unless it was allowed to change */
    struct setup setup;
    struct verdict first; /* what the shrunk list breaks */
    uint64_t replays;     /* lists tried */
    bool is_minimal;      /* no single op can be removed, together with those that name it */
};

/* The answer to: did a refused request lack mitigations after which it would have fitted? */
enum shrink_cause {
    SHRINK_CAUSE_OPEN = 0, /* nothing tells */
    SHRINK_CAUSE_OWN,      /* with them it is granted */
    SHRINK_CAUSE_OTHER     /* with them it fits at once, and is refused, too */
};

/* The way to try a list, and how much work that may be. */
struct shrink_try {
    void *context;
    /* True only when ops, run with that setup, end in the finding that is kept: then *ops is the
     * list as it ran, references resolved and cut behind the op that broke, and *first is its
     * verdict.  Otherwise both stay as they are. */
    bool (*is_same)(void *context, const struct setup *setup, struct op_list *ops,
                    struct verdict *first);
    /* Runs in the same way a list that counts, from which ops before the last were removed, or the
     * last one's alignment or some of its size.  True when it ends in a finding that explains the
     * kept one, at that op: from then on that one is kept.  NULL: nothing explains another. */
    bool (*explains)(void *context, const struct setup *setup, struct op_list *ops,
                     struct verdict *first);
    /* Asked once, of the list as it came, that what lacked was made before its last op.  OTHER:
     * *ops shows the other finding, *first is its verdict, and that one is kept from then on.  OWN:
     * a shorter list, in which another defect refuses the request too, explains nothing.  NULL
     * where explains is. */
    enum shrink_cause (*find_cause)(void *context, const struct setup *setup, struct op_list *ops,
                                    struct verdict *first);
    /* Hears of each list that counts, the first one too, as it would be the result if no other
     * came: whoever may be stopped at any time keeps it.  NULL: nobody hears. */
    void (*found)(void *context, const struct shrink_result *so_far);
    void *found_context;
    const struct setup *setup; /* of the list.  Sizes are made simpler in units of its granule */
    bool changes_setup;    /* capacity, granule and hosts may be made simpler, too; no chip is named
                              then */
    const uint64_t *cost;  /* of the list tried last, in ops; NULL: their count */
    uint64_t op_count_max; /* in all lists that are tried, together; 0 = without a bound */
    uint64_t search_count_max; /* edits in a row that make the list no shorter, before the search
                                  ends; 0 = no search */
};

/* A way to try: in this process, for rules that a verdict names.  The context of shrink_replay. */
struct shrink_replaying {
    const struct target *target;
    char signature[SIGNATURE_BYTES]; /* to keep; "" = the gravest that the first list shows */
    uint64_t cost; /* set by each: its ops, with what moving blocks and judging took in addition */
};
/* A target that does not take the granule of the setup, but one of its own, is no way to show a
 * finding with it. */
bool shrink_replay(void *context, const struct setup *setup, struct op_list *ops,
                   struct verdict *first);
/* True if it explains the finding; tries in the same way (signature_explains). */
bool shrink_explain(void *context, const struct setup *setup, struct op_list *ops,
                    struct verdict *first);
/* The cause in the same way.  The mitigations are ops: defragment, time that passes, unloads. */
enum shrink_cause shrink_find_cause(void *context, const struct setup *setup, struct op_list *ops,
                                    struct verdict *first);

/* ops must end in the finding: returns false, with nothing to deinit, when they do not.
 * replay_count_max bounds the work, as op_count_max does.  The same list gives the same result,
 * however fast the machine is.  In this order:
 *
 * - where a mitigation was lacking it is made before the refused request: if that is refused
 *   although it fits at once, that is what is found;
 * - what the op that broke refers to, with what lived then, or what happened shortly before: one
 *   replay each;
 * - chunks of lifetimes (a request with all ops that name it), chunks of ops, then single ones;
 * - of a list with lanes the schedule goes first, as far as it can, and as few lanes are left as
 *   can be;
 * - requests become one; sizes, delays, alignments, tags, hosts, then the setup, become simpler;
 * - of a list without lanes: a local search, whose chance has one seed, drops several ops at once,
 *   merges, moves and exchanges them (harness/shrink/shrink_search.c);
 * - single ops once more;
 * - where the op that broke is refused even without its alignment, or without one of the lifetimes
 *   that are left, or with a smaller size, and that explains the finding, it is what is found; not
 *   where the first step showed that the mitigation was what lacked.
 *
 * A long list costs a few dozen replays of all of it; from then on lists are short. */
bool shrink(const struct shrink_try *attempt, const struct op_list *ops, uint64_t replay_count_max,
            struct shrink_result *result);

#endif
