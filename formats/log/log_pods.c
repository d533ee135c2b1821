#include "formats/log/private/log_reading.h"

#include "formats/common/cursor.h"
#include "harness/base/array.h"
#include "harness/base/utf8.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { LOOKED_AT_BYTES = 4096, FIELD_BYTES = 256 };

/* The end of a container. */
struct container_end {
    char container[LOG_POD_NAME_BYTES], reason[64], message[FIELD_BYTES], finished[40];
    char exit_code[16], restarts[16]; /* "" = not said */
};
struct pod {
    char name[LOG_POD_NAME_BYTES];
    uint32_t rank;
    size_t line;
};

static bool begins_with(const char *bytes, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(bytes, word, strlen(word)) == 0;
}

bool log_is_pods(const char *bytes, size_t length)
{
    const size_t looked_at = length < LOOKED_AT_BYTES ? length : LOOKED_AT_BYTES;
    const bool is_json = length > 0 && bytes[0] == '{' &&
                         log_has_words(bytes, looked_at, "\"apiVersion\"") &&
                         (log_has_words(bytes, looked_at, "\"Pod\"") ||
                          log_has_words(bytes, looked_at, "\"items\""));
    const bool is_yaml = begins_with(bytes, length, "apiVersion:") &&
                         (log_has_words(bytes, looked_at, "kind: Pod") ||
                          log_has_words(bytes, looked_at, "\nitems:"));
    const bool is_described = begins_with(bytes, looked_at, "Name:") &&
                              log_has_words(bytes, looked_at, "\nNamespace:") &&
                              log_has_words(bytes, looked_at, "\nNode:");
    return is_json || is_yaml || is_described;
}

/* --- sentences --- */

/* "train-3", "train-3-x7k2p": the number at the end, of a pod without an index. */
static uint32_t read_rank(const char *name)
{
    char copy[LOG_POD_NAME_BYTES];
    snprintf(copy, sizeof copy, "%s", name);
    char *dash = strrchr(copy, '-');
    if (dash != NULL && strlen(dash + 1) == 5 && strspn(dash + 1, "0123456789") < 5) {
        *dash = '\0';
        dash = strrchr(copy, '-');
    }
    char *end;
    if (dash == NULL || dash[1] < '0' || dash[1] > '9') {
        return LOG_RANK_NONE;
    }
    const unsigned long rank = strtoul(dash + 1, &end, 10);
    return *end == '\0' && rank < 65536 ? (uint32_t)rank : LOG_RANK_NONE;
}

static struct log_pod_end *add_end(struct log_pod_ends *ends, const struct pod *pod,
                                   const char *finished)
{
    ends->ends = array_grown(ends->ends, ends->count, &ends->room, sizeof *ends->ends);
    struct log_pod_end *end = &ends->ends[ends->count++];
    *end = (struct log_pod_end){.rank = pod->rank, .line = pod->line, .begin = ends->texts.length};
    memcpy(end->pod, pod->name, sizeof end->pod);
    utf8_make_printable(end->pod);
    (void)log_time_parse(finished, strlen(finished), &end->time);
    return end;
}

static void say_end(struct log_pod_ends *ends, const struct pod *pod,
                    const struct container_end *ended)
{
    const bool is_well = strcmp(ended->exit_code, "0") == 0 &&
                         strcmp(ended->reason, "OOMKilled") != 0;
    if (ended->exit_code[0] == '\0' || is_well || pod->name[0] == '\0') {
        return;
    }
    struct log_pod_end *end = add_end(ends, pod, ended->finished);
    writing_append_format(&ends->texts, "container %s ended with exit code %s", ended->container,
                          ended->exit_code);
    if (ended->reason[0] != '\0') {
        writing_append_format(&ends->texts, ", reason %s", ended->reason);
    }
    if (ended->restarts[0] != '\0') {
        writing_append_format(&ends->texts, ", restarts %s", ended->restarts);
    }
    if (ended->message[0] != '\0') {
        writing_append_format(&ends->texts, ": %.*s", (int)strcspn(ended->message, "\r\n"),
                              ended->message);
    }
    end->length = ends->texts.length - end->begin;
}

