#include "formats/log/private/log_text.h"

#include "formats/log/log_story.h"
#include "harness/base/array.h"

#include <jansson.h>
#include <string.h>

/* --- the objects of a structured log --- */

enum { SOURCE_COUNT_MAX = 1024, SOURCE_NAME_BYTES = 80 };
#define ENTRY_BYTES_MAX ((size_t)1 << 20) /* collectors cut at a quarter of that */

/* An entry with what it is ordered by. */
struct wrapped {
    struct log_entry entry;
    size_t length; /* of its text */
    unsigned year;
    char id[48];  /* insertId; "" = none */
    size_t order; /* in the file */
};

/* Where a reader of objects stands. */
struct reader {
    const char *at, *end;
    size_t line;
    struct wrapped *wrapped;
    size_t count, room;
    struct writing texts;
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

/* Goes to the next object; false: there is none. */
static bool skip_to_object(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '{') {
        reader->line += *reader->at == '\n';
        reader->at++;
    }
    return reader->at < reader->end;
}

static const char *read_string(const json_t *object, const char *key)
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
    const char *pod = read_string(labels, "pod_name");
    if (pod == NULL) {
        pod = read_string(json_object_get(object, "labels"), "pod_name");
    }
    return pod != NULL ? pod : read_string(labels, "instance_id");
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

static void read_time(const json_t *object, struct wrapped *wrapped)
{
    const char *time = read_string(object, "timestamp");
    time = time != NULL ? time : read_string(object, "time");
    if (time != NULL && log_time_parse(time, strlen(time), &wrapped->entry.time)) {
        wrapped->year = (unsigned)strtoul(time, NULL, 10);
    }
}

static bool read_entry(struct reader *reader, const json_t *object)
{
    const json_t *text = find_text(object);
    const char *id = read_string(object, "insertId");
    if (text == NULL) {
        return false;
    }
    reader->wrapped = array_grown(reader->wrapped, reader->count, &reader->room,
                                  sizeof *reader->wrapped);
    struct wrapped *wrapped = &reader->wrapped[reader->count];
    *wrapped = (struct wrapped){.order = reader->count++,
                                .entry = {.begin = reader->texts.length,
                                          .line = reader->line,
                                          .source = keep_source(reader->text, find_pod(object))}};
    read_time(object, wrapped);
    snprintf(wrapped->id, sizeof wrapped->id, "%s", id == NULL ? "" : id);
    wrapped->length = json_string_length(text);
    writing_append_bytes(&reader->texts, json_string_value(text), wrapped->length);
    return true;
}

