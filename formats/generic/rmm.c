/* The CSV of RAPIDS RMM's logging_resource_adaptor.  The order of the lines is the order of the
 * events; the time of day only has to be one.  A thread and a stream together are a lane: RMM's own
 * replay groups by thread, and a device orders by stream. */
#include "formats/common/cursor.h"
#include "formats/common/room.h"
#include "formats/common/trace.h"

#include <inttypes.h>
#include <stdio.h>

#define HEADER "Thread,Time,Action,Pointer,Size,Stream"
enum { HEADER_LENGTH = sizeof HEADER - 1, PAIR_COUNT_MAX = 32, ROW_BYTES_USUAL = 48 };

/* A line of the file. */
struct rmm_row {
    uint64_t thread, pointer, size_bytes, stream;
    uint32_t second; /* of the day */
    char action;     /* a allocate, x allocate failure, f free */
    bool is_null;    /* the pointer */
};

struct rmm_reader {
    struct cursor cursor;
    struct import_error *error;
    struct event_trace *trace;
    struct {
        uint64_t thread, stream;
    } pairs[PAIR_COUNT_MAX]; /* pair_count of them: those that came first, by number */
    uint32_t pair_count, pair_last;
    uint32_t second_last;
    uint64_t empty_count; /* rows of nothing: 0 bytes, or a free of the null pointer */
    uint64_t back_count;  /* rows before whose time the row before was */
};

static bool take_header(struct cursor *cursor)
{
    return cursor_take_word(cursor, HEADER, HEADER_LENGTH) &&
           (cursor->at == cursor->end || cursor_take_line_end(cursor));
}

static unsigned recognise_rmm(const char *text, size_t length)
{
    struct cursor cursor = cursor_make(text, length);
    return take_header(&cursor) ? 95 : 0;
}

/* --- fields --- */

/* HH:MM:SS.uuuuuu, or HH:MM:SS:uuuuuu in old files. */
CURSOR_INLINE bool take_time(struct cursor *cursor, uint32_t *second)
{
    const char *begin = cursor->at;
    uint64_t fraction;
    if (!cursor_take_clock(cursor, second) ||
        !(cursor_take(cursor, '.') || cursor_take(cursor, ':'))) {
        cursor->at = begin;
        return false;
    }
    return cursor_take_number(cursor, &fraction);
}

CURSOR_INLINE bool take_action(struct cursor *cursor, char *action)
{
    if (cursor_take_word(cursor, "free,", 5)) {
        *action = 'f';
        return true;
    }
    if (cursor_take_word(cursor, "allocate,", 9)) {
        *action = 'a';
        return true;
    }
    *action = 'x';
    return cursor_take_word(cursor, "allocate failure,", 17);
}

/* Reads a pointer as C prints it; the null pointer is "(nil)" or a number that is 0. */
CURSOR_INLINE bool take_pointer(struct cursor *cursor, uint64_t *pointer, bool *is_null)
{
    *pointer = 0;
    if (cursor_take_word(cursor, "(nil)", 5)) {
        *is_null = true;
        return true;
    }
    if (!cursor_take_word(cursor, "0x", 2) || !cursor_take_hex(cursor, pointer)) {
        return false;
    }
    *is_null = *pointer == 0;
    return true;
}

/* Old files have plain numbers. */
CURSOR_INLINE bool take_stream(struct cursor *cursor, uint64_t *stream)
{
    return cursor_take_word(cursor, "0x", 2) ? cursor_take_hex(cursor, stream)
                                             : cursor_take_number(cursor, stream);
}

/* NULL: a row was taken.  Else what is wrong at the cursor. */
CURSOR_INLINE const char *take_row(struct cursor *cursor, struct rmm_row *row)
{
    if (!cursor_take_number(cursor, &row->thread) || !cursor_take(cursor, ',')) {
        return "the thread is not a number";
    }
    if (!take_time(cursor, &row->second) || !cursor_take(cursor, ',')) {
        return "the time is not HH:MM:SS.uuuuuu";
    }
    if (!take_action(cursor, &row->action)) {
        return "the action is none of allocate, allocate failure, free";
    }
    if (!take_pointer(cursor, &row->pointer, &row->is_null) || !cursor_take(cursor, ',')) {
        return "the pointer is neither hexadecimal nor (nil)";
    }
    if (!cursor_take_number(cursor, &row->size_bytes) || !cursor_take(cursor, ',')) {
        return "the size is not a number of bytes";
    }
    if (!take_stream(cursor, &row->stream)) {
        return "the stream is not a number";
    }
    return cursor_take_line_end(cursor) ? NULL : "something follows the stream";
}

