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
