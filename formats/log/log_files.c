/* Folders are walked by the names in them; what is read is decided before it is opened. */
#include "formats/log/log_files.h"

#include "formats/log/log_story.h"
#include "harness/base/array.h"
#include "harness/base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

struct folder_walk {
    const char *directory;
    bool is_for_links; /* the second time round: a file has its own name, where that is here */
    struct log_files *files;
    struct identity seen[LOG_FILE_COUNT_MAX]; /* of the files that were read */
    size_t seen_count;
    size_t bytes;
    struct import_error *error;
};

static enum import_result fail_at(const struct folder_walk *walk, const char *name,
                                  const char *reason)
{
    char printable[IMPORT_REASON_BYTES / 2];
    snprintf(printable, sizeof printable, "%.*s", (int)sizeof printable - 1, name);
    utf8_make_printable(printable);
    return import_fail(walk->error, IMPORT_UNREADABLE, 0, 0, "%s%s%s", printable,
                       printable[0] == '\0' ? "" : ": ", reason);
}

static void leave_out(struct folder_walk *walk, const char *name, const char *reason)
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

/* A dump of memory may be as large as it: its beginning says that it is no log. */
static bool begins_as_data(const char *path)
{
    unsigned char bytes[LOOKED_AT_BYTES];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const ssize_t length = file < 0 ? 0 : read(file, bytes, sizeof bytes);
    if (file >= 0) {
        (void)close(file);
    }
    const bool is_packed = length >= 4 && ((bytes[0] == 0x1F && bytes[1] == 0x8B) ||
                                           memcmp(bytes, "\x28\xB5\x2F\xFD", 4) == 0);
    return length > 0 && !is_packed && memchr(bytes, '\0', (size_t)length) != NULL;
}

/* Keeps the text, or lets it go when it is none. */
static void keep_text(struct folder_walk *walk, const char *name, struct text *text)
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
    char *copy = strdup(name);
    CHECK(copy != NULL);
    ARRAY_ADD(files->files, files->count,
              files->room) = (struct log_file){.name = copy, .text = *text, .rank = LOG_RANK_NONE};
}

static enum import_result read_file(struct folder_walk *walk, const char *path, const char *name,
                                    const struct stat *status)
{
    struct text text;
    char reason[64];
    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i].number == status->st_ino && walk->seen[i].device == status->st_dev) {
            return IMPORT_OK;
        }
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

static enum import_result read_folder(struct folder_walk *walk, const char *name, int depth);

/* name is the folder's entry, within the directory. */
static enum import_result read_entry(struct folder_walk *walk, const char *name, int depth)
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
static enum import_result read_folder(struct folder_walk *walk, const char *name, int depth)
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

static int compare_names(const void *a, const void *b)
{
    const struct log_file *x = a;
    const struct log_file *y = b;
    return strverscmp(x->name, y->name);
}

