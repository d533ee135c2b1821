/* Reads the text of an .ops file line by line; the printer is its neighbour ops_file.c. */
#include "harness/op/private/ops_parse.h"

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- words --- */

bool word_split(struct word word, char mark, struct word *head, struct word *rest)
{
    const char *found = word.length > 0 ? memchr(word.text, mark, word.length) : NULL;
    *head = (struct word){word.text, found == NULL ? word.length : (size_t)(found - word.text)};
    if (found != NULL) {
        *rest = (struct word){found + 1, word.length - head->length - 1};
    }
    return found != NULL;
}

struct word word_next(const char **at, const char *end)
{
    while (*at < end && is_space(**at)) {
        ++*at;
    }
    struct word word = {*at, 0};
    while (*at < end && !is_space(**at)) {
        ++*at;
    }
    word.length = (size_t)(*at - word.text);
    return word;
}

void names_append(char *names, size_t names_bytes, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, names_bytes - used, "%s%s", used == 0 ? "" : ", ", name);
}

bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
{
    parser->error->line = parser->line_number;
    parser->error->column = (size_t)(at - parser->line) + 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->reason, sizeof parser->error->reason, format, arguments);
    va_end(arguments);
    for (char *c = parser->error->reason; *c != '\0'; c++) {
        *c = is_control(*c) ? '?' : *c;
    }
    return false;
}

struct word parser_next_word(struct parser *parser)
{
    return word_next(&parser->at, parser->line_end);
}

struct word parser_rest(const struct parser *parser, const char *from)
{
    struct word rest = {from, (size_t)(parser->line_end - from)};
    while (rest.length > 0 && is_space(rest.text[rest.length - 1])) {
        rest.length--;
    }
    return rest;
}

bool parser_copy(struct parser *parser, struct word word, char *to, size_t to_bytes)
{
    if (word.length == 0) {
        return parser_fail(parser, word.text, "a value is missing");
    }
    if (word.length >= to_bytes) {
        return parser_fail(parser, word.text, "longer than %zu characters", to_bytes - 1);
    }
    for (size_t i = 0; i < word.length; i++) {
        if (is_control(word.text[i])) {
            return parser_fail(parser, word.text + i, "a control character");
        }
    }
    memcpy(to, word.text, word.length);
    to[word.length] = '\0';
    return true;
}

bool parser_size(struct parser *parser, struct word word, uint64_t *size_bytes)
{
    return size_parse(word.text, word.length, size_bytes) ||
           parser_fail(parser, word.text, "'%.*s' is not a size such as 512, 4K or 16G",
                       shown(word), word.text);
}

bool parser_number(struct parser *parser, struct word word, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (!number_parse(word.text, word.length, &value) || value > max) {
        return parser_fail(parser, word.text, "'%.*s' is not a number from 0 to %" PRIu64,
                           shown(word), word.text, max);
    }
    *number = value;
    return true;
}

/* --- the numbers of ops --- */

bool parser_find_label(const struct parser *parser, uint64_t label, uint32_t *index)
{
    if (parser->labels == NULL) {
        *index = (uint32_t)label;
        return label < parser->list->count;
    }
    size_t i;
    SEARCH_FIRST(i, 0, parser->list->count, parser->labels[i] >= label);
    if (i == parser->list->count || parser->labels[i] != label) {
        return false;
    }
    *index = (uint32_t)i;
    return true;
}

static uint64_t find_last_label(const struct parser *parser)
{
    const size_t last = parser->list->count - 1;
    return parser->labels == NULL ? last : parser->labels[last];
}

/* Notes the label.  Most lists number ops 0, 1, 2 and so on: the first other label makes an array.
 */
static void note_label(struct parser *parser, uint64_t label)
{
    const size_t count = parser->list->count;
    if (parser->labels == NULL && label == count) {
        return;
    }
    if (parser->labels == NULL) {
        parser->label_capacity = count + 64;
        parser->labels = array_resized(NULL, parser->label_capacity * sizeof *parser->labels);
        for (size_t i = 0; i < count; i++) {
            parser->labels[i] = i;
        }
    }
    parser->labels = array_grown(parser->labels, count, &parser->label_capacity,
                                 sizeof *parser->labels);
    parser->labels[count] = label;
}

