#include "explore/private/scheduler_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TASK_TEXT_BYTES = 512 };

/* The names of calls that are seen often, or that a newer way of waiting has. */
static const struct {
    long number;
    const char *name;
    bool is_output;
} named[] = {
    {SYS_futex, "futex", false},
    {SYS_read, "read", false},
    {SYS_readv, "readv", false},
    {SYS_recvfrom, "recvfrom", false},
    {SYS_recvmsg, "recvmsg", false},
    {SYS_ppoll, "ppoll", false},
    {SYS_pselect6, "pselect6", false},
    {SYS_epoll_pwait, "epoll_pwait", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", false},
    {SYS_rt_sigsuspend, "rt_sigsuspend", false},
    {SYS_wait4, "wait4", false},
    {SYS_waitid, "waitid", false},
    {SYS_msgrcv, "msgrcv", false},
    {SYS_semtimedop, "semtimedop", false},
    {SYS_mq_timedreceive, "mq_timedreceive", false},
    {SYS_flock, "flock", false},
#ifdef SYS_poll
    {SYS_poll, "poll", false},
    {SYS_select, "select", false},
    {SYS_epoll_wait, "epoll_wait", false},
    {SYS_pause, "pause", false},
#endif
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, "futex_waitv", false},
#endif
    {SYS_write, "write", true},
    {SYS_writev, "writev", true},
    {SYS_sendto, "sendto", true},
    {SYS_sendmsg, "sendmsg", true},
};
enum { NAMED_COUNT = sizeof named / sizeof *named };

/* /proc/self/task/TASK/NAME.  False: it cannot be read. */
static bool read_file(int task, const char *name, char text[TASK_TEXT_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", task, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const ssize_t length = read(file, text, TASK_TEXT_BYTES - 1);
    (void)close(file);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    return true;
}

/* "TASK (name) S ...": the name may have any bytes, the closing bracket, too. */
static char read_state(int task)
{
    char text[TASK_TEXT_BYTES];
    const char *bracket = read_file(task, "stat", text) ? strrchr(text, ')') : NULL;
    return bracket != NULL && bracket[1] == ' ' ? bracket[2] : '?';
}

/* "202 0x... ...", or "running". */
static long read_call(int task)
{
    char text[TASK_TEXT_BYTES];
    char *end = text;
    const long number = read_file(task, "syscall", text) ? strtol(text, &end, 10) : -1;
    return end == text ? -1 : number;
}

bool task_is_asleep(int task, struct sleep_call *call)
{
    if (task == 0 || read_state(task) != 'S') {
        return false;
    }
    call->number = read_call(task);
    return true;
}

/* The row of the call in named; NAMED_COUNT: none. */
static size_t find_named(const struct sleep_call *call)
{
    size_t i = 0;
    while (i < NAMED_COUNT && named[i].number != call->number) {
        i++;
    }
    return i;
}

bool sleep_call_is_output(const struct sleep_call *call)
{
    const size_t i = find_named(call);
    return i < NAMED_COUNT && named[i].is_output;
}

const char *sleep_call_print(const struct sleep_call *call, char text[SLEEP_CALL_TEXT_BYTES])
{
    const size_t i = find_named(call);
    if (i < NAMED_COUNT) {
        return named[i].name;
    }
    if (call->number < 0) {
        return "the kernel";
    }
    snprintf(text, SLEEP_CALL_TEXT_BYTES, "system call %ld", call->number);
    return text;
}