enum import_result log_files_read(const char *directory, struct log_files *files,
                                  struct import_error *error)
{
    struct folder_walk *walk = calloc(1, sizeof *walk);
    CHECK(walk != NULL);
    *files = (struct log_files){0};
    *walk = (struct folder_walk){.directory = directory, .files = files, .error = error};
    enum import_result result = read_folder(walk, "", 0);
    walk->is_for_links = true;
    if (result == IMPORT_OK) {
        result = read_folder(walk, "", 0);
    }
    free(walk);
    if (result == IMPORT_OK && files->count == 0) {
        result = files->left_out_count == 0
                     ? IMPORT_LACKS(
                           error, "the directory has no log: it is empty, or all of its files are")
                     : IMPORT_LACKS(error, "the directory has no log; left out: %s",
                                    files->left_out);
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

enum {
    KEY_BYTES = 512,
    RANK_MAX = 65535,
    POD_TAIL_BYTES = 5,
    UID_BYTES = 36,
    LABEL_COUNT_MAX = 16,    /* looked at in one file */
    SIBLING_NUMBER_MIN = 64, /* up to here, and up to SIBLING_SPREAD times the files, a number */
    SIBLING_SPREAD = 8       /* that only siblings make a rank is taken for one */
};

/* The process and the number that a name tells. */
struct label {
    char key[KEY_BYTES];  /* the process: the name without its endings; "" = the directory's only */
    size_t prefix_length; /* of the key, in front of the number */
    uint64_t number;
    enum says { NO_NUMBER, SURE, WITH_SIBLINGS } says;
};

static const char *const endings[] = {".gz",     ".zst",    ".log",  ".txt",   ".out", ".err",
                                      ".stdout", ".stderr", ".json", ".jsonl", NULL};
/* Names that say which stream it is, and nothing else. */
static const char *const streams[] = {"stdout", "stderr", "out", "err", "log", "output", "", NULL};

static bool is_one_of(const char *text, const char *const *names)
{
    while (*names != NULL && strcasecmp(text, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

static char *last_part(char *path)
{
    char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* "ns_train-0_4d2c…/trainer/0.log", as a node keeps it, is of pod train-0: 0 counts its restarts.
 */
static bool read_pod_folder(char key[KEY_BYTES])
{
    char *slash = strrchr(key, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    char *container = last_part(key);
    if (container > key) {
        container[-1] = '\0';
        char *folder = last_part(key);
        char *uid = strrchr(folder, '_');
        char *pod = strchr(folder, '_');
        if (uid != NULL && pod < uid && strlen(uid + 1) == UID_BYTES) {
            *uid = '\0';
            memmove(key, pod + 1, strlen(pod + 1) + 1);
            return true;
        }
        container[-1] = '/';
    }
    *slash = '/';
    return false;
}

static bool has_only_digits(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static void set_key(const char *name, struct label *label)
{
    snprintf(label->key, sizeof label->key, "%s", name);
    char *part = last_part(label->key);
    for (char *dot = strrchr(part, '.'); dot != NULL && dot > part && is_one_of(dot, endings);
         dot = strrchr(part, '.')) {
        *dot = '\0';
    }
    if (has_only_digits(part) && read_pod_folder(label->key)) {
        return;
    }
    if (is_one_of(part, streams) && part > label->key) {
        part[-1] = '\0';
    }
}

static void set_number(struct label *label, const char *at, enum says says)
{
    char *end;
    const uint64_t number = strtoull(at, &end, 10);
    if (end > at && end - at < 7 && number <= RANK_MAX) {
        label->number = number;
        label->prefix_length = (size_t)(at - label->key);
        label->says = says;
    }
}

/* "rank3", "worker-3", "task_3" in the last part of the key. */
static bool find_word(struct label *label, const char *part)
{
    static const char *const words[] = {"rank", "worker", "task", "process", "proc", "replica"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = strcasestr(part, words[i]);
        if (at == NULL) {
            continue;
        }
        at += strlen(words[i]);
        at += *at != '\0' && strchr("-_=.", *at) != NULL;
        if (isdigit((unsigned char)*at)) {
            set_number(label, at, SURE);
            return label->says == SURE;
        }
    }
    return false;
}

/* "train-3-x7k2p": a pod of an indexed job ends in five characters of chance. */
static const char *find_pod_tail(const char *part)
{
    const char *tail = strrchr(part, '-');
    if (tail == NULL || tail == part || strlen(tail + 1) != POD_TAIL_BYTES ||
        strspn(tail + 1, "abcdefghijklmnopqrstuvwxyz0123456789") != POD_TAIL_BYTES ||
        has_only_digits(tail + 1)) {
        return NULL;
    }
    return tail;
}

/* The number at the end, which is none of a machine; a job's number is no rank: "slurm-123",
 * "slurm-123_4" (an array). */
static void find_last_number(struct label *label, const char *part)
{
    const char *pod_tail = find_pod_tail(part);
    const char *end = pod_tail != NULL ? pod_tail : part + strlen(part);
    const char *at = end;
    while (at > part && isdigit((unsigned char)at[-1])) {
        at--;
    }
    const bool is_slurm = strncasecmp(part, "slurm-", 6) == 0;
    const bool is_machine = strcasestr(part, "host") != NULL || strcasestr(part, "node") != NULL;
    if (at == end || is_machine || (is_slurm && (at == part + 6 || at[-1] != '-'))) {
        return;
    }
    const bool is_whole = at == part && end == part + strlen(part);
    set_number(label, at, is_whole || is_slurm || pod_tail != NULL ? SURE : WITH_SIBLINGS);
}

static uint32_t choose_rank(const struct label *labels, size_t count, size_t index)
{
    const struct label *label = &labels[index];
    const size_t spread = SIBLING_SPREAD * count;
    bool is_rank = label->says == SURE;
    if (!is_rank && label->number > (spread > SIBLING_NUMBER_MIN ? spread : SIBLING_NUMBER_MIN)) {
        return LOG_RANK_NONE;
    }
    for (size_t i = 0; i < count && label->says == WITH_SIBLINGS && !is_rank; i++) {
        const struct label *other = &labels[i];
        is_rank = other->says != NO_NUMBER && label->prefix_length == other->prefix_length &&
                  label->number != other->number &&
                  memcmp(label->key, other->key, label->prefix_length) == 0;
    }
    return is_rank ? (uint32_t)label->number : LOG_RANK_NONE;
}

/* "[rank8]:" in front of the lines of one process says more than a name, which may count from 0 on
 * each host; of several processes the file's name is none of a rank. */
static void read_labels(const struct text *text, struct label *label)
{
    static const char word[] = "\n[rank";
    const char *at = text->bytes;
    const char *end = at + text->length;
    uint32_t rank = LOG_RANK_NONE;
    for (int i = 0; i < LABEL_COUNT_MAX; i++) {
        at = memmem(at, (size_t)(end - at), word, sizeof word - 1);
        if (at == NULL) {
            break;
        }
        at += sizeof word - 1;
        char *behind;
        const unsigned long number = strtoul(at, &behind, 10);
        if (behind == at || *behind != ']' || number > RANK_MAX) {
            continue;
        }
        if (rank != LOG_RANK_NONE && rank != number) {
            label->says = NO_NUMBER;
            return;
        }
        rank = (uint32_t)number;
    }
    if (rank != LOG_RANK_NONE) {
        label->number = rank;
        label->says = SURE;
    }
}

void log_files_name(struct log_files *files)
{
    struct label *labels = calloc(files->count, sizeof *labels);
    uint32_t *ranks = calloc(files->count, sizeof *ranks);
    CHECK(labels != NULL && ranks != NULL);
    for (size_t i = 0; i < files->count; i++) {
        set_key(files->files[i].name, &labels[i]);
        const char *part = last_part(labels[i].key);
        if (!find_word(&labels[i], part)) {
            find_last_number(&labels[i], part);
        }
        read_labels(&files->files[i].text, &labels[i]);
    }
    for (size_t i = 0; i < files->count; i++) {
        ranks[i] = choose_rank(labels, files->count, i);
    }
    for (size_t i = 0; i < files->count; i++) {
        struct log_file *file = &files->files[i];
        bool has_rank = ranks[i] != LOG_RANK_NONE;
        for (size_t j = 0; j < files->count && has_rank; j++) {
            /* Two processes that say to be one: each counts from 0 on its own host, or one came
             * back. */
            has_rank = ranks[j] != ranks[i] || strcmp(labels[j].key, labels[i].key) == 0;
        }
        file->rank = has_rank ? ranks[i] : LOG_RANK_NONE;
        if (has_rank) {
            snprintf(file->source, sizeof file->source, "rank %" PRIu32, ranks[i]);
        } else {
            snprintf(file->source, sizeof file->source, "%.*s", LOG_SOURCE_BYTES - 1,
                     labels[i].key[0] == '\0' ? file->name : labels[i].key);
            utf8_make_printable(file->source);
        }
    }
    free(ranks);
    free(labels);
}
