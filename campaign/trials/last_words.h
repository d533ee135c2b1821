/* The state that a worker leaves behind when its target ends it: how it died, the ops chosen so
 * far, and what they had shown by then. */
#ifndef CAMPAIGN_TRIALS_LAST_WORDS_H
#define CAMPAIGN_TRIALS_LAST_WORDS_H

#include "campaign/process/death.h"
#include "harness/lanes/lanes_search.h"
#include "harness/run/run.h"

/* It lies in memory that the parent shares. */
enum { LAST_OP_COUNT_MAX = 1 << 20, LAST_SWITCH_COUNT_MAX = 1 << 18 };
struct last_words {
    struct death death;
    struct setup setup;
    bool has_begun;
    uint32_t stray_count; /* processes that were still there at its end, and were killed */
    uint64_t op_count;    /* beyond LAST_OP_COUNT_MAX they are only counted */
    struct op ops[LAST_OP_COUNT_MAX];
    struct run_findings findings; /* without lanes */
    bool has_lanes;               /* a schedule of the ops was tried */
    uint64_t switch_count;        /* of that schedule so far; the same */
    struct schedule_switch switches[LAST_SWITCH_COUNT_MAX];
};
struct last_words *last_words_create(void); /* NULL: no memory */
void last_words_destroy(struct last_words *words);

/* Forgets all of it but the death. */
void last_words_clear(struct last_words *words);
/* Another list begins, with that setup; words is a struct last_words, as it is below. */
void last_words_begin(void *words, const struct setup *setup);
/* The list goes on with that op. */
void last_words_note(void *words, const struct op *op);
/* Notes what the ops have shown by now, unless they have lanes. */
void last_words_note_findings(struct last_words *words, const struct run_findings *findings);
/* Has every schedule noted in words, which is the context of what is returned. */
struct lanes_witness last_words_witness(struct last_words *words);

/* Appends the ops that were noted, with the schedule. */
void last_words_take(const struct last_words *words, struct op_list *ops);

#endif
