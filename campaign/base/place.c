#include "campaign/base/place.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "harness/base/whole_file.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

enum exit_code place_find(const char *path, const char *input, struct output_place *place)
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
    return !follow_links(place->path) || !has_directory(place->path)
               ? message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno))
               : EXIT_KEPT;
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

/* --- a file until it is whole --- */

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

/* --- what an option names a file for --- */

/* An op list; or with ops NULL some bytes. */
struct printed {
    const struct setup *setup;
    const struct op_list *ops;
    const char *text; /* the bytes; of a list its comments */
    size_t length;
};

static bool print_to(FILE *stream, const struct printed *printed)
{
    if (printed->ops != NULL) {
        ops_file_print(stream, printed->setup, printed->ops, printed->text);
    } else {
        (void)fwrite(printed->text, 1, printed->length,
                     stream); /* the stream remembers a failure */
    }
    return fflush(stream) == 0 && !ferror(stream);
}

static bool print_to_special(const char *path, const struct printed *printed)
{
    FILE *stream = fopen(path, "we");
    if (stream == NULL) {
        return false;
    }
    const bool is_printed = print_to(stream, printed);
    const int reason = errno;
    const bool is_closed = fclose(stream) == 0;
    errno = is_printed ? errno : reason;
    return is_printed && is_closed;
}

/* Writes to partial, and then gives it the name of path. */
static bool print_whole(const char *partial, const char *path, const struct printed *printed)
{
    FILE *stream = fopen(partial, "we");
    if (stream == NULL) {
        return false;
    }
    (void)print_to(stream, printed);
    return whole_file_end(stream, partial, path, true);
}

/* partial NULL: one is made and removed.  The reader of a list may leave before its end. */
static enum exit_code put_printed(const char *path, const char *partial,
                                  const struct printed *printed)
{
    struct output_place place;
    char own[FILE_PATH_BYTES] = "";
    const enum exit_code code = place_find(path, NULL, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    const bool is_put = place.is_special  ? print_to_special(path, printed)
                        : partial != NULL ? print_whole(partial, path, printed)
                                          : partial_create(place.path, own) &&
                                                print_whole(own, place.path, printed);
    const int reason = errno;
    partial_remove(own);
    return is_put || (place.is_special && printed->ops != NULL && reason == EPIPE)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "%s: %s", path, strerror(reason));
}

enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops,
                          const char *comments)
{
    const struct printed printed = {setup, ops, comments, 0};
    if (path != NULL) {
        return put_printed(path, NULL, &printed);
    }
    return print_to(stdout, &printed) || errno == EPIPE
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "standard output: %s", strerror(errno));
}

enum exit_code ops_output_through(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments)
{
    return put_printed(path, partial, &(const struct printed){setup, ops, comments, 0});
}

enum exit_code picture_write(const char *path, const char *bytes, size_t length)
{
    return put_printed(path, NULL, &(const struct printed){.text = bytes, .length = length});
}
