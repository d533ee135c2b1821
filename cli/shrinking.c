#include "cli/shrinking.h"

#include "cli/child.h"
#include "harness/shrink.h"

#include <string.h>

#define SHRINK_OP_COUNT_MAX UINT64_C(20000000)
enum { SHRINK_REPLAY_COUNT_MIN = 100 };
#define SHRINK_DURATION_NS UINT64_C(600000000000)

/* What the child works on. */
struct work {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
    uint64_t replay_count_max;
};
/* The head of its answer; the ops follow. */
struct answer {
    struct verdict first;
    uint64_t replays;
    bool is_minimal;
};

/* Answers with nothing when no promise is broken. */
static void shrink_and_answer(void *context, int file)
{
    const struct work *work = context;
    struct shrink_result result;
    if (!shrink(work->target, work->setup, work->ops, work->replay_count_max, &result))
        return;
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    answer.first = result.first;
    answer.replays = result.replays;
    answer.is_minimal = result.is_minimal;
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, result.ops.ops, result.ops.count * sizeof *result.ops.ops));
    op_list_deinit(&result.ops);
}

static bool take_answer(const struct writing *bytes, struct shrunk *shrunk)
{
    struct answer answer;
    if (bytes->length <= sizeof answer || (bytes->length - sizeof answer) % sizeof(struct op) != 0)
        return false;
    memcpy(&answer, bytes->bytes, sizeof answer);
    shrunk->first = answer.first;
    shrunk->replays = answer.replays;
    shrunk->is_minimal = answer.is_minimal;
    op_list_clear(&shrunk->ops);
    for (size_t i = sizeof answer; i < bytes->length; i += sizeof(struct op)) {
        struct op op;
        memcpy(&op, bytes->bytes + i, sizeof op);
        op_list_append(&shrunk->ops, &op);
    }
    return true;
}

static uint64_t affordable_replays(uint64_t replay_count_max, size_t op_count)
{
    uint64_t affordable = SHRINK_OP_COUNT_MAX / (op_count + 1);
    if (affordable < SHRINK_REPLAY_COUNT_MIN)
        affordable = SHRINK_REPLAY_COUNT_MIN;
    return affordable < replay_count_max ? affordable : replay_count_max;
}

static enum shrinking_end describe(enum child_end end, const char *death, char why[RUN_REASON_BYTES])
{
    switch (end) {
    case CHILD_DONE:
        snprintf(why, RUN_REASON_BYTES, "the recorded list breaks no promise when it is run again");
        return SHRINKING_NOT_BROKEN;
    case CHILD_DIED:
        snprintf(why, RUN_REASON_BYTES, "the target crashed meanwhile: %s", death);
        return SHRINKING_CRASHED;
    case CHILD_STOPPED:
        snprintf(why, RUN_REASON_BYTES, "interrupted, or not done in 10 minutes");
        return SHRINKING_STOPPED;
    default:
        snprintf(why, RUN_REASON_BYTES, "no process could be had: %m");
        return SHRINKING_FAILED;
    }
}

enum shrinking_end shrinking_run(const struct target *target, const struct setup *setup, const struct op_list *ops,
                                 uint64_t replay_count_max, struct shrunk *shrunk)
{
    struct work work = {target, setup, ops, affordable_replays(replay_count_max, ops->count)};
    struct writing bytes;
    char death[CHILD_DEATH_BYTES];
    writing_init(&bytes);
    enum child_end end = child_run(shrink_and_answer, &work, SHRINK_DURATION_NS, true, &bytes, death);
    enum shrinking_end result = SHRINKING_DONE;
    if (end != CHILD_DONE || !take_answer(&bytes, shrunk))
        result = describe(end, death, shrunk->why);
    writing_deinit(&bytes);
    return result;
}
