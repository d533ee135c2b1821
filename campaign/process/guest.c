#include "campaign/process/guest.h"

#include "harness/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what it prints --- */

enum { HALF_BYTES = GUEST_OUTPUT_BYTES / 2, BOUND_BYTES = 1 << 20 };

/* With a fixed size it fills no disk and little memory, and no write to it has to wait for us. */
int guest_output_create(void)
{
    const int output = memfd_create("hbmstress-target-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (output < 0) {
        return -1;
    }
    if (ftruncate(output, GUEST_OUTPUT_SPACE_BYTES) != 0 ||
        fcntl(output, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        close(output);
        return -1;
    }
    return output;
}

/* Returns where the next byte goes: all that print to the file share that place. */
static off_t find_end(int output)
{
    const off_t end = lseek(output, 0, SEEK_CUR);
    return end < 0 ? 0 : end > GUEST_OUTPUT_SPACE_BYTES ? GUEST_OUTPUT_SPACE_BYTES : end;
}

/* The last half goes behind the first. */
void guest_output_bound(int output)
{
    static char half[HALF_BYTES];
    const off_t end = find_end(output);
    if (end < BOUND_BYTES) {
        return;
    }
    if (pread(output, half, sizeof half, end - HALF_BYTES) == HALF_BYTES) {
        (void)!pwrite(output, half, sizeof half, HALF_BYTES);
    }
    (void)lseek(output, GUEST_OUTPUT_BYTES, SEEK_SET);
}

static void append_part(int output, off_t from, off_t to, struct writing *text)
{
    char bytes[4096];
    while (from < to) {
        const size_t want = to - from < (off_t)sizeof bytes ? (size_t)(to - from) : sizeof bytes;
        const ssize_t got = pread(output, bytes, want, from);
        if (got <= 0) {
            return;
        }
        writing_append_bytes(text, bytes, (size_t)got);
        from += got;
    }
}

void guest_output_take(int output, struct writing *text)
{
    const off_t end = find_end(output);
    if (end <= GUEST_OUTPUT_BYTES) {
        append_part(output, 0, end, text);
    } else {
        append_part(output, 0, HALF_BYTES, text);
        writing_append(text, "\n[hbmstress left out what was printed here]\n");
        append_part(output, end - HALF_BYTES, end, text);
    }
    (void)lseek(output, 0, SEEK_SET);
}

/* --- its files --- */

/* A target that closes or writes to all files up to some number comes from below.  1024 is the
 * usual limit; tables of files that are larger cost each fork more. */
enum { FILE_LIMIT_MAX = 1024, OWN_FILE_COUNT_MAX = 8, OWN_FILE_MIN = 16, CHANNEL_COUNT = 2 };

/* A file of ours, and which it is. */
struct channel {
    int file; /* -1 = none */
    dev_t device;
    ino_t inode;
};
static struct channel channels[CHANNEL_COUNT] = {{.file = -1}, {.file = -1}};
static rlim_t file_limit; /* before we lowered it; 0 = we have not */

/* The least number of a file of ours.  Below it are the target's. */
static int raise_limit(void)
{
    struct rlimit limit = {FILE_LIMIT_MAX, FILE_LIMIT_MAX};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (file_limit != 0) {
        limit.rlim_cur = file_limit;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    file_limit = limit.rlim_cur;
    const int end = limit.rlim_cur < FILE_LIMIT_MAX ? (int)limit.rlim_cur : FILE_LIMIT_MAX;
    return end < OWN_FILE_MIN + OWN_FILE_COUNT_MAX ? OWN_FILE_MIN : end - OWN_FILE_COUNT_MAX;
}

/* Files that are open stay open above it, and nobody can put another one in their place. */
static void lower_limit(int own_min)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = (rlim_t)own_min;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Moves it up, or leaves it where it is. */
static void move_channel(struct channel *channel, int *file, int own_min)
{
    struct stat status;
    *channel = (struct channel){.file = -1};
    if (*file < 0) {
        return;
    }
    const int moved = fcntl(*file, F_DUPFD_CLOEXEC, own_min);
    *file = moved < 0 ? *file : moved;
    channel->file = *file;
    if (fstat(*file, &status) == 0) {
        channel->device = status.st_dev;
        channel->inode = status.st_ino;
    }
}

static int compare_files(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes all files but the standard ones and ours. */
static void close_others(void)
{
    int own[CHANNEL_COUNT + 2] = {channels[0].file, channels[1].file, standard_output_file(),
                                  standard_error_file()};
    const size_t count = sizeof own / sizeof *own;
    unsigned next = STDERR_FILENO + 1;
    qsort(own, count, sizeof *own, compare_files);
    for (size_t i = 0; i < count; i++) {
        if (own[i] < (int)next) {
            continue;
        }
        if ((unsigned)own[i] > next) {
            (void)close_range(next, (unsigned)own[i] - 1, 0);
        }
        next = (unsigned)own[i] + 1;
    }
    (void)close_range(next, ~0U, 0);
}

static void replace_file(int file, int by)
{
    if (by >= 0) {
        (void)dup2(by, file);
    }
}

void guest_enter(int *tasks, int *answers, int output, bool has_standard)
{
    static char line_buffer[BUFSIZ];
    const int own_min = raise_limit();
    move_channel(&channels[0], tasks, own_min);
    move_channel(&channels[1], answers, own_min);
    if (has_standard) {
        standard_keep(own_min);
    } else {
        standard_drop();
    }
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    replace_file(STDIN_FILENO, nothing);
    replace_file(STDOUT_FILENO, output < 0 ? nothing : output);
    replace_file(STDERR_FILENO, output < 0 ? nothing : output);
    /* A target that dies leaves the lines that it printed.  Only with another buffer is what the
     * stream knows of the old one forgotten. */
    (void)setvbuf(stdout, line_buffer, _IOLBF, sizeof line_buffer);
    close_others();
    lower_limit(own_min);
}

static bool is_channel_intact(const struct channel *channel)
{
    struct stat status;
    return channel->file < 0 ||
           (fstat(channel->file, &status) == 0 && status.st_dev == channel->device &&
            status.st_ino == channel->inode);
}

bool guest_is_intact(void)
{
    return is_channel_intact(&channels[0]) && is_channel_intact(&channels[1]);
}

void guest_leave(void)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        if (channels[i].file >= 0) {
            close(channels[i].file);
        }
    }
    close(standard_output_file());
    close(standard_error_file());
}
