/* Experiments on a target, in child processes, and the contract that they show. */
#ifndef INFER_INFER_H
#define INFER_INFER_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "infer/inference.h"
#include "infer/options.h"
#include "present/facts.h"

/* Texts belong to the caller. */
struct infer_options {
    const struct run_options *run; /* its target is not read */
    const char *target;
};

/* Makes all experiments and prints what they show.  EXIT_BROKEN: a promise of the declared contract
 * is refuted; otherwise the usual codes. */
enum exit_code infer_run(const struct infer_options *options);

/* --- how it is told --- */

/* One option of the target, and what its values changed. */
struct infer_option {
    struct option_values values;
    bool is_refused[OPTION_VALUE_COUNT_MAX]; /* the target does not accept that value */
    bool is_changed[EFFECT_COUNT];
    size_t tried_count; /* values that the target accepts */
};

/* All of it.  directory: where the op lists were saved; NULL: nowhere. */
struct infer_result {
    const struct setup *setup;
    const char *directory;
    const struct inference *inference;
    struct inference_line lines[FIELD_COUNT];
    struct inference_line rules[RULE_COUNT]; /* of rules without a field */
    const struct infer_option *options;      /* option_count of them */
    size_t option_count;
    size_t refuted_count, dead_count;
    int exit_code;
};

void infer_tell(const struct infer_result *result, struct facts *facts);

#endif
