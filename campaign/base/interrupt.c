#include "campaign/base/interrupt.h"

#include "campaign/base/file.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t is_requested, has_unfinished;
static char
    unfinished[FILE_PATH_BYTES]; /* with has_unfinished; not changed as long as that is set */

/* The second one of its number; calls only what a handler may call. */
static void remove_and_raise(int number)
{
    if (has_unfinished) {
        (void)unlink(unfinished);
    }
    (void)raise(number); /* the default, as SA_RESETHAND says, once this returns */
}

static void note_request(int number)
{
    const struct sigaction action = {.sa_handler = remove_and_raise, .sa_flags = (int)SA_RESETHAND};
    is_requested = 1;
    (void)sigaction(number, &action, NULL);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

void interrupt_install(void)
{
    const struct sigaction action = {.sa_handler = note_request};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

void interrupt_ignore(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)signal(signals[i], SIG_IGN);
    }
}

void interrupt_take_one(int number)
{
    const struct sigaction action = {.sa_handler = note_request};
    (void)sigaction(number, &action, NULL);
}

bool interrupt_is_requested(void)
{
    return is_requested != 0;
}

void interrupt_removes(const char *path)
{
    has_unfinished = 0;
    if (path == NULL) {
        return;
    }
    snprintf(unfinished, sizeof unfinished, "%s", path);
    has_unfinished = 1;
}