static bool parse_label(struct parser *parser, struct word word)
{
    const struct word digits = {word.text, word.length - 1};
    uint64_t label = 0;
    if (!parser_number(parser, digits, UINT64_MAX, &label)) {
        return false;
    }
    if (parser->list->count > 0 && label <= find_last_label(parser)) {
        return parser_fail(parser, word.text,
                           "op numbers must ascend, but %" PRIu64 " comes after %" PRIu64, label,
                           find_last_label(parser));
    }
    note_label(parser, label);
    return true;
}

/* --- lines --- */

static bool parse_op_line(struct parser *parser, struct word label)
{
    if (!parse_label(parser, label)) {
        return false;
    }
    const struct word name = parser_next_word(parser);
    const enum op_kind kind = op_kind_find(name.text, name.length);
    if (kind == OP_KIND_COUNT) {
        return parser_fail(parser, name.text, "unknown op '%.*s'", shown(name), name.text);
    }
    struct op op = op_make(kind);
    op.size_bytes = kind == OP_FAULT ? 1 : 0; /* the next call, unless nth= says another */
    if (!parser_fields(parser, &op)) {
        return false;
    }
    if (op.host >= parser->setup->host_count) {
        return parser_fail(parser, parser->line, "there is no host %u: the head has hosts %" PRIu32,
                           op.host, parser->setup->host_count);
    }
    parser->names_lanes = parser->names_lanes || op.lane != 0 || kind == OP_SWITCH;
    op_list_append(parser->list, &op);
    return true;
}

static bool parse_first_line(struct parser *parser, struct word first)
{
    if (!word_is(first, "hbmstress-ops")) {
        return parser_fail(parser, first.text,
                           "not an .ops file: the first line must be 'hbmstress-ops 1'");
    }
    const struct word version = parser_next_word(parser);
    return word_is(version, "1") ||
           parser_fail(parser, version.text,
                       "version '%.*s' is not known; this program reads version 1", shown(version),
                       version.text);
}

static bool parse_line(struct parser *parser)
{
    const struct word first = parser_next_word(parser);
    if (parser->line_number == 1) {
        return parse_first_line(parser, first);
    }
    if (first.length == 0 || first.text[0] == '#') {
        return true;
    }
    if (first.text[first.length - 1] == ':') {
        return parse_op_line(parser, first);
    }
    if (parser->list->count > 0) {
        return parser_fail(parser, first.text, "'%.*s' is not an op: write ops as 'N: kind …'",
                           shown(first), first.text);
    }
    return parser_head(parser, first);
}

/* Moves the parser to the line that begins at `line`; returns where the next one does, behind `end`
 * after the last. */
static const char *take_line(struct parser *parser, const char *line, const char *end)
{
    const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    parser->line_number++;
    parser->line = parser->at = line;
    parser->line_end = newline != NULL ? newline : end;
    const char *next = parser->line_end + 1;
    if (parser->line_end > parser->line && parser->line_end[-1] == '\r') {
        parser->line_end--;
    }
    return next;
}

static bool is_text(struct parser *parser, bool has_end)
{
    if (memchr(parser->line, '\0', (size_t)(parser->line_end - parser->line)) != NULL) {
        return parser_fail(parser, parser->line, "not a text file: it contains a NUL byte");
    }
    return has_end || parser->line_end == parser->line ||
           parser_fail(parser, parser->line_end, "the file is cut off: its last line has no end");
}

/* setup and list are empty then; error is the caller's.  begin and end pair. */
static void begin_parser(struct parser *parser, struct setup *setup, struct op_list *list,
                         struct ops_file_error *error)
{
    *parser = (struct parser){.setup = setup, .list = list, .error = error};
    setup_init(setup);
    op_list_clear(list);
    *error = (struct ops_file_error){0};
}

static void end_parser(struct parser *parser)
{
    free(parser->labels);
}

/* The lines of a part of the text, which begins with one: *parsed bytes are done, and what is
 * behind them has no end yet.  The last part is done whole. */
