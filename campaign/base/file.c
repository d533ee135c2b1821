#include "campaign/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_status(const char *path, struct stat *status)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, status) : stat(path, status)) == 0;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return find_status(a, &of_a) && find_status(b, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

void file_name_clean(char *name)
{
    for (; *name != '\0'; name++) {
        if (*name == '/' || *name == ':' || (unsigned char)*name <= ' ') {
            *name = '_';
        }
    }
}

bool make_directories(const char *path)
{
    char part[FILE_PATH_BYTES];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(part, path);
    for (char *slash = part + 1; *part != '\0' && (slash = strchr(slash, '/')) != NULL;
         *slash++ = '/') {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return false;
        }
    }
    if (mkdir(part, 0777) == 0) {
        return true;
    }
    struct stat status;
    int reason = errno;
    if (reason == EEXIST && stat(part, &status) == 0 && !S_ISDIR(status.st_mode)) {
        reason = ENOTDIR;
    }
    errno = reason;
    return reason == EEXIST;
}

static bool write_whole(const char *path, const char *bytes, size_t length, bool is_forced)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        return false;
    }
    bool is_good = true;
    while (length > 0 && is_good) {
        ssize_t put = write(file, bytes, length);
        is_good = put > 0 || (put < 0 && errno == EINTR);
        bytes += put > 0 ? put : 0;
        length -= put > 0 ? (size_t)put : 0;
    }
    is_good = is_good && (!is_forced || fdatasync(file) == 0);
    int reason = errno;
    if (close(file) != 0 && is_good) {
        return false;
    }
    errno = reason;
    return is_good;
}

bool file_replace(const char *path, const void *bytes, size_t length, bool is_forced)
{
    char partial[FILE_PATH_BYTES];
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial) {
        errno = ENAMETOOLONG;
        return false;
    }
    (void)unlink(partial); /* left behind by a process that was killed */
    if (write_whole(partial, bytes, length, is_forced) && rename(partial, path) == 0) {
        return true;
    }
    int reason = errno;
    (void)unlink(partial);
    errno = reason;
    return false;
}

bool file_read(const char *path, size_t length_max, struct writing *bytes)
{
    char part[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    size_t length = 0;
    ssize_t got = 0;
    while (length <= length_max &&
           ((got = read(file, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))) {
        length += got > 0 ? (size_t)got : 0;
        writing_append_bytes(bytes, part, got > 0 ? (size_t)got : 0);
    }
    int reason = length > length_max ? EFBIG : errno;
    (void)close(file);
    errno = reason;
    return got == 0 && length <= length_max;
}
