/* Folders are walked by the names in them; what is read is decided before it is opened. */
#include "formats/log/log_files.h"

#include "formats/log/log_story.h"
#include "harness/base/array.h"
#include "harness/base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKED_AT_BYTES = 4096, NAME_BYTES_MAX = 4096 };

/* Identifies a file, whatever its name. */
struct identity {
    dev_t device;
    ino_t number;
};

struct walk {
    const char *directory;
    bool is_for_links; /* the second time round: a file has its own name, where that is here */
    struct log_files *files;
    struct identity seen[LOG_FILE_COUNT_MAX]; /* of the files that were read */
    size_t seen_count;
    size_t bytes;
    struct import_error *error;
};

static enum import_result fail_at(const struct walk *walk, const char *name, const char *reason)
{
    char printable[IMPORT_REASON_BYTES / 2];
    snprintf(printable, sizeof printable, "%.*s", (int)sizeof printable - 1, name);
    utf8_make_printable(printable);
    return import_fail(walk->error, IMPORT_UNREADABLE, 0, 0, "%s%s%s", printable,
                       printable[0] == '\0' ? "" : ": ", reason);
}

static void leave_out(struct walk *walk, const char *name, const char *reason)
{
    struct log_files *files = walk->files;
    const size_t used = strlen(files->left_out);
    files->left_out_count++;
    if (used + strlen(name) + strlen(reason) + sizeof ",  ()" <= sizeof files->left_out) {
        snprintf(files->left_out + used, sizeof files->left_out - used, "%s%s (%s)",
                 used == 0 ? "" : ", ", name, reason);
        utf8_make_printable(files->left_out + used);
    }
}

/* --- one file --- */

static bool is_packed(const unsigned char *bytes, size_t length)
{
    return length >= 4 &&
           ((bytes[0] == 0x1F && bytes[1] == 0x8B) || memcmp(bytes, "\x28\xB5\x2F\xFD", 4) == 0);
}

/* A dump of memory may be as large as it: its beginning says that it is no log. */
static bool begins_as_data(const char *path)
{
    unsigned char bytes[LOOKED_AT_BYTES];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const ssize_t length = file < 0 ? 0 : read(file, bytes, sizeof bytes);
    if (file >= 0) {
        (void)close(file);
    }
    return length > 0 && !is_packed(bytes, (size_t)length) &&
           memchr(bytes, '\0', (size_t)length) != NULL;
}

static bool is_seen(struct walk *walk, const struct stat *status)
{
    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i].number == status->st_ino && walk->seen[i].device == status->st_dev) {
            return true;
        }
    }
    return false;
}

/* Keeps the text, or lets it go when it is none. */
static void keep_text(struct walk *walk, const char *name, struct text *text)
{
    struct log_files *files = walk->files;
    const size_t looked_at = text->length < LOOKED_AT_BYTES ? text->length : LOOKED_AT_BYTES;
    if (text->length == 0 || memchr(text->bytes, '\0', looked_at) != NULL ||
        !log_is_text(text->bytes, text->length)) {
        if (text->length > 0) {
            leave_out(walk, name, "data, not a log");
        }
        text_deinit(text);
        return;
    }
    files->files = array_grown(files->files, files->count, &files->room, sizeof *files->files);
    struct log_file *file = &files->files[files->count++];
    *file = (struct log_file){.name = strdup(name), .text = *text, .rank = LOG_RANK_NONE};
    CHECK(file->name != NULL);
}

static enum import_result read_file(struct walk *walk, const char *path, const char *name,
                                    const struct stat *status)
{
    struct text text;
    char reason[64];
    if (is_seen(walk, status)) {
        return IMPORT_OK;
    }
    if (walk->seen_count == LOG_FILE_COUNT_MAX) {
        snprintf(reason, sizeof reason, "more than %d files", LOG_FILE_COUNT_MAX);
        return fail_at(walk, "", reason);
    }
    walk->seen[walk->seen_count++] = (struct identity){status->st_dev, status->st_ino};
    if (begins_as_data(path)) {
        leave_out(walk, name, "data, not a log");
        return IMPORT_OK;
    }
    const enum import_result result = text_read(path, LOG_FILES_BYTES_MAX - walk->bytes, &text,
                                                walk->error);
    if (result != IMPORT_OK) {
        char told[IMPORT_REASON_BYTES];
        memcpy(told, walk->error->reason, sizeof told);
        return fail_at(walk, name, told);
    }
    walk->bytes += text.length;
    keep_text(walk, name, &text);
    return IMPORT_OK;
}

