#include "campaign/trials/last_words.h"

#include "campaign/process/shared_memory.h"
#include "harness/lanes/lanes.h"

struct last_words *last_words_create(void)
{
    return shared_memory_create(sizeof(struct last_words));
}

void last_words_destroy(struct last_words *words)
{
    shared_memory_destroy(words, sizeof *words);
}

void last_words_clear(struct last_words *words)
{
    words->stray_count = 0;
    words->op_count = 0;
    words->findings.count = 0;
    words->has_begun = words->has_lanes = false;
}

void last_words_begin(void *words, const struct setup *setup)
{
    struct last_words *last = words;
    last->setup = *setup;
    last->op_count = 0;
    last->has_begun = true;
}

void last_words_note(void *words, const struct op *op)
{
    struct last_words *last = words;
    if (last->op_count < LAST_OP_COUNT_MAX) {
        last->ops[last->op_count] = *op;
    }
    last->op_count++;
}

void last_words_note_findings(struct last_words *words, const struct run_findings *findings)
{
    if (!words->has_lanes && findings->count != words->findings.count) {
        run_findings_copy(&words->findings, findings);
    }
}

static void note_schedule(void *context, const struct setup *setup, const struct op_list *ops)
{
    struct last_words *words = context;
    words->switch_count = 0;
    if (words->has_lanes) {
        return; /* another schedule of the same list */
    }
    last_words_begin(words, setup);
    for (size_t i = 0; i < ops->count; i++) {
        last_words_note(words, &ops->ops[i]);
    }
    words->has_lanes = true;
}

static void note_switch(void *context, const struct schedule_switch *taken)
{
    struct last_words *words = context;
    if (words->switch_count < LAST_SWITCH_COUNT_MAX) {
        words->switches[words->switch_count++] = *taken;
    }
}

struct lanes_witness last_words_witness(struct last_words *words)
{
    return (struct lanes_witness){words, note_schedule, note_switch};
}

void last_words_take(const struct last_words *words, struct op_list *ops)
{
    const uint64_t noted = words->op_count < LAST_OP_COUNT_MAX ? words->op_count
                                                               : LAST_OP_COUNT_MAX;
    for (uint64_t i = 0; i < noted; i++) {
        op_list_append(ops, &words->ops[i]);
    }
    if (words->has_lanes) {
        lanes_append_schedule(ops, words->switches, words->switch_count);
    }
}
