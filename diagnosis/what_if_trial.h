/* Single remedies, tried when a cause asks for one, within a bound on what may be run. */
#ifndef DIAGNOSIS_WHAT_IF_TRIAL_H
#define DIAGNOSIS_WHAT_IF_TRIAL_H

#include "diagnosis/forecast.h"
#include "diagnosis/what_if_row.h"

/* The outcome of the remedies of one cause. */
struct what_if_answer {
    const struct remedy *remedy;
    bool is_tried;          /* row and forecast say how it went; otherwise row.note says why not */
    struct what_if_row row; /* of the smallest change that fits, otherwise of the last one */
    struct forecast forecast; /* of the variant */
    char sign[ADVICE_SIGN_BYTES];
};

/* A list and what was found out of it so far. */
struct what_if_trial;
/* The list up to its out-of-memory, as what_if_run has it.  target, setup and ops outlive the
 * trial.  Nothing is run before it is needed, and at most ops_max ops in all.  Runs the target in
 * this process. */
struct what_if_trial *what_if_trial_create(const struct target *target, const struct setup *setup,
                                           const struct op_list *ops, uint64_t ops_max);
void what_if_trial_destroy(struct what_if_trial *trial);

/* Tries the remedies (ended by NULL) that users of the list's system can do and that apply to the
 * list, up to the first that fits; of the parameters of each at most 3.  *answer: that one, or the
 * first of those that do not fit.  tag: what the cause names; NULL: nothing.  False: there is none.
 */
bool what_if_trial_answer(struct what_if_trial *trial, const struct remedy *const *remedies,
                          const uint8_t *tag, struct what_if_answer *answer);

/* Forecasts the list as it is.  False: the bound does not allow to run it. */
bool what_if_trial_forecast(struct what_if_trial *trial, struct forecast *forecast);

#endif
