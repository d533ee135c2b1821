#include "campaign/base/interrupt.h"

#include "campaign/base/file.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_requested, has_unfinished;
static char
    unfinished[FILE_PATH_BYTES]; /* with has_unfinished; not changed as long as that is set */

/* timeout(1) and its like send a signal to the program, and to its group at once: two that come
 * within so short a time are one. */
#define TWIN_NS 100000000

static struct timespec first_time;

static bool is_twin(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const long long passed_ns = (now.tv_sec - first_time.tv_sec) * 1000000000LL +
                                (now.tv_nsec - first_time.tv_nsec);
    return passed_ns < TWIN_NS;
}

/* A later one of the same number; calls only what a handler may call. */
static void remove_and_raise(int number)
{
    if (is_twin()) {
        return;
    }
    if (has_unfinished) {
        (void)unlink(unfinished);
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* it comes once this returns */
}

static void note_request(int number)
{
    const struct sigaction action = {.sa_handler = remove_and_raise};
    if (!is_requested) {
        (void)clock_gettime(CLOCK_MONOTONIC, &first_time);
    }
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
