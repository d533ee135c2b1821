#include "bug/build.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_BYTES_MAX = 1 << 20, VARIABLE_COUNT_MAX = 16, POLL_MS = 20 };

/* --- the variables of a command --- */

static bool is_of_name(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

/* The next $NAME or ${NAME} from *at on, which moves behind it.  False: there is none. */
static bool next_variable(const char **at, char name[BUG_WORD_BYTES])
{
    const char *found = strchr(*at, '$');
    size_t length = 0;
    if (found == NULL) {
        return false;
    }
    found += found[1] == '{' ? 2 : 1;
    while (is_of_name(found[length]) && length + 1 < BUG_WORD_BYTES) {
        length++;
    }
    memcpy(name, found, length);
    name[length] = '\0';
    *at = found + length;
    return true;
}

static bool is_on_path(const char *word)
{
    char place[4096];
    const char *path = getenv("PATH");
    if (strchr(word, '/') != NULL) {
        return access(word, X_OK) == 0;
    }
    for (path = path == NULL ? "" : path; *path != '\0';) {
        const int length = (int)strcspn(path, ":");
        snprintf(place, sizeof place, "%.*s/%s", length, path, word);
        if (access(place, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

void bug_build_compiler(const char *command, char word[BUG_WORD_BYTES])
{
    command += strspn(command, " \t\n");
    snprintf(word, BUG_WORD_BYTES, "%.*s", (int)strcspn(command, " \t\n"), command);
}

enum exit_code bug_build_check(const char *target, const char *command)
{
    char name[BUG_WORD_BYTES];
    for (const char *at = command; next_variable(&at, name);) {
        const char *value = name[0] == '\0' ? NULL : getenv(name);
        if (value == NULL || value[0] == '\0') {
            return message_fail(EXIT_USAGE,
                                "%s is not set in the environment; target %s builds its program "
                                "with: %s",
                                name, target, command);
        }
    }
    bug_build_compiler(command, name);
    if (name[0] != '$' && !is_on_path(name)) {
        return message_fail(EXIT_USAGE,
                            "there is no %s on this machine; target %s builds its "
                            "program with: %s",
                            name, target, command);
    }
    return EXIT_KEPT;
}

void bug_build_append_variables(const char *command, struct writing *text)
{
    char names[VARIABLE_COUNT_MAX][BUG_WORD_BYTES], name[BUG_WORD_BYTES];
    size_t count = 0;
    for (const char *at = command; count < VARIABLE_COUNT_MAX && next_variable(&at, name);) {
        size_t i = 0;
        while (i < count && strcmp(names[i], name) != 0) {
            i++;
        }
        if (i == count) {
            const char *value = getenv(name);
            char *word = malloc(SHELL_WORD_BYTES(value == NULL ? 0 : strlen(value)));
            CHECK(word != NULL);
            memcpy(names[count++], name, sizeof name);
            writing_append_format(text, "%s=%s\n", name,
                                  shell_word(value == NULL ? "" : value, word));
            free(word);
        }
    }
}

/* --- a command --- */

/* Starts the command, in the child. */
static _Noreturn void enter_command(const char *const *words, const char *folder, int output)
{
    const struct rlimit no_core = {0, 0};
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    for (int number = SIGHUP; number <= SIGTERM; number++) {
        (void)signal(number, SIG_DFL);
    }
    if (nothing >= 0 && chdir(folder) == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
        /* The arguments are not written to, whatever the type of execvp says. */
        char *copy[16];
        size_t count = 0;
        for (; words[count] != NULL && count + 1 < sizeof copy / sizeof *copy; count++) {
            copy[count] = strdup(words[count]);
        }
        copy[count] = NULL;
        (void)execvp(copy[0], copy);
    }
    _exit(127);
}

/* Reads what comes; false: nothing will come any more. */
static bool take_output(int file, struct writing *output)
{
    char bytes[4096];
    struct pollfd wait = {.fd = file, .events = POLLIN};
    if (poll(&wait, 1, POLL_MS) <= 0) {
        return true;
    }
    const ssize_t got = read(file, bytes, sizeof bytes);
    if (got > 0 && output->length < OUTPUT_BYTES_MAX) {
        writing_append_bytes(output, bytes, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static void await_command(pid_t process, int file, uint64_t duration_ns, struct writing *output,
                          struct bug_end *end)
{
    const uint64_t start_ns = clock_now_ns();
    bool is_open = true;
    while (is_open || waitpid(process, &end->status, WNOHANG) == 0) {
        if (clock_now_ns() - start_ns > duration_ns || interrupt_is_requested()) {
            end->is_stopped = true;
            (void)kill(-process, SIGKILL);
            (void)waitpid(process, &end->status, 0);
            return;
        }
        if (is_open) {
            is_open = take_output(file, output);
        } else {
            (void)poll(NULL, 0, POLL_MS);
        }
    }
}

bool bug_build_run(const char *const *words, const char *folder, uint64_t duration_ns,
                   struct writing *output, struct bug_end *end)
{
    int files[2];
    *end = (struct bug_end){0};
    if (pipe2(files, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t process = fork();
    if (process == 0) {
        enter_command(words, folder, files[1]);
    }
    const int reason = errno;
    close(files[1]);
    if (process > 0) {
        await_command(process, files[0], duration_ns, output, end);
    }
    close(files[0]);
    errno = reason;
    return process > 0;
}

void bug_end_print(const struct bug_end *end, uint64_t duration_ns, char text[BUG_END_TEXT_BYTES])
{
    char duration[SIZE_TEXT_BYTES];
    duration_print(duration_ns, duration);
    if (end->is_stopped) {
        snprintf(text, BUG_END_TEXT_BYTES, "no end within %s", duration);
    } else if (WIFSIGNALED(end->status)) {
        snprintf(text, BUG_END_TEXT_BYTES, "signal %d (%s)", WTERMSIG(end->status),
                 strsignal(WTERMSIG(end->status)));
    } else {
        snprintf(text, BUG_END_TEXT_BYTES, "exit status %d", WEXITSTATUS(end->status));
    }
}
