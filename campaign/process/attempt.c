#include "campaign/process/attempt.h"

#include "campaign/base/certificates.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/again.h"
#include "harness/trial/trial_run.h"

#include <string.h>

/* What the child works on. */
struct work {
    const struct attempt *attempt;
    const struct op_list *ops;
    bool is_certificate_wanted;
};
/* The head of its answer; the certificate follows. */
struct answer {
    struct verdict first;
    char signature[SIGNATURE_BYTES];
};

static void take_certificate(void *context, const struct run *run, const struct verdict *verdict)
{
    struct writing *certificate = context;
    if (verdict->kind != VERDICT_PREMATURE && verdict->kind != VERDICT_DISPUTED) {
        return;
    }
    writing_clear(certificate);
    run_print_certificate(run, certificate);
}

/* Answers with nothing when the target refuses. */
static void run_and_answer(void *context, int file)
{
    const struct work *work = context;
    struct trial trial;
    struct answer answer;
    struct writing certificate;
    char reason[RUN_REASON_BYTES];
    writing_init(&certificate);
    const struct run_listener listener = {&certificate, take_certificate};
    if (!trial_replay(work->attempt->target, work->attempt->setup, work->ops,
                      work->is_certificate_wanted ? &listener : NULL, &trial, reason)) {
        return;
    }
    if (work->attempt->is_run_again && trial.first.kind == VERDICT_NONE) {
        (void)again_breaks(work->attempt->target, &trial, &trial.first);
    }
    memset(&answer, 0, sizeof answer);
    answer.first = trial.first;
    signature_print(&trial.first, &trial.ops, answer.signature);
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, certificate.bytes, certificate.length));
    trial_deinit(&trial);
    writing_deinit(&certificate);
}

static void take_answer(const struct writing *bytes, struct writing *certificate,
                        struct attempt_result *result)
{
    struct answer answer;
    result->end = bytes->length < sizeof answer ? ATTEMPT_REFUSED : ATTEMPT_ENDED;
    if (result->end == ATTEMPT_REFUSED) {
        return;
    }
    memcpy(&answer, bytes->bytes, sizeof answer);
    result->first = answer.first;
    memcpy(result->signature, answer.signature, sizeof result->signature);
    if (certificate != NULL) {
        writing_append_bytes(certificate, bytes->bytes + sizeof answer,
                             bytes->length - sizeof answer);
    }
}

static void take_death(const struct death *death, struct attempt_result *result)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    result->end = death->kind == DEATH_CHECK ? ATTEMPT_FAULTY : ATTEMPT_DIED;
    result->first = (struct verdict){
        .kind = VERDICT_BROKEN, .rule = death_rule(death), .op = death->progress.op};
    snprintf(result->first.reason, sizeof result->first.reason, "%s", words);
    death_signature(death, result->signature);
}

void attempt_run(const struct attempt *attempt, const struct op_list *ops,
                 struct writing *certificate, struct attempt_result *result)
{
    struct work work = {attempt, ops, certificate != NULL};
    const struct child_job job = {.work = run_and_answer,
                                  .context = &work,
                                  .duration_ns = attempt->duration_ns,
                                  .op_timeout_ns = attempt->op_timeout_ns,
                                  .stuck_ns = attempt->stuck_ns,
                                  .is_interruptible = !attempt->is_uninterruptible};
    struct writing bytes;
    *result = (struct attempt_result){.end = ATTEMPT_FAILED, .op_count = ops->count};
    struct death *death = death_create();
    if (death == NULL) {
        return;
    }
    writing_init(&bytes);
    switch (child_work(&job, &bytes, death)) {
    case CHILD_DONE:
        take_answer(&bytes, certificate, result);
        break;
    case CHILD_NOT_BORN:
        break;
    case CHILD_STOPPED:
        if (death->kind == DEATH_NONE) {
            result->end = ATTEMPT_STOPPED;
            break;
        }
        /* fallthrough */
    case CHILD_FAULTY:
    case CHILD_DIED:
        take_death(death, result);
        break;
    }
    const bool is_in_list = result->first.kind != VERDICT_NONE && result->first.op < ops->count &&
                            (result->end == ATTEMPT_ENDED || death->progress.phase == PROGRESS_OP);
    /* With lanes the ops behind it may have run before it. */
    if (is_in_list && !lanes_are_in(ops)) {
        result->op_count = (size_t)result->first.op + 1;
    }
    writing_deinit(&bytes);
    death_destroy(death);
}