static bool parse_lines(struct parser *parser, const char *text, size_t length, bool is_last,
                        size_t *parsed)
{
    const char *end = is_last ? text + length : memrchr(text, '\n', length);
    const char *line = text;
    bool is_good = true;
    *parsed = end == NULL ? 0 : is_last ? length : (size_t)(end - text) + 1;
    while (is_good && end != NULL && line <= end) {
        line = take_line(parser, line, end);
        is_good = is_text(parser, !is_last || line <= end) && parse_line(parser);
    }
    return is_good && (!is_last || parser_check_hosts(parser));
}

enum ops_file_result ops_file_parse(const char *text, size_t length, struct setup *setup,
                                    struct op_list *list, struct ops_file_error *error)
{
    struct parser parser;
    size_t parsed = 0;
    begin_parser(&parser, setup, list, error);
    const bool is_good = parse_lines(&parser, text, length, true, &parsed);
    end_parser(&parser);
    return is_good ? OPS_FILE_OK : OPS_FILE_INVALID;
}

/* --- files, part by part: the text, several times as long as the list, is never whole in memory
 * --- */

/* So that a list has no more ops than there are numbers: a line of an op has 8 bytes or more. */
#define FILE_BYTES_MAX ((uint64_t)1 << 34)
enum { PART_BYTES = 1 << 20 };

static enum ops_file_result fail_to_read(struct ops_file_error *error, const char *reason)
{
    *error = (struct ops_file_error){0};
    snprintf(error->reason, sizeof error->reason, "%s", reason);
    return OPS_FILE_UNREADABLE;
}

/* The part of a text that is in memory: whole lines are parsed and go, the rest of one stays. */
struct line_part {
    char *text;
    size_t length, capacity;
    uint64_t read_bytes;
};

static void drop_parsed(struct line_part *part, size_t parsed)
{
    memmove(part->text, part->text + parsed, part->length - parsed);
    part->length -= parsed;
    if (part->length == part->capacity) { /* of one line */
        part->capacity *= 2;
        part->text = array_resized(part->text, part->capacity);
    }
}

static enum ops_file_result read_lines(FILE *stream, struct parser *parser, struct line_part *part,
                                       struct ops_file_error *error)
{
    size_t got = 0, parsed = 0;
    while ((got = fread(part->text + part->length, 1, part->capacity - part->length, stream)) > 0) {
        part->length += got;
        part->read_bytes += got;
        if (part->read_bytes > FILE_BYTES_MAX) {
            return fail_to_read(error, "is larger than 16G");
        }
        if (!parse_lines(parser, part->text, part->length, false, &parsed)) {
            return OPS_FILE_INVALID;
        }
        drop_parsed(part, parsed);
    }
    if (ferror(stream)) {
        return fail_to_read(error, strerror(errno));
    }
    return parse_lines(parser, part->text, part->length, true, &parsed) ? OPS_FILE_OK
                                                                        : OPS_FILE_INVALID;
}

static enum ops_file_result read_stream(FILE *stream, struct setup *setup, struct op_list *list,
                                        struct ops_file_error *error)
{
    struct stat status;
    if (fstat(fileno(stream), &status) != 0) {
        return fail_to_read(error, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_to_read(error, "is a directory, not a file");
    }
    struct parser parser;
    struct line_part part = {.text = array_resized(NULL, PART_BYTES), .capacity = PART_BYTES};
    begin_parser(&parser, setup, list, error);
    const enum ops_file_result result = read_lines(stream, &parser, &part, error);
    end_parser(&parser);
    free(part.text);
    return result;
}

enum ops_file_result ops_file_read(const char *path, struct setup *setup, struct op_list *list,
                                   struct ops_file_error *error)
{
    const bool is_standard = strcmp(path, "-") == 0;
    FILE *stream = is_standard ? fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "rb")
                               : fopen(path, "rb");
    if (stream == NULL) {
        return fail_to_read(error, strerror(errno));
    }
    const enum ops_file_result result = read_stream(stream, setup, list, error);
    fclose(stream);
    return result;
}
