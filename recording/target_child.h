/* Runs work that calls a target in a process of its own.  A target that dies or hangs is an answer;
 * any other failure ends the subcommand. */
#ifndef RECORDING_TARGET_CHILD_H
#define RECORDING_TARGET_CHILD_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/child.h"

/* Runs work within the time-outs of the options and appends what it answers.  EXIT_KEPT and *end
 * (DONE, DIED, STOPPED for a hang; *death says how), or EXIT_HARNESS after one message: the user
 * interrupted, there is no process, or a CHECK of ours did not hold. */
enum exit_code target_child(const struct run_options *options, struct death *death,
                            void (*work)(void *context, int file), void *context,
                            struct writing *answer, enum child_end *end);

/* The target that is asked, and the question; work answers with plain data. */
struct target_question {
    const struct run_options *options;
    struct death *death;
    void (*work)(void *context, int file);
    void *context;
};
struct target_reply {
    enum exit_code code;           /* of target_child() */
    bool is_whole;                 /* the answer came */
    bool is_dead;                  /* the target took its process with it, or hung */
    char words[DEATH_WORDS_BYTES]; /* how; "" where is_whole, or code is not KEPT */
};
/* Asks in a process of its own.  The answer is length bytes, which go to *to, and more_length bytes
 * behind them, which go to *more (NULL: nowhere).  Nothing is written where it is not whole. */
struct target_reply target_ask(const struct target_question *question, void *to, size_t length,
                               void *more, size_t more_length);

#endif