/* "Evicted", with the node's reason. */
static void say_pod(struct log_pod_ends *ends, const struct pod *pod, const char *reason,
                    const char *message)
{
    if (reason == NULL || pod->name[0] == '\0') {
        return;
    }
    struct log_pod_end *end = add_end(ends, pod, "");
    writing_append_format(&ends->texts, "pod %s: %.*s", reason,
                          message == NULL ? 0 : (int)strcspn(message, "\r\n"),
                          message == NULL ? "" : message);
    end->length = ends->texts.length - end->begin;
}

/* --- JSON and YAML --- */

/* A string, or a number of JSON, as text; "" = there is none. */
static void copy_field(const json_t *object, const char *key, char *field, size_t size)
{
    const json_t *value = json_object_get(object, key);
    field[0] = '\0';
    if (json_is_integer(value)) {
        snprintf(field, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_string(value)) {
        snprintf(field, size, "%s", json_string_value(value));
    }
}

static uint32_t read_index(const json_t *metadata, const char *name)
{
    static const char *const keys[] = {"batch.kubernetes.io/job-completion-index",
                                       "apps.kubernetes.io/pod-index",
                                       "training.kubeflow.org/replica-index"};
    static const char *const maps[] = {"annotations", "labels"};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        const json_t *map = json_object_get(metadata, maps[i]);
        for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++) {
            const char *text = log_json_string(map, keys[j]);
            char *end;
            const unsigned long index = text == NULL ? 0 : strtoul(text, &end, 10);
            if (text != NULL && end > text && *end == '\0' && index < 65536) {
                return (uint32_t)index;
            }
        }
    }
    return read_rank(name);
}

static void read_status(struct log_pod_ends *ends, const struct pod *pod, const json_t *status)
{
    static const char *const keys[] = {"lastState", "state"};
    struct container_end ended;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *end = json_object_get(json_object_get(status, keys[i]), "terminated");
        copy_field(status, "name", ended.container, sizeof ended.container);
        copy_field(status, "restartCount", ended.restarts, sizeof ended.restarts);
        copy_field(end, "exitCode", ended.exit_code, sizeof ended.exit_code);
        copy_field(end, "reason", ended.reason, sizeof ended.reason);
        copy_field(end, "message", ended.message, sizeof ended.message);
        copy_field(end, "finishedAt", ended.finished, sizeof ended.finished);
        say_end(ends, pod, &ended);
    }
}

static void read_pod(struct log_pod_ends *ends, const json_t *object, size_t line)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *status = json_object_get(object, "status");
    struct pod pod = {.line = line};
    copy_field(metadata, "name", pod.name, sizeof pod.name);
    pod.rank = read_index(metadata, pod.name);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *list = json_object_get(status, lists[i]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            read_status(ends, &pod, json_array_get(list, j));
        }
    }
    say_pod(ends, &pod, log_json_string(status, "reason"), log_json_string(status, "message"));
}

static void read_document(const json_t *root, const char *bytes, size_t length,
                          struct log_pod_ends *ends)
{
    const json_t *items = json_object_get(root, "items");
    const size_t count = json_is_array(items) ? json_array_size(items) : 1;
    const char *at = bytes;
    size_t line = 1;
    for (size_t i = 0; i < count && i < LOG_POD_COUNT_MAX; i++) {
        const json_t *pod = json_is_array(items) ? json_array_get(items, i) : root;
        /* The line where its name stands. */
        const char *name = log_json_string(json_object_get(pod, "metadata"), "name");
        const char *found = name == NULL || name[0] == '\0'
                                ? NULL
                                : memmem(at, (size_t)(bytes + length - at), name, strlen(name));
        for (; found != NULL && at < found; at++) {
            line += *at == '\n';
        }
        read_pod(ends, pod, line);
    }
}

/* --- kubectl describe --- */

