#include "campaign/base/below.h"

#include "campaign/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char is_link[] = "it is a link, and none is followed there";
static const char is_special[] = "it is no regular file";
static const char is_no_name[] = "it is no name of a file below the folder";

/* Explains why an openat() below a folder failed; errno is the reason, and stays so. */
static const char *explain_failure(int folder, const char *name)
{
    struct stat status;
    const int reason = errno;
    const bool is_there = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    errno = reason;
    if (is_there && S_ISLNK(status.st_mode)) {
        return is_link;
    }
    return is_there && S_ISSOCK(status.st_mode) ? is_special : strerror(reason);
}

/* Opens one step down the path.  -1: *why. */
static int open_step(int folder, const char *name, int flags, const char **why)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        errno = EINVAL;
        *why = is_no_name;
        return -1;
    }
    /* Without O_NONBLOCK a pipe that nobody writes to would be waited for. */
    const int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        *why = explain_failure(folder, name);
    }
    return file;
}

static int open_folder(const char *directory, const char **why)
{
    const int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        *why = strerror(errno);
    }
    return folder;
}

static void close_quietly(int file)
{
    const int reason = errno;
    (void)close(file);
    errno = reason;
}

/* Opens a file below folder, one step after the other, and closes folder. */
static int walk_down(int folder, const char *name, const char **why)
{
    char first[FILE_PATH_BYTES];
    const char *slash = strchr(name, '/');
    if (slash != NULL) {
        (void)snprintf(first, sizeof first, "%.*s", (int)(slash - name), name);
        const int below = open_step(folder, first, O_RDONLY | O_DIRECTORY, why);
        close_quietly(folder);
        if (below < 0) {
            return -1;
        }
        folder = below;
        name = slash + 1;
    }
    if (strchr(name, '/') != NULL) {
        *why = is_no_name;
        errno = EINVAL;
        close_quietly(folder);
        return -1;
    }
    const int file = open_step(folder, name, O_RDONLY, why);
    close_quietly(folder);
    return file;
}

int below_open(const char *directory, const char *name, const char **why)
{
    struct stat status;
    const int folder = open_folder(directory, why);
    const int file = folder < 0 ? -1 : walk_down(folder, name, why);
    if (file < 0) {
        return -1;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        (void)close(file);
        *why = is_special;
        errno = EINVAL;
        return -1;
    }
    return file;
}

bool below_read(const char *directory, const char *name, size_t length_max, struct writing *bytes,
                const char **why)
{
    const int file = below_open(directory, name, why);
    if (file < 0) {
        return false;
    }
    const bool is_read = file_read_open(file, length_max, bytes);
    if (!is_read) {
        *why = strerror(errno);
    }
    close_quietly(file);
    return is_read;
}

bool below_is_folder(const char *directory, const char *name, const char **why)
{
    const int folder = open_folder(directory, why);
    const int below = folder < 0 ? -1 : open_step(folder, name, O_RDONLY | O_DIRECTORY, why);
    const bool is_good = below >= 0 || (folder >= 0 && errno == ENOENT);
    if (below >= 0) {
        close_quietly(below);
    }
    if (folder >= 0) {
        close_quietly(folder);
    }
    return is_good;
}

const char *below_refusal(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        return is_special;
    }
    return status.st_nlink > 1 ? "it has another name, too, and that file would be changed" : NULL;
}