/* --- folders --- */

static enum import_result read_folder(struct walk *walk, const char *name, int depth);

/* name is the folder's entry, within the directory. */
static enum import_result read_entry(struct walk *walk, const char *name, int depth)
{
    char path[2 * NAME_BYTES_MAX];
    struct stat status;
    struct stat behind;
    if (snprintf(path, sizeof path, "%s/%s", walk->directory, name) >= NAME_BYTES_MAX) {
        return fail_at(walk, name, "the name is too long");
    }
    if (lstat(path, &status) != 0) {
        return fail_at(walk, name, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return read_folder(walk, name, depth + 1);
    }
    const bool is_link = S_ISLNK(status.st_mode);
    if (is_link != walk->is_for_links) {
        return IMPORT_OK;
    }
    if (is_link && (stat(path, &behind) != 0 || !S_ISREG(behind.st_mode))) {
        leave_out(walk, name, "a link to no file");
        return IMPORT_OK;
    }
    if (!is_link && !S_ISREG(status.st_mode)) {
        leave_out(walk, name, "no regular file");
        return IMPORT_OK;
    }
    return read_file(walk, path, name, is_link ? &behind : &status);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* name: within the directory, "" = itself. */
static enum import_result read_folder(struct walk *walk, const char *name, int depth)
{
    char path[2 * NAME_BYTES_MAX];
    struct dirent **entries = NULL;
    enum import_result result = IMPORT_OK;
    if (depth > LOG_FILE_DEPTH_MAX) {
        return fail_at(walk, name, "too many folders within folders");
    }
    snprintf(path, sizeof path, "%s/%s", walk->directory, name);
    const int count = scandir(path, &entries, is_shown, versionsort);
    if (count < 0) {
        return fail_at(walk, name, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        char entry[2 * NAME_BYTES_MAX];
        snprintf(entry, sizeof entry, "%s%s%s", name, name[0] == '\0' ? "" : "/",
                 entries[i]->d_name);
        if (result == IMPORT_OK) {
            result = read_entry(walk, entry, depth);
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

static enum import_result fail_empty(const struct log_files *files, struct import_error *error)
{
    return files->left_out_count == 0
               ? import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                             "the directory has no log: it is empty, or all of its files are")
               : import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                             "the directory has no log; left out: %s", files->left_out);
}

static int compare_names(const void *a, const void *b)
{
    const struct log_file *x = a;
    const struct log_file *y = b;
    return strverscmp(x->name, y->name);
}

enum import_result log_files_read(const char *directory, struct log_files *files,
                                  struct import_error *error)
{
    struct walk *walk = calloc(1, sizeof *walk);
    CHECK(walk != NULL);
    *files = (struct log_files){0};
    walk->directory = directory;
    walk->files = files;
    walk->error = error;
    enum import_result result = read_folder(walk, "", 0);
    walk->is_for_links = true;
    if (result == IMPORT_OK) {
        result = read_folder(walk, "", 0);
    }
    free(walk);
    if (result == IMPORT_OK && files->count == 0) {
        result = fail_empty(files, error);
    }
    if (result != IMPORT_OK) {
        log_files_deinit(files);
        return result;
    }
    qsort(files->files, files->count, sizeof *files->files, compare_names);
    log_files_name(files);
    return IMPORT_OK;
}

void log_files_deinit(struct log_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        text_deinit(&files->files[i].text);
        free(files->files[i].name);
    }
    free(files->files);
    *files = (struct log_files){0};
}
