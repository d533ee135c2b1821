/* Finds the rank that wrote a file, by the file's name. */
#include "formats/log/log_files.h"

#include "harness/base/array.h"
#include "harness/base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static bool is_ending(const char *ending)
{
    static const char *const endings[] = {".gz",  ".zst",    ".log",    ".txt",  ".out",
                                          ".err", ".stdout", ".stderr", ".json", ".jsonl"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcasecmp(ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Names that say which stream it is, and nothing else. */
static bool is_stream(const char *name)
{
    static const char *const names[] = {"stdout", "stderr", "out", "err", "log", "output", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
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
    for (char *dot = strrchr(part, '.'); dot != NULL && dot > part && is_ending(dot);
         dot = strrchr(part, '.')) {
        *dot = '\0';
    }
    if (has_only_digits(part) && read_pod_folder(label->key)) {
        return;
    }
    if (is_stream(part) && part > label->key) {
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

static bool are_siblings(const struct label *a, const struct label *b)
{
    return b->says != NO_NUMBER && a->prefix_length == b->prefix_length && a->number != b->number &&
           memcmp(a->key, b->key, a->prefix_length) == 0;
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
        is_rank = are_siblings(label, &labels[i]);
    }
    return is_rank ? (uint32_t)label->number : LOG_RANK_NONE;
}

/* Two processes that say to be one rank: each counts from 0 on its own host, or one came back. */
static bool is_ambiguous(const struct log_files *files, const struct label *labels,
                         const uint32_t *ranks, size_t index)
{
    for (size_t i = 0; i < files->count; i++) {
        if (ranks[i] == ranks[index] && strcmp(labels[i].key, labels[index].key) != 0) {
            return true;
        }
    }
    return false;
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
        const bool has_rank = ranks[i] != LOG_RANK_NONE && !is_ambiguous(files, labels, ranks, i);
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