static void read_object(struct reader *reader)
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
    if (x->year != y->year) {
        return x->year < y->year ? -1 : 1;
    }
    if (x->entry.time.time_ns != y->entry.time.time_ns) {
        return x->entry.time.time_ns < y->entry.time.time_ns ? -1 : 1;
    }
    const int ids = strcmp(x->id, y->id);
    if (ids != 0) {
        return ids;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_twice(const struct wrapped *a, const struct wrapped *b)
{
    return a->id[0] != '\0' && strcmp(a->id, b->id) == 0 && a->year == b->year &&
           a->entry.time.time_ns == b->entry.time.time_ns && a->entry.source == b->entry.source;
}

/* Entries without a time stay in the order of the file, before the others. */
static void join_entries(struct reader *reader)
{
    struct log_text *text = reader->text;
    if (reader->count == 0) {
        return;
    }
    qsort(reader->wrapped, reader->count, sizeof *reader->wrapped, compare_wrapped);
    text->entries = array_resized(NULL, reader->count * sizeof *text->entries);
    for (size_t i = 0; i < reader->count; i++) {
        const struct wrapped *wrapped = &reader->wrapped[i];
        if (i > 0 && is_twice(wrapped, wrapped - 1)) {
            text->left_out_count++;
            continue;
        }
        struct log_entry *entry = &text->entries[text->entry_count++];
        *entry = wrapped->entry;
        entry->begin = text->unwrapped.length;
        writing_append_bytes(&text->unwrapped, reader->texts.bytes + wrapped->entry.begin,
                             wrapped->length);
        if (wrapped->length == 0 || text->unwrapped.bytes[text->unwrapped.length - 1] != '\n') {
            writing_append(&text->unwrapped, "\n");
        }
    }
}

bool log_is_structured(const char *bytes, size_t length)
{
    struct log_text nothing = {0};
    struct reader reader = {.at = bytes, .end = bytes + length, .text = &nothing};
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

void log_text_init(struct log_text *text, const char *bytes, size_t length)
{
    *text = (struct log_text){.bytes = bytes, .length = length};
    writing_init(&text->unwrapped);
    if (!log_is_structured(bytes, length)) {
        return;
    }
    struct reader reader = {.at = bytes, .end = bytes + length, .line = 1, .text = text};
    writing_init(&reader.texts);
    while (skip_to_object(&reader)) {
        read_object(&reader);
    }
    join_entries(&reader);
    free(reader.wrapped);
    writing_deinit(&reader.texts);
    text->bytes = writing_string(&text->unwrapped);
    text->length = text->unwrapped.length;
}

void log_text_deinit(struct log_text *text)
{
    for (size_t i = 0; i < text->source_count; i++) {
        free(text->sources[i]);
    }
    free(text->sources);
    free(text->entries);
    writing_deinit(&text->unwrapped);
}

/* --- its lines --- */

void log_walk_init(struct log_walk *walk, const struct log_text *text)
{
    *walk = (struct log_walk){.text = text, .line = 1};
    writing_init(&walk->clean);
}

void log_walk_deinit(struct log_walk *walk)
{
    writing_deinit(&walk->clean);
}

/* Where "[rank5]:" stands behind something else, as behind a progress bar. */
static const char *find_label_within(const char *at, size_t length)
{
    static const char word[] = "[rank";
    const char *end = at + length;
    const char *found = at + 1;
    while (found < end && (found = memmem(found, (size_t)(end - found), word, 5)) != NULL) {
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
static size_t find_next(const struct log_walk *walk, char c, size_t known_at)
{
    const struct log_text *text = walk->text;
    if (known_at >= walk->at && walk->at > 0) {
        return known_at;
    }
    const char *found = memchr(text->bytes + walk->at, c, text->length - walk->at);
    return found == NULL ? text->length : (size_t)(found - text->bytes);
}

/* The length of what is up to the next line feed or carriage return, or label. */
static size_t measure_fragment(struct log_walk *walk)
{
    walk->feed_at = find_next(walk, '\n', walk->feed_at);
    walk->carriage_at = find_next(walk, '\r', walk->carriage_at);
    const size_t end = walk->feed_at < walk->carriage_at ? walk->feed_at : walk->carriage_at;
    const char *at = walk->text->bytes + walk->at;
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

/* The line in the file and the entry of what begins at walk->at. */
static void place_fragment(struct log_walk *walk, struct log_fragment *fragment)
{
    const struct log_text *text = walk->text;
    if (text->entries == NULL) {
        fragment->line = walk->line;
        return;
    }
    while (walk->next_entry < text->entry_count &&
           text->entries[walk->next_entry].begin <= walk->at) {
        walk->next_entry++;
    }
    fragment->entry = &text->entries[walk->next_entry - 1];
    fragment->line = fragment->entry->line;
}

bool log_walk_next(struct log_walk *walk, struct log_fragment *fragment)
{
    const struct log_text *text = walk->text;
    if (walk->at >= text->length) {
        return false;
    }
    const char *at = text->bytes + walk->at;
    const size_t left = text->length - walk->at;
    *fragment = (struct log_fragment){.at = at, .length = measure_fragment(walk)};
    place_fragment(walk, fragment);
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
