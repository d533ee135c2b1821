#include "diagnosis/what_if_trial.h"

#include "diagnosis/private/what_if_parts.h"
#include "harness/base/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARAMETERS_TRIED = 3 };

struct what_if_trial {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
    uint64_t ops_left;
    bool is_begun, is_ready; /* ready: base and given are there */
    struct what_if_base base;
    struct remedy_case given;
    struct remedy_result variant;
};

struct what_if_trial *what_if_trial_create(const struct target *target, const struct setup *setup,
                                           const struct op_list *ops, uint64_t ops_max)
{
    struct what_if_trial *trial = calloc(1, sizeof *trial);
    CHECK(trial != NULL);
    *trial = (struct what_if_trial){
        .target = target, .setup = setup, .ops = ops, .ops_left = ops_max};
    remedy_result_init(&trial->variant);
    return trial;
}

void what_if_trial_destroy(struct what_if_trial *trial)
{
    if (trial->is_ready) {
        remedy_case_deinit(&trial->given);
    }
    if (trial->is_begun) {
        what_if_base_deinit(&trial->base);
    }
    remedy_result_deinit(&trial->variant);
    free(trial);
}

/* Takes so many ops off what may be run.  False: there are not so many left. */
static bool spend(struct what_if_trial *trial, size_t op_count)
{
    if (op_count > trial->ops_left) {
        return false;
    }
    trial->ops_left -= op_count;
    return true;
}

/* False: the list cannot be run, or its first failure is no out-of-memory. */
static bool begin(struct what_if_trial *trial)
{
    if (!trial->is_begun && spend(trial, trial->ops->count)) {
        trial->is_begun = true;
        trial->is_ready = what_if_base_init(&trial->base, trial->target, trial->setup,
                                            trial->ops) == WHAT_IF_DONE;
        if (trial->is_ready) {
            remedy_case_init(&trial->given, trial->target, &trial->base.contract,
                             &trial->base.setup, &trial->base.ops, trial->base.has_failed);
        }
    }
    return trial->is_ready;
}

/* False: the bound is reached, and row.note says so. */
static bool try_parameter(struct what_if_trial *trial, uint64_t parameter,
                          struct what_if_answer *answer)
{
    struct what_if_row *row = &answer->row;
    if (!spend(trial, trial->variant.ops.count)) {
        if (!answer->is_tried) {
            snprintf(row->note, sizeof row->note, "not tried, for the length of the list");
        }
        return false;
    }
    *row = (struct what_if_row){.remedy = answer->remedy, .parameter = parameter};
    remedy_title(answer->remedy, &trial->given, parameter, row->title);
    snprintf(row->note, sizeof row->note, "%s", trial->variant.note);
    what_if_measure(trial->target, &trial->variant.setup, &trial->variant.ops, row,
                    &answer->forecast);
    answer->is_tried = row->end != WHAT_IF_DOES_NOT_APPLY;
    return true;
}

/* False: it does not apply to the list. */
static bool try_remedy(struct what_if_trial *trial, const struct remedy *remedy,
                       struct what_if_answer *answer)
{
    bool applies = false;
    answer->remedy = remedy;
    for (size_t i = 0; i < PARAMETERS_TRIED; i++) {
        char note[REMEDY_NOTE_BYTES];
        uint64_t parameter = 0;
        if (remedy->parameter != NULL ? !remedy->parameter(&trial->given, i, &parameter, note)
                                      : i > 0) {
            break;
        }
        if (!remedy_apply(remedy, &trial->given, parameter, &trial->variant)) {
            continue;
        }
        applies = true;
        if (!try_parameter(trial, parameter, answer) || answer->row.end == WHAT_IF_FITS) {
            break;
        }
    }
    return applies;
}

static bool fits(const struct what_if_answer *answer)
{
    return answer->is_tried && answer->row.end == WHAT_IF_FITS;
}

bool what_if_trial_answer(struct what_if_trial *trial, const struct remedy *const *choices,
                          const uint8_t *tag, struct what_if_answer *answer)
{
    *answer = (struct what_if_answer){0};
    if (choices[0] == NULL || (!trial->is_ready && trial->is_begun)) {
        return false;
    }
    if (!begin(trial)) {
        answer->remedy = choices[0];
        snprintf(answer->row.note, sizeof answer->row.note,
                 "not tried, for the length of the list");
        return !trial->is_begun && advice_words(choices[0], trial->setup->system) != NULL;
    }
    trial->given.has_tag = tag != NULL;
    trial->given.tag = tag != NULL ? *tag : 0;
    bool is_there = false;
    for (size_t i = 0; choices[i] != NULL && !fits(answer); i++) {
        struct what_if_answer other = {0};
        if (advice_words(choices[i], trial->setup->system) != NULL &&
            try_remedy(trial, choices[i], &other)) {
            advice_sign(choices[i], &trial->given, other.row.sign);
            *answer = !is_there || fits(&other) ? other : *answer;
            is_there = true;
        }
    }
    return is_there;
}

bool what_if_trial_forecast(struct what_if_trial *trial, struct forecast *forecast)
{
    struct what_if_row row = {0};
    if (!begin(trial) || !spend(trial, trial->base.ops.count)) {
        return false;
    }
    what_if_measure(trial->target, &trial->base.setup, &trial->base.ops, &row, forecast);
    return true;
}
