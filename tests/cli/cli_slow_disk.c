/* Preloaded: each fdatasync is noted as a line in the file that SYNC_LOG names, and takes as many
 * seconds as SYNC_SECONDS says. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A line that is lost makes the test fail: nothing to do about it here. */
static void note_sync(void)
{
    const char *path = getenv("SYNC_LOG");
    const int file = path == NULL ? -1
                                  : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) {
        (void)!write(file, "sync\n", 5);
        (void)close(file);
    }
}

int fdatasync(int file)
{
    const char *seconds = getenv("SYNC_SECONDS");
    struct timespec left = {.tv_sec = seconds == NULL ? 0 : strtol(seconds, NULL, 10)};
    (void)file;
    note_sync();
    while (nanosleep(&left, &left) != 0) {
    }
    return 0;
}
