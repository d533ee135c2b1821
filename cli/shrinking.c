#include "cli/shrinking.h"

#include "cli/certificates.h"
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
/* The head of its answer; the ops follow, then the certificate. */
struct answer {
    struct verdict first;
    uint64_t replays;
    uint64_t op_count;
    bool is_minimal;
};

static void take_certificate(void *context, const struct run *run, const struct verdict *verdict)
{
    struct writing *certificate = context;
    if (verdict->kind != VERDICT_PREMATURE && verdict->kind != VERDICT_DISPUTED)
        return;
    writing_clear(certificate);
    certificate_append(run, certificate);
}

/* Runs the shrunk list once more for the certificate of what it ends with. */
static void prove(const struct work *work, const struct op_list *ops, struct writing *certificate)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    const struct run_listener listener = {certificate, take_certificate};
    if (trial_replay(work->target, work->setup, ops, &listener, &trial, reason))
        trial_deinit(&trial);
}

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
    answer.op_count = result.ops.count;
    answer.is_minimal = result.is_minimal;
    struct writing certificate;
    writing_init(&certificate);
    prove(work, &result.ops, &certificate);
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, result.ops.ops, result.ops.count * sizeof *result.ops.ops) &&
           file_write_all(file, certificate.bytes, certificate.length));
    writing_deinit(&certificate);
    op_list_deinit(&result.ops);
}

static bool take_answer(const struct writing *bytes, struct shrunk *shrunk)
{
    struct answer answer;
    if (bytes->length <= sizeof answer)
        return false;
    memcpy(&answer, bytes->bytes, sizeof answer);
    size_t rest = bytes->length - sizeof answer;
    if (answer.op_count == 0 || answer.op_count > rest / sizeof(struct op))
        return false;
    shrunk->first = answer.first;
    shrunk->replays = answer.replays;
    shrunk->is_minimal = answer.is_minimal;
    op_list_clear(&shrunk->ops);
    const char *from = bytes->bytes + sizeof answer;
    for (uint64_t i = 0; i < answer.op_count; i++, from += sizeof(struct op)) {
        struct op op;
        memcpy(&op, from, sizeof op);
        op_list_append(&shrunk->ops, &op);
    }
    writing_clear(&shrunk->certificate);
    writing_append_bytes(&shrunk->certificate, from, rest - answer.op_count * sizeof(struct op));
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
