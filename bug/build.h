/* The program of a finding, built and run: commands in a folder, with their output and their end.
 */
#ifndef BUG_BUILD_H
#define BUG_BUILD_H

#include "campaign/base/message.h"
#include "harness/base/writing.h"

#include <stdint.h>

/* How a command ended. */
struct bug_end {
    int status;      /* as waitpid says it */
    bool is_stopped; /* it took longer than it may, and was killed */
};

/* Runs words (NULL at their end; the first one is looked for on the PATH) in the folder, without
 * input, in a process group of its own that ends with it.  What it prints, at most 1 MiB of it, is
 * appended; what it writes is no core.  At most duration_ns.  False: it cannot be started; errno
 * says why. */
bool bug_build_run(const char *const *words, const char *folder, uint64_t duration_ns,
                   struct writing *output, struct bug_end *end);

/* "exit status 1", "signal 11 (Segmentation fault)", "no end within 20s" */
enum { BUG_END_TEXT_BYTES = 96 };
void bug_end_print(const struct bug_end *end, uint64_t duration_ns, char text[BUG_END_TEXT_BYTES]);

/* Checks that the command can be run: each $NAME of it is set, and the compiler, its first word, is
 * on the PATH.  EXIT_KEPT, or EXIT_USAGE after one message. */
enum exit_code bug_build_check(const char *target, const char *command);

/* Appends "NAME=VALUE\n" for each variable of the command, once, the value as a shell reads it. */
void bug_build_append_variables(const char *command, struct writing *text);

/* The first word of the command. */
enum { BUG_WORD_BYTES = 256 };
void bug_build_compiler(const char *command, char word[BUG_WORD_BYTES]);

#endif
