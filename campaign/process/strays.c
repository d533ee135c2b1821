#include "campaign/process/guest.h"

#include "campaign/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Children that were there before, and ours: 64 workers, and what shrinks beside them. */
enum { KNOWN_COUNT_MAX = 256, FOUND_COUNT_MAX = 1024 };
#define PATIENCE_NS UINT64_C(1000000000)

static struct {
    bool is_adopting;
    bool is_lost; /* there were more than fit: none is ended then */
    size_t count;
    pid_t known[KNOWN_COUNT_MAX];
} strays;

/* --- the lists of children --- */

static size_t read_children(const char *path, pid_t *found, size_t count)
{
    FILE *file = fopen(path, "re");
    long process;
    while (file != NULL && count < FOUND_COUNT_MAX && fscanf(file, "%ld", &process) == 1) {
        found[count++] = (pid_t)process;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

/* Finds the children of all threads: any thread may have forked or adopted one. */
static size_t find_children(pid_t found[FOUND_COUNT_MAX])
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *thread;
    size_t count = 0;
    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        char path[64];
        if (!isdigit((unsigned char)thread->d_name[0])) {
            continue;
        }
        (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread->d_name);
        count = read_children(path, found, count);
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
    return count;
}

/* --- which are ours --- */

void strays_know(pid_t process)
{
    if (strays.count == KNOWN_COUNT_MAX) {
        strays.is_lost = true;
        return;
    }
    strays.known[strays.count++] = process;
}

void strays_forget(pid_t process)
{
    for (size_t i = 0; i < strays.count; i++) {
        if (strays.known[i] == process) {
            strays.known[i] = strays.known[--strays.count];
            return;
        }
    }
}

static bool is_known(pid_t process)
{
    for (size_t i = 0; i < strays.count; i++) {
        if (strays.known[i] == process) {
            return true;
        }
    }
    return false;
}

void strays_adopt(void)
{
    static pid_t found[FOUND_COUNT_MAX];
    if (strays.is_adopting) {
        return;
    }
    const size_t count = find_children(found);
    for (size_t i = 0; i < count; i++) {
        strays_know(found[i]);
    }
    strays.is_adopting = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

void strays_adopt_anew(void)
{
    strays.count = 0;
    strays.is_lost = false;
    strays.is_adopting = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* --- their end --- */

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

/* Returns true if the process had to be killed.  Until it is reaped no other has its number. */
static bool end_one(pid_t process)
{
    int status;
    return waitpid(process, &status, WNOHANG | __WALL) != process && kill(process, SIGKILL) == 0;
}

uint32_t strays_end(void)
{
    static pid_t found[FOUND_COUNT_MAX];
    uint32_t killed_count = 0;
    const uint64_t start_ns = clock_now_ns();
    if (!strays.is_adopting || strays.is_lost) {
        return 0;
    }
    for (bool is_first = true; has_children(); is_first = false) {
        const size_t count = find_children(found);
        size_t stray_count = 0;
        for (size_t i = 0; i < count; i++) {
            if (!is_known(found[i])) {
                stray_count++;
                killed_count += end_one(found[i]) && is_first;
            }
        }
        if (stray_count == 0 || clock_now_ns() - start_ns > PATIENCE_NS) {
            break;
        }
        (void)sched_yield();
    }
    return killed_count;
}

/* --- the guard --- */

enum { MARK_BYTES = 64, MARK_FILE_BYTES = 4096, READ_BYTES = 1 << 16, SCAN_COUNT_MAX = 200 };
#define MARK_VARIABLE "HBMSTRESS_GUEST"

/* mark is the name of a file in memory that each process below this one has mapped, and the value
 * of a variable that programs which they start have in their environment. */
static struct {
    bool is_wanted;
    pid_t process, owner;
    char mark[MARK_BYTES];
} guard;

void strays_want_guard(void)
{
    guard.is_wanted = true;
}

static bool has_text(const char *path, const char *text)
{
    static char bytes[READ_BYTES];
    const size_t length = strlen(text);
    size_t kept = 0;
    bool is_found = false;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;
    while (!is_found && file >= 0 && (got = read(file, bytes + kept, sizeof bytes - kept)) > 0) {
        const size_t total = kept + (size_t)got;
        is_found = memmem(bytes, total, text, length) != NULL;
        kept = total < length ? total : length;
        memmove(bytes, bytes + total - kept, kept);
    }
    if (file >= 0) {
        close(file);
    }
    return is_found;
}

static bool is_marked(pid_t process)
{
    char maps[64], environment[64];
    (void)snprintf(maps, sizeof maps, "/proc/%ld/maps", (long)process);
    (void)snprintf(environment, sizeof environment, "/proc/%ld/environ", (long)process);
    return has_text(maps, guard.mark) || has_text(environment, guard.mark);
}

/* True: it was one. */
static bool end_marked(pid_t process)
{
    const int handle = pidfd_open(process,
                                  0); /* its number may be another's when it is looked at */
    const bool is_one = handle >= 0 && is_marked(process);
    if (is_one) {
        (void)pidfd_send_signal(handle, SIGKILL, NULL, 0);
    }
    if (handle >= 0) {
        close(handle);
    }
    return is_one;
}

static bool end_all_marked(void)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    bool is_any = false;
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        const pid_t process = (pid_t)atol(entry->d_name);
        if (process > 0 && process != getpid()) {
            is_any |= end_marked(process);
        }
    }
    if (processes != NULL) {
        (void)closedir(processes);
    }
    return is_any;
}

static _Noreturn void stand_guard(int owner)
{
    struct pollfd file = {.fd = owner, .events = POLLIN};
    (void)prctl(PR_SET_NAME, "hbmstress-guard");
    (void)setsid(); /* no signal of a terminal or to a group comes here */
    (void)close_range(0, (unsigned)owner - 1, 0);
    (void)close_range((unsigned)owner + 1, ~0U, 0);
    while (poll(&file, 1, -1) < 0) {
        continue;
    }
    for (int i = 0; i < SCAN_COUNT_MAX && end_all_marked(); i++) {
        (void)poll(NULL, 0, 5);
    }
    _exit(0);
}

/* Runs at the end of a process that has ended all below it. */
static void dismiss_guard(void)
{
    if (guard.process <= 0 || guard.owner != getpid()) {
        return;
    }
    (void)strays_end();
    if (strays.count > 1) {
        return;
    }
    (void)kill(guard.process, SIGKILL);
    (void)waitpid(guard.process, NULL, 0);
}

static bool make_mark(void)
{
    (void)snprintf(guard.mark, sizeof guard.mark, "hbmstress-%ld-%" PRIx64, (long)getpid(),
                   clock_now_ns());
    const int file = memfd_create(guard.mark, MFD_CLOEXEC);
    const bool is_mapped = file >= 0 && ftruncate(file, MARK_FILE_BYTES) == 0 &&
                           mmap(NULL, MARK_FILE_BYTES, PROT_READ, MAP_SHARED, file, 0) !=
                               MAP_FAILED;
    if (file >= 0) {
        close(file);
    }
    return is_mapped && setenv(MARK_VARIABLE, guard.mark, 1) == 0;
}

void strays_start_guard(void)
{
    if (!guard.is_wanted || guard.owner != 0) {
        return;
    }
    guard.owner = getpid();
    const int owner = pidfd_open(guard.owner, 0);
    if (owner < 0) {
        return;
    }
    if (make_mark()) {
        guard.process = fork();
        if (guard.process == 0) {
            stand_guard(owner);
        }
    }
    close(owner);
    if (guard.process > 0) {
        strays_know(guard.process);
        (void)atexit(dismiss_guard);
    }
}
