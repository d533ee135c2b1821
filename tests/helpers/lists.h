/* Lists of ops as text, and whole trials: what does not come about fails the test. */
#ifndef TESTS_HELPERS_LISTS_H
#define TESTS_HELPERS_LISTS_H

#include "harness/run/run.h"
#include "harness/run/trial.h"

/* The setup and the ops of a text, whose first line may be left out; the caller deinitialises the
 * list. */
void read_list(const char *text, struct setup *setup, struct op_list *ops);
/* What is printed of them, behind a comment; ops NULL: of the head alone.  The caller frees it. */
char *list_text(const struct setup *setup, const struct op_list *ops, const char *comment);
/* Its ops, a line each (tests/helpers/shown.h). */
void show_ops(const struct op_list *ops);

struct run *begin_run(const struct target *target, const struct setup *setup);
void step_all(struct run *run, const struct op_list *ops);

/* A trial of a scenario on a target. */
struct trial_wish {
    const char *target;
    const struct scenario *scenario;
    uint64_t seed;
    uint64_t op_count_max;   /* 0: as many as a trial of the scenario has */
    uint64_t capacity_bytes; /* 0: that of its chip, or what it draws */
    uint32_t faults;
    const char *key, *value; /* an option of the target; NULL: none */
};
/* As a run without any options makes it. */
void wish_set_up(const struct trial_wish *wish, struct setup *setup);
void wish_play(const struct trial_wish *wish, struct trial *trial);

#endif
