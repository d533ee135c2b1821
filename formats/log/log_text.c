#include "formats/log/private/log_reading.h"

#include "harness/base/array.h"
#include "harness/base/order.h"

#include <jansson.h>
#include <string.h>

/* --- the objects of a structured log --- */

enum { SOURCE_COUNT_MAX = 1024, SOURCE_NAME_BYTES = 80 };
#define ENTRY_BYTES_MAX ((size_t)1 << 20) /* collectors cut at a quarter of that */

/* An entry with what it is ordered by. */
struct wrapped {
    struct log_entry entry;
    size_t begin; /* of its text among the texts of the part */
    unsigned year;
    char id[48];  /* insertId; "" = none */
    size_t order; /* in the file */
};

/* The state of a reader of objects. */
struct object_reader {
    const char *at, *end;
    size_t line;
    struct wrapped *wrapped;
    size_t count, room;
    struct writing *texts;
    struct log_text *text;
};

/* The end of the object that begins at `at`; NULL: it is cut.  Counts the line ends in it. */
static const char *find_object_end(const char *at, const char *end, size_t *line_count)
{
    size_t depth = 0;
    bool is_string = false;
    for (; at < end; at++) {
        *line_count += *at == '\n';
        if (is_string) {
            is_string = *at != '"';
            at += *at == '\\' && at + 1 < end && at[1] != '\n';
        } else if (*at == '"') {
            is_string = true;
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}' && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

const char *log_json_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The text of an entry; NULL: it has none. */
static const json_t *find_text(const json_t *object)
{
    static const char *const keys[] = {"message", "msg", "log"};
    const json_t *payload = json_object_get(object, "jsonPayload");
    const json_t *text = json_object_get(object, "textPayload");
    for (size_t i = 0; !json_is_string(text) && i < sizeof keys / sizeof keys[0]; i++) {
        text = json_object_get(payload != NULL ? payload : object, keys[i]);
    }
    return json_is_string(text) ? text : NULL;
}

static const char *find_pod(const json_t *object)
{
    const json_t *labels = json_object_get(json_object_get(object, "resource"), "labels");
    const char *pod = log_json_string(labels, "pod_name");
    if (pod == NULL) {
        pod = log_json_string(json_object_get(object, "labels"), "pod_name");
    }
    return pod != NULL ? pod : log_json_string(labels, "instance_id");
}

/* The name of a source, one copy of each; beyond SOURCE_COUNT_MAX none. */
static const char *keep_source(struct log_text *text, const char *pod)
{
    char name[SOURCE_NAME_BYTES];
    if (pod == NULL) {
        return "";
    }
    snprintf(name, sizeof name, "pod %s", pod);
    for (size_t i = text->source_count; i > 0; i--) {
        if (strcmp(text->sources[i - 1], name) == 0) {
            return text->sources[i - 1];
        }
    }
    if (text->source_count == SOURCE_COUNT_MAX) {
        return "";
    }
    text->sources = array_resized(text->sources, (text->source_count + 1) * sizeof *text->sources);
    char *copy = strdup(name);
    CHECK(copy != NULL);
    text->sources[text->source_count++] = copy;
    return copy;
}

static bool read_entry(struct object_reader *reader, const json_t *object)
{
    const json_t *text = find_text(object);
    const char *id = log_json_string(object, "insertId");
    const char *time = log_json_string(object, "timestamp");
    time = time != NULL ? time : log_json_string(object, "time");
    if (text == NULL) {
        return false;
    }
    struct wrapped wrapped = {.order = reader->count,
                              .begin = reader->texts->length,
                              .entry = {.line = reader->line,
                                        .length = json_string_length(text),
                                        .rank = LOG_RANK_NONE,
                                        .source = keep_source(reader->text, find_pod(object))}};
    if (time != NULL && log_time_parse(time, strlen(time), &wrapped.entry.time)) {
        wrapped.year = (unsigned)strtoul(time, NULL, 10);
    }
    snprintf(wrapped.id, sizeof wrapped.id, "%s", id == NULL ? "" : id);
    writing_append_bytes(reader->texts, json_string_value(text), wrapped.entry.length);
    ARRAY_ADD(reader->wrapped, reader->count, reader->room) = wrapped;
    return true;
}

static void read_object(struct object_reader *reader)
{
    json_error_t error;
    size_t line_count = 0;
    const char *end = find_object_end(reader->at, reader->end, &line_count);
    if (end == NULL) { /* cut */
        reader->text->left_out_count++;
        reader->at = reader->end;
        return;
    }
    const size_t length = (size_t)(end - reader->at);
    json_t *object = length > ENTRY_BYTES_MAX
                         ? NULL
                         : json_loadb(reader->at, length, JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK,
                                      &error);
    if (object == NULL || !read_entry(reader, object)) {
        reader->text->left_out_count++;
    }
    json_decref(object);
    reader->at = end;
    reader->line += line_count;
}

static int compare_wrapped(const void *a, const void *b)
{
    const struct wrapped *x = a;
    const struct wrapped *y = b;
    return compare_then(
        compare_places(x->year, x->entry.time.time_ns, y->year, y->entry.time.time_ns),
        compare_then(strcmp(x->id, y->id), compare_numbers(x->order, y->order)));
}

/* Entries without a time stay in the order of the file, before the others. */
static void join_entries(struct object_reader *reader, const struct log_part *part, uint32_t file)
{
    struct log_text *text = reader->text;
    const char *texts = writing_string(reader->texts);
    if (reader->count == 0) {
        return;
    }
    qsort(reader->wrapped, reader->count, sizeof *reader->wrapped, compare_wrapped);
    for (size_t i = 0; i < reader->count; i++) {
        const struct wrapped *wrapped = &reader->wrapped[i];
        if (i > 0 && wrapped->id[0] != '\0' && strcmp(wrapped->id, wrapped[-1].id) == 0 &&
            wrapped->year == wrapped[-1].year &&
            wrapped->entry.time.time_ns == wrapped[-1].entry.time.time_ns &&
            wrapped->entry.source == wrapped[-1].entry.source) {
            text->left_out_count++; /* it came twice */
            continue;
        }
        struct log_entry entry = wrapped->entry;
        entry.bytes = texts + wrapped->begin;
        entry.file = file;
        if (entry.source[0] == '\0' && part->source != NULL) {
            entry.source = part->source;
            entry.rank = part->rank;
        }
        ARRAY_ADD(text->entries, text->entry_count, text->entry_room) = entry;
    }
}

bool log_is_structured(const char *bytes, size_t length)
{
    struct log_text nothing = {0};
    struct object_reader reader = {.at = bytes, .end = bytes + length, .text = &nothing};
    size_t begin = 0;
    size_t line_count = 0;
    while (begin < length && bytes[begin] != '\0' && strchr(" \t\r\n[", bytes[begin]) != NULL) {
        begin++;
    }
    reader.at += begin;
    if (reader.at == reader.end || *reader.at != '{') {
        return false;
    }
    const size_t left = (size_t)(reader.end - reader.at);
    const char *limit = left > ENTRY_BYTES_MAX ? reader.at + ENTRY_BYTES_MAX : reader.end;
    const char *end = find_object_end(reader.at, limit, &line_count);
    json_error_t error;
    json_t *object = end == NULL ? NULL
                                 : json_loadb(reader.at, (size_t)(end - reader.at),
                                              JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &error);
    const bool is_one = object != NULL &&
                        (find_text(object) != NULL || json_object_get(object, "insertId") != NULL);
    json_decref(object);
    return is_one;
}

/* An object, or an array of such or of arrays: lines of logs, too, begin with '['. */
static bool is_json(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (text[at] == ' ' || text[at] == '\n' || (at == 0 && text[at] == '['))) {
        at++;
    }
    return text[0] == '{' ||
           (text[0] == '[' && at < length && (text[at] == '{' || text[at] == '['));
}

bool log_is_text(const char *text, size_t length)
{
    return !is_json(text, length) || log_is_pods(text, length) || log_is_structured(text, length);
}

static void read_objects(struct log_text *text, const struct log_part *part, uint32_t file)
{
    struct object_reader reader = {.at = part->bytes,
                                   .end = part->bytes + part->length,
                                   .line = 1,
                                   .texts = &text->unwrapped[file],
                                   .text = text};
    text->is_structured = true;
    while (reader.at < reader.end) {
        if (*reader.at == '{') {
            read_object(&reader);
        } else {
            reader.line += *reader.at++ == '\n';
        }
    }
    join_entries(&reader, part, file);
    free(reader.wrapped);
}

/* Returns the file of the log whose name is that of the pod; NULL: there is none. */
static const struct log_part *find_file_of(const struct log_part *parts, size_t count,
                                           const char *pod)
{
    const size_t length = strlen(pod);
    for (size_t i = 0; i < count && parts[i].name != NULL; i++) {
        const char *slash = strrchr(parts[i].name, '/');
        const char *name = slash == NULL ? parts[i].name : slash + 1;
        if (strncmp(name, pod, length) == 0 && (name[length] == '.' || name[length] == '\0')) {
            return &parts[i];
        }
    }
    return NULL;
}

/* Reads what Kubernetes says of pods.  It belongs to the pod's own log, if that is there. */
static void read_pods(struct log_text *text, const struct log_part *parts, size_t count,
                      uint32_t file)
{
    struct log_pod_ends pods = {0};
    log_pods_read(parts[file].bytes, parts[file].length, &pods);
    text->unwrapped[file] = pods.texts; /* the log_text's now */
    writing_init(&pods.texts);
    const char *texts = writing_string(&text->unwrapped[file]);
    for (size_t i = 0; i < pods.count; i++) {
        const struct log_pod_end *end = &pods.ends[i];
        const struct log_part *log = find_file_of(parts, count, end->pod);
        ARRAY_ADD(text->entries, text->entry_count, text->entry_room) = (struct log_entry){
            .bytes = texts + end->begin,
            .length = end->length,
            .line = end->line,
            .source = log != NULL ? log->source : keep_source(text, end->pod),
            .rank = log != NULL ? log->rank : end->rank,
            .file = file,
            .time = end->time};
    }
    text->is_structured = true;
    log_pod_ends_deinit(&pods);
}

/* Reads the logs first, and behind them what Kubernetes says at the end. */
void log_text_init(struct log_text *text, const struct log_part *parts, size_t count)
{
    *text = (struct log_text){.part_count = count};
    text->unwrapped = calloc(count, sizeof *text->unwrapped);
    CHECK(text->unwrapped != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct log_part *part = &parts[i];
        writing_init(&text->unwrapped[i]);
        if (log_is_pods(part->bytes, part->length)) {
            continue;
        }
        if (log_is_structured(part->bytes, part->length)) {
            read_objects(text, part, (uint32_t)i);
            continue;
        }
        ARRAY_ADD(text->entries, text->entry_count, text->entry_room) = (struct log_entry){
            .bytes = part->bytes,
            .length = part->length,
            .line = 1,
            .counts_lines = true,
            .source = part->source == NULL ? "" : part->source,
            .rank = part->rank,
            .file = (uint32_t)i};
    }
    for (size_t i = 0; i < count; i++) {
        if (log_is_pods(parts[i].bytes, parts[i].length)) {
            read_pods(text, parts, count, (uint32_t)i);
        }
    }
}

void log_text_deinit(struct log_text *text)
{
    for (size_t i = 0; i < text->source_count; i++) {
        free(text->sources[i]);
    }
    for (size_t i = 0; i < text->part_count; i++) {
        writing_deinit(&text->unwrapped[i]);
    }
    free(text->sources);
    free(text->entries);
    free(text->unwrapped);
}

/* --- its lines --- */

void log_walk_init(struct log_walk *walk, const struct log_text *text)
{
    *walk = (struct log_walk){.text = text};
    writing_init(&walk->clean);
}

void log_walk_deinit(struct log_walk *walk)
{
    writing_deinit(&walk->clean);
}

/* Finds "[rank5]:" where it stands behind something else, as behind a progress bar. */
static const char *find_label_within(const char *at, size_t length)
{
    static const char word[] = "[rank";
    const char *end = at + length;
    const char *found = at + 1;
    while (found < end && (found = memchr(found, '[', (size_t)(end - found))) != NULL) {
        if ((size_t)(end - found) < 5 || memcmp(found, word, 5) != 0) {
            found++;
            continue;
        }
        const char *digit = found + 5;
        while (digit < end && *digit >= '0' && *digit <= '9') {
            digit++;
        }
        const bool is_behind_label = found[-1] == ' ' && found - at < 64;
        if (digit > found + 5 && digit + 1 < end && digit[0] == ']' && digit[1] == ':' &&
            !is_behind_label) {
            return found;
        }
        found++;
    }
    return NULL;
}

/* The next place of the character from walk->at on; it is looked for once. */
static size_t find_next(const struct log_walk *walk, const struct log_entry *entry, char c,
                        size_t known_at)
{
    if (known_at >= walk->at && walk->at > 0) {
        return known_at;
    }
    const char *found = memchr(entry->bytes + walk->at, c, entry->length - walk->at);
    return found == NULL ? entry->length : (size_t)(found - entry->bytes);
}

/* The length of what is up to the next line feed or carriage return, or label. */
static size_t measure_fragment(struct log_walk *walk, const struct log_entry *entry)
{
    walk->feed_at = find_next(walk, entry, '\n', walk->feed_at);
    walk->carriage_at = find_next(walk, entry, '\r', walk->carriage_at);
    const size_t end = walk->feed_at < walk->carriage_at ? walk->feed_at : walk->carriage_at;
    const char *at = entry->bytes + walk->at;
    const size_t length = end - walk->at;
    const char *label = length == 0 ? NULL : find_label_within(at, length);
    return label == NULL ? length : (size_t)(label - at);
}

/* Copies the line without colours: ESC [ ... a letter. */
static void remove_colours(struct log_walk *walk, struct log_fragment *fragment)
{
    const char *end = fragment->at + fragment->length;
    writing_clear(&walk->clean);
    for (const char *at = fragment->at; at < end;) {
        const char *escape = memchr(at, '\033', (size_t)(end - at));
        const char *stop = escape == NULL ? end : escape;
        writing_append_bytes(&walk->clean, at, (size_t)(stop - at));
        at = stop;
        if (at < end && ++at < end && *at == '[') {
            at++;
            while (at < end && ((*at >= '0' && *at <= '9') || *at == ';')) {
                at++;
            }
            at += at < end;
        }
    }
    fragment->at = writing_string(&walk->clean);
    fragment->length = walk->clean.length;
}

bool log_walk_next(struct log_walk *walk, struct log_fragment *fragment)
{
    const struct log_text *text = walk->text;
    while (walk->entry < text->entry_count && walk->at >= text->entries[walk->entry].length) {
        walk->entry++;
        walk->at = 0;
    }
    if (walk->entry == text->entry_count) {
        return false;
    }
    const struct log_entry *entry = &text->entries[walk->entry];
    walk->line = walk->at == 0 ? entry->line : walk->line;
    const char *at = entry->bytes + walk->at;
    const size_t left = entry->length - walk->at;
    *fragment = (struct log_fragment){.at = at,
                                      .length = measure_fragment(walk, entry),
                                      .line = entry->counts_lines ? walk->line : entry->line,
                                      .entry = entry};
    size_t taken = fragment->length;
    if (taken + 1 < left && at[taken] == '\r' && at[taken + 1] == '\n') {
        taken++;
    }
    if (taken < left && (at[taken] == '\n' || at[taken] == '\r')) {
        walk->line += at[taken] == '\n';
        taken++;
    }
    walk->at += taken;
    if (memchr(at, '\033', fragment->length) != NULL) {
        remove_colours(walk, fragment);
    }
    return true;
}
