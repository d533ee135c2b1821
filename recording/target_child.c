#include "recording/target_child.h"

#include "campaign/base/interrupt.h"

#include <errno.h>
#include <string.h>

enum exit_code target_child(const struct run_options *options, struct death *death,
                            void (*work)(void *context, int file), void *context,
                            struct writing *answer, enum child_end *end)
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = options->trial_timeout_ns,
                                  .op_timeout_ns = options->op_timeout_ns,
                                  .stuck_ns = options->op_timeout_ns,
                                  .is_interruptible = true};
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    *end = child_work(&job, answer, death);
    if (*end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (*end == CHILD_STOPPED && death->kind == DEATH_NONE) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    if (death->kind == DEATH_CHECK) {
        char words[DEATH_WORDS_BYTES];
        death_describe(death, words);
        return message_fail(EXIT_HARNESS, "internal error: %s. Please report this.", words);
    }
    return EXIT_KEPT;
}

struct target_reply target_ask(const struct target_question *question, void *to, size_t length,
                               void *more, size_t more_length)
{
    struct target_reply reply = {0};
    struct writing answer;
    enum child_end end;
    writing_init(&answer);
    reply.code = target_child(question->options, question->death, question->work, question->context,
                              &answer, &end);
    reply.is_dead = reply.code == EXIT_KEPT && end != CHILD_DONE;
    reply.is_whole = reply.code == EXIT_KEPT && end == CHILD_DONE &&
                     answer.length == length + more_length;
    if (reply.is_whole) {
        memcpy(to, answer.bytes, length);
    }
    if (reply.is_whole && more != NULL) {
        memcpy(more, answer.bytes + length, more_length);
    }
    if (reply.code == EXIT_KEPT && !reply.is_whole) {
        death_describe(question->death, reply.words);
    }
    writing_deinit(&answer);
    return reply;
}
