#include "campaign/base/file.h"

#include "harness/base/check.h"
#include "harness/base/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void file_append_word(struct writing *text, const char *path)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(path)));
    CHECK(word != NULL);
    writing_append(text, shell_word(path, word));
    free(word);
}

bool file_name_ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), ending_length = strlen(ending);
    return length > ending_length && strcmp(name + length - ending_length, ending) == 0;
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

bool make_directory_of(const char *path, char directory[FILE_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL ? 0 : (int)(slash - path);
    if (snprintf(directory, FILE_PATH_BYTES, "%.*s", length, path) >= FILE_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    return length == 0 || make_directories(directory);
}

bool file_read_open(int file, size_t length_max, struct writing *bytes)
{
    char part[65536];
    size_t length = 0;
    ssize_t got = 0;
    while (length <= length_max &&
           ((got = read(file, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))) {
        length += got > 0 ? (size_t)got : 0;
        writing_append_bytes(bytes, part, got > 0 ? (size_t)got : 0);
    }
    if (length > length_max) {
        errno = EFBIG;
    }
    return got == 0 && length <= length_max;
}

bool file_read(const char *path, size_t length_max, struct writing *bytes)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool is_read = file_read_open(file, length_max, bytes);
    const int reason = errno;
    (void)close(file);
    errno = reason;
    return is_read;
}

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
