/* How infer tells what it found: for people, and as JSON lines. */
#ifndef INFER_PRINT_H
#define INFER_PRINT_H

#include "harness/base/writing.h"
#include "infer/effect.h"
#include "infer/inference.h"
#include "infer/option_values.h"

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

void infer_print_text(const struct infer_result *result, struct writing *text);
void infer_print_json(const struct infer_result *result, struct writing *text);

#endif
