/* .rep: traces of the CS:APP malloc lab.  Four numbers, then one call a line; a block is named by a
 * small number, so that an array finds it, and the ops are made here: at 10 bytes a line a hash
 * would be most of the work.
 *
 * A device has no realloc: it becomes an allocation of the new block and then a free of the old, as
 * a program that copies must do. */
#include "formats/common/cursor.h"
#include "formats/common/import.h"
#include "formats/common/room.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADER_COUNT = 4, CALL_BYTES_MIN = 3 /* "f 0" */, LINE_BYTES_MIN = CALL_BYTES_MIN + 1 };
#define OP_COUNT_MAX (((uint64_t)1 << 31) - 1) /* of the file; each realloc is two of ours */

/* The states of an id, by what it names. */
enum { ID_FREE = 0, ID_LIVE, ID_EMPTY /* a block of 0 bytes, for which there is no op */ };
struct id {
    uint64_t size_bytes;
    uint32_t op;
    uint32_t state;
};

struct malloc_lab_reader {
    struct cursor cursor;
    struct import_error *error;
    struct op_list *ops;
    struct id *ids;              /* id_count of them */
    uint64_t id_count, op_count; /* as the header says */
    uint64_t granule_mask;       /* of the granule that is fixed, else 0 */
    uint64_t live_bytes, live_rounded, peak_bytes, peak_rounded, size_bits;
    uint64_t null_free_count, realloc_count, empty_count;
};

/* Takes the end of the line and blanks before it, of which most lines have none.  can_be_open: or
 * of the text. */
CURSOR_INLINE bool take_end(struct cursor *cursor, bool can_be_open)
{
    if (cursor_take_line_end(cursor)) {
        return true;
    }
    struct cursor behind = *cursor;
    while (behind.at < behind.end &&
           (*behind.at == ' ' || *behind.at == '\t' || *behind.at == '\r')) {
        behind.at++;
    }
    if (!cursor_take_line_end(&behind) && !(can_be_open && behind.at == behind.end)) {
        return false;
    }
    *cursor = behind;
    return true;
}

