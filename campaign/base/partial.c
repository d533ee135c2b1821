#include "campaign/base/partial.h"

#include "campaign/base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A process with our number may have left its file behind; so many times is no accident. */
enum { TRY_COUNT_MAX = 1000 };

/* No signal comes between the file and the note of it. */
static bool create_and_note(const char *path)
{
    sigset_t all, before;
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int reason = errno;
    if (file >= 0) {
        interrupt_removes(path);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (file >= 0) {
        (void)close(file);
    }
    errno = reason;
    return file >= 0;
}

bool partial_create(const char *beside, char partial[FILE_PATH_BYTES])
{
    const char *slash = strrchr(beside, '/');
    const int length = slash == NULL ? 0 : (int)(slash - beside) + 1;
    errno = EEXIST;
    for (int i = 0; i < TRY_COUNT_MAX && errno == EEXIST; i++) {
        if (snprintf(partial, FILE_PATH_BYTES, "%.*s.hbmstress-%ld-%d.partial", length, beside,
                     (long)getpid(), i) >= FILE_PATH_BYTES) {
            errno = ENAMETOOLONG;
        } else if (create_and_note(partial)) {
            return true;
        }
    }
    partial[0] = '\0';
    return false;
}

void partial_remove(char partial[FILE_PATH_BYTES])
{
    if (partial[0] == '\0') {
        return;
    }
    (void)unlink(partial);
    interrupt_removes(NULL);
    partial[0] = '\0';
}