/* Reads what a line "  Exit Code:   137" has behind the word; false: it is another line. */
static bool read_field(const char *line, const char *word, char *field, size_t size)
{
    const size_t length = strlen(word);
    line += strspn(line, " ");
    if (strncmp(line, word, length) != 0 || line[length] != ':') {
        return false;
    }
    line += length + 1;
    line += strspn(line, " \t");
    snprintf(field, size, "%s", line);
    return true;
}

/* "  trainer:", a heading below "Containers:". */
static bool read_heading(const char *line, char *field, size_t size)
{
    const size_t length = strlen(line);
    if (length < 4 || strncmp(line, "  ", 2) != 0 || line[2] == ' ' || line[length - 1] != ':') {
        return false;
    }
    snprintf(field, size, "%.*s", (int)(length - 3), line + 2);
    return true;
}

struct described {
    struct pod pod;
    struct container_end ended;
    bool is_ended; /* in a state that has ended */
};

/* A state is complete where another one, or another container, begins. */
static void finish_state(struct described *described, struct log_pod_ends *ends)
{
    if (described->is_ended) {
        say_end(ends, &described->pod, &described->ended);
    }
    described->is_ended = false;
    described->ended.exit_code[0] = described->ended.reason[0] = '\0';
    described->ended.message[0] = '\0';
}

static void read_described_line(struct described *described, const char *line, size_t number,
                                struct log_pod_ends *ends)
{
    struct container_end *ended = &described->ended;
    char value[FIELD_BYTES];
    uint64_t index;
    if (line[0] != ' ' && read_field(line, "Name", value, sizeof value)) {
        finish_state(described, ends);
        *described = (struct described){.pod = {.line = number}};
        snprintf(described->pod.name, sizeof described->pod.name, "%.*s", LOG_POD_NAME_BYTES - 1,
                 value);
        described->pod.rank = read_rank(described->pod.name);
    } else if (log_number_behind(line, strlen(line), "job-completion-index", &index) &&
               index < 65536) {
        described->pod.rank = (uint32_t)index;
    } else if (read_heading(line, value, sizeof value)) {
        finish_state(described, ends);
        snprintf(ended->container, sizeof ended->container, "%.*s", LOG_POD_NAME_BYTES - 1, value);
    } else if (read_field(line, "State", value, sizeof value) ||
               read_field(line, "Last State", value, sizeof value)) {
        finish_state(described, ends);
        described->is_ended = strcmp(value, "Terminated") == 0;
    } else if (line[0] != ' ') {
        finish_state(described, ends);
    } else if (described->is_ended) {
        (void)(read_field(line, "Reason", ended->reason, sizeof ended->reason) ||
               read_field(line, "Message", ended->message, sizeof ended->message) ||
               read_field(line, "Exit Code", ended->exit_code, sizeof ended->exit_code));
    }
}

static void read_described(const char *bytes, size_t length, struct log_pod_ends *ends)
{
    struct described described = {0};
    struct cursor cursor = cursor_make(bytes, length);
    struct cursor next;
    while (cursor_next_line(&cursor, &next)) {
        char line[FIELD_BYTES];
        size_t count = cursor_left(&next) < sizeof line - 1 ? cursor_left(&next) : sizeof line - 1;
        memcpy(line, next.at, count);
        while (count > 0 && (line[count - 1] == '\r' || line[count - 1] == ' ')) {
            count--;
        }
        line[count] = '\0';
        if (count > 0) {
            read_described_line(&described, line, next.line, ends);
        }
    }
    finish_state(&described, ends);
}

/* --- all --- */

void log_pods_read(const char *bytes, size_t length, struct log_pod_ends *ends)
{
    json_error_t error;
    writing_init(&ends->texts);
    if (bytes[0] == 'N') {
        read_described(bytes, length, ends);
        return;
    }
    json_t *root = bytes[0] == '{'
                       ? json_loadb(bytes, length, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error)
                       : log_yaml_read(bytes, length);
    read_document(root, bytes, length, ends);
    json_decref(root);
}

void log_pod_ends_deinit(struct log_pod_ends *ends)
{
    free(ends->ends);
    writing_deinit(&ends->texts);
}
