#include "tests/helpers/lists.h"

#include "harness/op/chip.h"
#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

void read_list(const char *text, struct setup *setup, struct op_list *ops)
{
    static const char first[] = "hbmstress-ops 1";
    struct ops_file_error error = {0};
    struct writing whole;
    writing_init(&whole);
    if (strncmp(text, first, strlen(first)) != 0) {
        writing_append_format(&whole, "%s\n", first);
    }
    writing_append(&whole, text);
    setup_init(setup);
    op_list_init(ops);
    ck_assert_msg(ops_file_parse(whole.bytes, whole.length, setup, ops, &error) == OPS_FILE_OK,
                  "line %zu: %s", error.line, error.reason);
    writing_deinit(&whole);
}

char *list_text(const struct setup *setup, const struct op_list *ops, const char *comment)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(stream);
    if (ops == NULL) {
        ops_file_print_head(stream, setup);
    } else {
        ops_file_print(stream, setup, ops, comment);
    }
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

void show_ops(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        char text[OP_TEXT_BYTES];
        show("%zu: %s\n", i, op_print(&ops->ops[i], text));
    }
}

struct run *begin_run(const struct target *target, const struct setup *setup)
{
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target, setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    return run;
}

void step_all(struct run *run, const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        (void)run_step(run, &ops->ops[i]);
    }
}

void wish_set_up(const struct trial_wish *wish, struct setup *setup)
{
    setup_init(setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", wish->target);
    (void)snprintf(setup->chip, sizeof setup->chip, "%s", wish->scenario->chip);
    setup->capacity_bytes = wish->capacity_bytes != 0
                                ? wish->capacity_bytes
                                : chip_find(wish->scenario->chip)->capacity_bytes;
    setup->seed = wish->seed;
    ck_assert(wish->key == NULL || setup_set_option(setup, wish->key, wish->value));
}

void wish_play(const struct trial_wish *wish, struct trial *trial)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    wish_set_up(wish, &setup);
    const struct trial_plan plan = {.target = target_find(wish->target),
                                    .scenario = wish->scenario,
                                    .setup = &setup,
                                    .capacity_is_free = wish->capacity_bytes == 0,
                                    .op_count_max = wish->op_count_max != 0
                                                        ? wish->op_count_max
                                                        : wish->scenario->ops_per_trial,
                                    .faults = {.kinds = wish->faults}};
    ck_assert_msg(trial_run(&plan, NULL, trial, reason), "%s: %s", wish->scenario->name, reason);
}
