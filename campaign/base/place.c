#include "campaign/base/place.h"
#include "campaign/base/message.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel follows as many links as this. */
enum { LINK_COUNT_MAX = 40 };

/* Puts what a symbolic link says in the place of its path.  False: errno says why. */
static bool replace_link(char path[FILE_PATH_BYTES], const char *text)
{
    const char *slash = strrchr(path, '/');
    const size_t start = text[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
    errno = ENAMETOOLONG;
    return snprintf(path + start, FILE_PATH_BYTES - start, "%s", text) <
           (int)(FILE_PATH_BYTES - start);
}

/* Follows links up to a path that is no link.  False: errno says why. */
static bool follow_links(char path[FILE_PATH_BYTES])
{
    char text[FILE_PATH_BYTES];
    for (int i = 0; i < LINK_COUNT_MAX; i++) {
        const ssize_t length = readlink(path, text, sizeof text - 1);
        if (length < 0) {
            return true;
        }
        text[length] = '\0';
        if (!replace_link(path, text)) {
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

/* The directory that a new file of that path lies in must be there. */
static bool has_directory(const char *path)
{
    char directory[FILE_PATH_BYTES];
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return true;
    }
    snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(directory, &status) != 0) {
        return false;
    }
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
}

enum exit_code place_find(const char *path, const char *input, struct place *place)
{
    struct stat status;
    const bool is_there = stat(path, &status) == 0;
    place->is_special = false;
    if (snprintf(place->path, sizeof place->path, "%s", path) >= (int)sizeof place->path) {
        return message_fail(EXIT_USAGE, "%.80s...: %s", path, strerror(ENAMETOOLONG));
    }
    if (is_there && S_ISDIR(status.st_mode)) {
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(EISDIR));
    }
    place->is_special = is_there && !S_ISREG(status.st_mode);
    if (place->is_special) {
        return EXIT_KEPT;
    }
    if (is_there && input != NULL && file_is_same(path, input)) {
        return message_fail(EXIT_USAGE, "%s: this is the input file; choose another output file",
                            path);
    }
    if (!follow_links(place->path) || !has_directory(place->path)) {
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    }
    return EXIT_KEPT;
}

bool place_write(const char *path, const void *bytes, size_t length)
{
    char directory[FILE_PATH_BYTES];
    if (!make_directory_of(path, directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        return false;
    }
    const bool is_written = whole_file_write(path, bytes, length, false);
    if (!is_written) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    }
    return is_written;
}

enum exit_code place_make_folder(const char *path)
{
    enum { NAME_BYTES = 128 }; /* what a file in it may add */
    errno = ENAMETOOLONG;
    if (strlen(path) + NAME_BYTES <= FILE_PATH_BYTES && make_directories(path)) {
        return EXIT_KEPT;
    }
    return message_fail(errno == ENOTDIR || errno == ENAMETOOLONG ? EXIT_USAGE : EXIT_HARNESS,
                        "%.80s%s: %s", path, strlen(path) > 80 ? "..." : "", strerror(errno));
}