/* --- events --- */

/* A number for thread and stream together.  The first ones, as many as can be lanes and more, are
 * told apart exactly; of so many more two may get the same number by chance, and none becomes a
 * lane. */
static uint64_t number_pair(struct rmm_reader *reader, const struct rmm_row *row)
{
    const uint32_t last = reader->pair_last;
    if (reader->pair_count > 0 && reader->pairs[last].thread == row->thread &&
        reader->pairs[last].stream == row->stream) {
        return last;
    }
    for (uint32_t i = 0; i < reader->pair_count; i++) {
        if (reader->pairs[i].thread == row->thread && reader->pairs[i].stream == row->stream) {
            reader->pair_last = i;
            return i;
        }
    }
    if (reader->pair_count < PAIR_COUNT_MAX) {
        reader->pairs[reader->pair_count].thread = row->thread;
        reader->pairs[reader->pair_count].stream = row->stream;
        reader->pair_last = reader->pair_count++;
        return reader->pair_last;
    }
    return (row->thread * UINT64_C(0x9E3779B97F4A7C15) ^ row->stream) | UINT64_C(1) << 63;
}

static enum import_result take_event(struct rmm_reader *reader, const struct rmm_row *row,
                                     size_t line)
{
    const struct trace_event event = {.address = row->pointer,
                                      .size_bytes = row->size_bytes,
                                      .line = line,
                                      .stream = number_pair(reader, row)};
    if (row->action == 'x') {
        return trace_failed(reader->trace, &event);
    }
    if (row->size_bytes == 0 || (row->is_null && row->action == 'f')) {
        reader->empty_count++;
        return IMPORT_OK;
    }
    if (row->is_null) {
        return IMPORT_REFUSE(reader->error, line,
                             "%" PRIu64 " bytes are allocated at the null pointer",
                             row->size_bytes);
    }
    return row->action == 'a' ? trace_alloc(reader->trace, &event)
                              : trace_free(reader->trace, &event);
}

static enum import_result read_rows(struct rmm_reader *reader)
{
    struct cursor cursor = reader->cursor; /* a copy, whose address nobody else gets */
    while (cursor.at < cursor.end) {
        struct rmm_row row;
        const size_t line = cursor.line;
        if (cursor_take_line_end(&cursor)) {
            continue; /* an empty line */
        }
        const char *wrong = take_row(&cursor, &row);
        if (wrong != NULL) {
            reader->cursor = cursor;
            return cursor_fail(&reader->cursor, reader->error, wrong);
        }
        reader->back_count += row.second < reader->second_last;
        reader->second_last = row.second;
        IMPORT_TRY(take_event(reader, &row, line));
    }
    return IMPORT_OK;
}

static void add_notes(const struct rmm_reader *reader, struct import *import)
{
    if (reader->empty_count > 0) {
        import_note(import,
                    "left out: %" PRIu64 " rows with 0 bytes or with a free of the null pointer",
                    reader->empty_count);
    }
    if (reader->back_count > 0) {
        import_note(
            import,
            "the time goes back %" PRIu64
            " times (midnight, or threads that wrote late): the ops keep the order of the lines",
            reader->back_count);
    }
}

static enum import_result import_rmm(const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    struct rmm_reader reader = {.cursor = cursor_make(input->text, input->length), .error = error};
    if (!take_header(&reader.cursor)) {
        return IMPORT_REFUSE(error, 1, "the header is not '%s'", HEADER);
    }
    reader.trace = trace_begin(input, import, error);
    room_for_ops(&import->ops, input->length / ROW_BYTES_USUAL);
    const enum import_result result = read_rows(&reader);
    if (result != IMPORT_OK) {
        trace_abandon(reader.trace);
        return result;
    }
    add_notes(&reader, import);
    snprintf(import->setup.system, sizeof import->setup.system, "rmm");
    return trace_end(reader.trace, NULL);
}

const struct format format_rmm = {
    .name = "rmm",
    .summary = "CSV of allocations and frees, written by RAPIDS RMM's logging adaptor",
    .recognise = recognise_rmm,
    .import = import_rmm,
};
