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
