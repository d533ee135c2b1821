/* Reads an .ops file part by part: its text, several times as long as the list, is never whole in
 * memory. */
#include "harness/base/array.h"
#include "harness/op/private/ops_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
struct part {
    char *text;
    size_t length, capacity;
    uint64_t read_bytes;
};

static void drop_parsed(struct part *part, size_t parsed)
{
    memmove(part->text, part->text + parsed, part->length - parsed);
    part->length -= parsed;
    if (part->length == part->capacity) { /* of one line */
        part->capacity *= 2;
        part->text = array_resized(part->text, part->capacity);
    }
}

static enum ops_file_result read_lines(FILE *stream, struct parser *parser, struct part *part,
                                       struct ops_file_error *error)
{
    size_t got = 0, parsed = 0;
    while ((got = fread(part->text + part->length, 1, part->capacity - part->length, stream)) > 0) {
        part->length += got;
        part->read_bytes += got;
        if (part->read_bytes > FILE_BYTES_MAX) {
            return fail_to_read(error, "is larger than 16G");
        }
        if (!parser_lines(parser, part->text, part->length, false, &parsed)) {
            return OPS_FILE_INVALID;
        }
        drop_parsed(part, parsed);
    }
    if (ferror(stream)) {
        return fail_to_read(error, strerror(errno));
    }
    return parser_lines(parser, part->text, part->length, true, &parsed) ? OPS_FILE_OK
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
    struct part part = {.text = array_resized(NULL, PART_BYTES), .capacity = PART_BYTES};
    parser_begin(&parser, setup, list, error);
    const enum ops_file_result result = read_lines(stream, &parser, &part, error);
    parser_end(&parser);
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
