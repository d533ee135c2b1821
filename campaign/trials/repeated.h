/* Finds out whether a finding shows again: its list alone in a fresh process, or only behind the
 * trials that its worker's process ran before. */
#ifndef CAMPAIGN_TRIALS_REPEATED_H
#define CAMPAIGN_TRIALS_REPEATED_H

#include "campaign/trials/earlier.h"
#include "campaign/trials/trial_result.h"

enum repeated_end {
    REPEATED_ALONE,
    REPEATED_AFTER,  /* only behind earlier trials: `earlier` has the fewest that were found */
    REPEATED_NOT,    /* it did not show again */
    REPEATED_UNTOLD, /* interrupted, or no process could be had */
};
struct repeated {
    enum repeated_end end;
    struct earlier earlier;
    uint64_t op_count; /* of the list, up to the op that broke behind the earlier ones */
};
void repeated_deinit(struct repeated *repeated);

/* The finding of the trial that is selected, with ops as its list, which alone is run three times
 * at most. */
enum repeated_end repeated_alone(const struct plan *plan, const struct trial_result *trial_result,
                                 const struct op_list *ops);

/* The same.  Then the earlier trials are regenerated, the last ones first are tried before the
 * list, and fewer of them, or their first ops alone, as long as it still shows: at most 400 tries,
 * and 30 s of wall time after the 20 s that the trials may have taken. */
void repeated_find(const struct plan *plan, const struct trial_result *trial_result,
                   const struct op_list *ops, struct repeated *repeated);

#endif