/* Four numbers, one a line.  NULL, or what is wrong at the cursor. */
static const char *take_header(struct cursor *cursor, uint64_t numbers[HEADER_COUNT])
{
    static const char *const wrong[] = {
        "the first line is not a number (the suggested heap size, or a weight)",
        "the second line is not the number of ids",
        "the third line is not the number of operations",
        "the fourth line is not a number (a weight, or a flag)"};
    for (int i = 0; i < HEADER_COUNT; i++) {
        if (!cursor_take_number(cursor, &numbers[i]) || !take_end(cursor, false)) {
            return wrong[i];
        }
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static unsigned recognise_malloc_lab(const char *text, size_t length)
{
    struct cursor cursor = cursor_make(text, length);
    uint64_t numbers[HEADER_COUNT];
    if (take_header(&cursor, numbers) != NULL || cursor.end - cursor.at < CALL_BYTES_MIN) {
        return 0;
    }
    const char kind = cursor.at[0];
    const char digit = cursor.at[2];
    return (kind == 'a' || kind == 'r' || kind == 'f') && cursor.at[1] == ' ' &&
                   (is_digit(digit) || digit == '-')
               ? 85
               : 0;
}

/* --- ops --- */

static enum import_result make_block(struct malloc_lab_reader *reader, size_t line, uint64_t number,
                                     uint64_t size_bytes)
{
    struct id *id = &reader->ids[number];
    if (size_bytes == 0) {
        *id = (struct id){.state = ID_EMPTY};
        reader->empty_count++;
        return IMPORT_OK;
    }
    const uint64_t rounded = (size_bytes + reader->granule_mask) & ~reader->granule_mask;
    if (size_bytes > IMPORT_CAPACITY_MAX || reader->live_rounded + rounded > IMPORT_CAPACITY_MAX) {
        return IMPORT_REFUSE(reader->error, line,
                             "with this block, more than 2^50 bytes are live; its size: %" PRIu64,
                             size_bytes);
    }
    *id = (struct id){
        .size_bytes = size_bytes, .op = (uint32_t)reader->ops->count, .state = ID_LIVE};
    *room_next(reader->ops) = (struct op){
        .kind = OP_ALLOC, .ref = OP_NONE, .event = OP_NONE, .size_bytes = size_bytes};
    reader->size_bits |= size_bytes;
    reader->live_bytes += size_bytes;
    reader->live_rounded += rounded;
    reader->peak_bytes = reader->live_bytes > reader->peak_bytes ? reader->live_bytes
                                                                 : reader->peak_bytes;
    reader->peak_rounded = reader->live_rounded > reader->peak_rounded ? reader->live_rounded
                                                                       : reader->peak_rounded;
    return IMPORT_OK;
}

CURSOR_INLINE void free_block(struct malloc_lab_reader *reader, const struct id *id)
{
    if (id->state == ID_LIVE) {
        *room_next(reader->ops) = (struct op){.kind = OP_FREE, .ref = id->op, .event = OP_NONE};
        reader->live_bytes -= id->size_bytes;
        reader->live_rounded -= (id->size_bytes + reader->granule_mask) & ~reader->granule_mask;
    }
}

static enum import_result change_block(struct malloc_lab_reader *reader, size_t line,
                                       uint64_t number, uint64_t size_bytes)
{
    const struct id old = reader->ids[number];
    reader->realloc_count++;
    if (size_bytes == 0 && old.state != ID_FREE) { /* as free */
        reader->ids[number].state = ID_FREE;
        free_block(reader, &old);
        return IMPORT_OK;
    }
    const enum import_result result = make_block(reader, line, number, size_bytes);
    if (result == IMPORT_OK) {
        free_block(reader, &old);
    }
    return result;
}

/* --- lines --- */

/* One line. */
struct malloc_call {
    uint64_t id, size_bytes;
    char kind;    /* a, r or f */
    bool is_null; /* the id */
};

/* A line: 'a ID SIZE', 'r ID SIZE' or 'f ID'; a free of the null pointer is 'f -1'.  NULL, or what
 * is wrong at the cursor. */
CURSOR_INLINE const char *take_call(struct cursor *cursor, struct malloc_call *call)
{
    call->kind = cursor->end - cursor->at >= CALL_BYTES_MIN && cursor->at[1] == ' ' ? cursor->at[0]
                                                                                    : 0;
    if (call->kind != 'f' && call->kind != 'a' && call->kind != 'r') {
        return "the line is none of 'a ID SIZE', 'r ID SIZE', 'f ID'";
    }
    cursor->at += 2;
    const bool has_size = call->kind != 'f';
    if (!cursor_take_number(cursor, &call->id)) {
        call->is_null = !has_size && cursor_take_word(cursor, "-1", 2);
        if (!call->is_null) {
            return "the id is not a number";
        }
    }
    if (has_size && !cursor_take(cursor, ' ')) {
        return "the id is not a number";
    }
    if (has_size && !cursor_take_number(cursor, &call->size_bytes)) {
        return "the size is not a number of bytes";
    }
    if (take_end(cursor, true)) {
        return NULL;
    }
    return has_size ? "something follows the size" : "something follows the id";
}

CURSOR_INLINE enum import_result run_call(struct malloc_lab_reader *reader,
                                          const struct malloc_call *call, size_t line)
{
    if (call->is_null) {
        reader->null_free_count++;
        return IMPORT_OK;
    }
    if (call->id >= reader->id_count) {
        return IMPORT_REFUSE(reader->error, line,
                             "id %" PRIu64 ", but the header gives %" PRIu64 " ids", call->id,
                             reader->id_count);
    }
    struct id *id = &reader->ids[call->id];
    if (call->kind == 'r') {
        return change_block(reader, line, call->id, call->size_bytes);
    }
    if (call->kind == 'f') {
        if (id->state == ID_FREE) {
            return IMPORT_REFUSE(reader->error, line, "a free of an id that is not live: %" PRIu64,
                                 call->id);
        }
        free_block(reader, id);
        id->state = ID_FREE;
        return IMPORT_OK;
    }
    return id->state != ID_FREE
               ? IMPORT_REFUSE(reader->error, line, "an allocation of an id that is live: %" PRIu64,
                               call->id)
               : make_block(reader, line, call->id, call->size_bytes);
}

static enum import_result read_lines(struct malloc_lab_reader *reader)
{
    struct cursor cursor = reader->cursor; /* a copy, whose address nobody else gets */
    uint64_t count = 0;
    while (cursor.at < cursor.end) {
        struct malloc_call call = {0};
        const size_t line = cursor.line;
        if (*cursor.at <= ' ' && take_end(&cursor, true)) {
            continue; /* an empty line */
        }
        if (count++ == reader->op_count) {
            return IMPORT_REFUSE(reader->error, line,
                                 "more operations than the %" PRIu64 " in the header",
                                 reader->op_count);
        }
        const char *wrong = take_call(&cursor, &call);
        if (wrong != NULL) {
            reader->cursor = cursor;
            return cursor_fail(&reader->cursor, reader->error, wrong);
        }
        IMPORT_TRY(run_call(reader, &call, line));
    }
    if (count < reader->op_count) {
        return import_fail(reader->error, IMPORT_INCOMPLETE, cursor.line, 0,
                           "the header gives %" PRIu64 " operations; the file ends after %" PRIu64,
                           reader->op_count, count);
    }
    return IMPORT_OK;
}

/* --- the whole --- */

/* Counts that the file cannot hold would only waste memory. */
static enum import_result read_header(struct malloc_lab_reader *reader, struct import *import)
{
    uint64_t numbers[HEADER_COUNT];
    const char *wrong = take_header(&reader->cursor, numbers);
    if (wrong != NULL) {
        return cursor_fail(&reader->cursor, reader->error, wrong);
    }
    reader->id_count = numbers[1];
    reader->op_count = numbers[2];
    const uint64_t left_bytes = (uint64_t)(reader->cursor.end - reader->cursor.at);
    const uint64_t room = (left_bytes + 1) / LINE_BYTES_MIN; /* the last line may have no end */
    if (reader->op_count > room) {
        return import_fail(reader->error, IMPORT_INCOMPLETE, 3, 1,
                           "the header gives %" PRIu64
                           " operations; the file has room for %" PRIu64,
                           reader->op_count, room);
    }
    if (reader->id_count > reader->op_count || reader->op_count > OP_COUNT_MAX) {
        return import_fail(reader->error, IMPORT_INVALID, 2, 1,
                           reader->op_count > OP_COUNT_MAX
                               ? "%" PRIu64 " ids and %" PRIu64 " operations: more than 2^31"
                               : "%" PRIu64 " ids, but only %" PRIu64 " operations",
                           reader->id_count, reader->op_count);
    }
    reader->ids = calloc(reader->id_count + 1, sizeof *reader->ids);
    room_for_ops(&import->ops, reader->op_count);
    room_advise(reader->ids, reader->id_count * sizeof *reader->ids);
    CHECK(reader->ids != NULL);
    return IMPORT_OK;
}

static void add_notes(const struct malloc_lab_reader *reader, struct import *import)
{
    import_note(import,
                "%" PRIu64 " operations on %" PRIu64 " ids; at most %" PRIu64
                " bytes live at a time; %" PRIu64 " at the end",
                reader->op_count, reader->id_count, reader->peak_bytes, reader->live_bytes);
    if (reader->realloc_count > 0) {
        import_note(
            import,
            "%" PRIu64
            " reallocations became an allocation, then a free of the old block; both blocks are live in between",
            reader->realloc_count);
    }
    if (reader->null_free_count + reader->empty_count > 0) {
        import_note(import,
                    "left out: %" PRIu64 " frees of the null pointer, %" PRIu64
                    " requests for 0 bytes",
                    reader->null_free_count, reader->empty_count);
    }
    if (is_digit(reader->cursor.end[-1])) {
        import_note(import,
                    "the last line has no line end: if it is cut, its last number is wrong");
    }
}

static enum import_result convert_calls(struct malloc_lab_reader *reader,
                                        const struct import_input *input, struct import *import)
{
    IMPORT_TRY(read_header(reader, import));
    IMPORT_TRY(read_lines(reader));
    if (import->ops.count == 0) {
        return IMPORT_LACKS(reader->error, "the file has no allocation");
    }
    add_notes(reader, import);
    snprintf(import->setup.system, sizeof import->setup.system, "host");
    return capacity_choose(input, reader->size_bits, reader->peak_rounded, import, reader->error);
}

static enum import_result import_malloc_lab(const struct import_input *input, struct import *import,
                                            struct import_error *error)
{
    struct malloc_lab_reader reader = {
        .cursor = cursor_make(input->text, input->length),
        .error = error,
        .ops = &import->ops,
        .granule_mask = input->fixed->granule_bytes == 0 ? 0 : input->fixed->granule_bytes - 1};
    const enum import_result result = convert_calls(&reader, input, import);
    free(reader.ids);
    return result;
}

const struct format format_malloc_lab = {
    .name = "malloc_lab",
    .summary = "a .rep trace of the CS:APP malloc lab: requests to malloc, realloc and free, by id",
    .recognise = recognise_malloc_lab,
    .import = import_malloc_lab,
};
