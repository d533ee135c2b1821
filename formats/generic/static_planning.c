/* Static planning: buffers with known lifetimes, as offline planners (minimalloc, IREE) read them.
 * A row is one buffer, live on [lower, upper); in the older spelling [start, end], both ends
 * included.  At each time the frees come before the allocs, each in file order. */
#include "formats/common/csv.h"
#include "formats/common/import.h"
#include "formats/common/lifetimes.h"
#include "formats/common/radix.h"
#include "formats/common/room.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_COUNT_MAX = 1 << 28, /* 2^28 rows: some 5 GB of text, 40 GB of host memory */
    ROW_BYTES_MIN = 8           /* "a,0,1,1\n" */
};

enum planning_column {
    COLUMN_ID,
    COLUMN_LOWER,
    COLUMN_UPPER,
    COLUMN_END, /* as upper, but included */
    COLUMN_SIZE,
    COLUMN_ALIGNMENT,
    COLUMN_OFFSET,
    COLUMN_GAPS,
    COLUMN_HINT,
    COLUMN_COUNT
};

static const struct {
    const char *name;
    enum planning_column column;
} column_names[] = {
    {"id", COLUMN_ID},
    {"buffer", COLUMN_ID},
    {"buffer_id", COLUMN_ID},
    {"lower", COLUMN_LOWER},
    {"start", COLUMN_LOWER},
    {"begin", COLUMN_LOWER},
    {"upper", COLUMN_UPPER},
    {"end", COLUMN_END},
    {"size", COLUMN_SIZE},
    {"offset", COLUMN_OFFSET},
    {"alignment", COLUMN_ALIGNMENT},
    {"gaps", COLUMN_GAPS},
    {"hint", COLUMN_HINT},
};
enum { COLUMN_NAME_COUNT = sizeof column_names / sizeof column_names[0], COLUMN_ABSENT = -1 };

/* Maps the fields of a row to its columns, and back. */
struct header {
    int fields[COLUMN_COUNT];                          /* index, or COLUMN_ABSENT */
    enum planning_column columns[CSV_FIELD_COUNT_MAX]; /* by field; COLUMN_COUNT: of another name */
    size_t field_count;
    size_t unknown_count; /* columns of other names: ignored */
};

/* A row, which begins at `row`. */
struct buffer {
    const char *row;
    struct double_name id;
    int64_t lower, upper;
    uint64_t size_bytes;
    uint8_t align_log2;
    bool has_gaps;
};

/* The whole instance while it is read. */
struct instance {
    const char *text; /* length bytes */
    size_t length;
    struct cursor cursor;
    struct header header;
    struct lifetimes lifetimes;
    struct double_name last_id;
    /* each is longer than the one before, or as long and greater: no two are equal */
    bool ids_rise;
    size_t gap_count; /* buffers with gaps */
    struct import_error *error;
};

static enum planning_column find_column(const struct csv_field *field)
{
    for (size_t i = 0; i < COLUMN_NAME_COUNT; i++) {
        if (csv_field_is(field, column_names[i].name)) {
            return column_names[i].column;
        }
    }
    return COLUMN_COUNT;
}

/* NULL, or what is wrong with the header; *column then says where (0 = the whole line). */
static const char *read_columns(const struct csv_row *row, struct header *header, size_t *column)
{
    *header = (struct header){.field_count = row->field_count};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        header->fields[i] = COLUMN_ABSENT;
    }
    for (size_t i = 0; i < row->field_count; i++) {
        const enum planning_column found = find_column(&row->fields[i]);
        header->columns[i] = found;
        if (found == COLUMN_COUNT) {
            header->unknown_count++;
            continue;
        }
        if (header->fields[found] != COLUMN_ABSENT) {
            *column = row->fields[i].column;
            return "two columns have the same meaning";
        }
        header->fields[found] = (int)i;
    }
    *column = 0;
    if (header->fields[COLUMN_UPPER] != COLUMN_ABSENT &&
        header->fields[COLUMN_END] != COLUMN_ABSENT) {
        return "the header has both 'upper' (excluded) and 'end' (included); accepted: one of them";
    }
    const bool has_end = header->fields[COLUMN_UPPER] != COLUMN_ABSENT ||
                         header->fields[COLUMN_END] != COLUMN_ABSENT;
    return header->fields[COLUMN_ID] == COLUMN_ABSENT ? "no column 'id' (or 'buffer', 'buffer_id')"
           : header->fields[COLUMN_LOWER] == COLUMN_ABSENT
               ? "no column 'lower' (or 'start', 'begin')"
           : !has_end                                     ? "no column 'upper' (or 'end')"
           : header->fields[COLUMN_SIZE] == COLUMN_ABSENT ? "no column 'size'"
                                                          : NULL;
}

static unsigned recognise_static_planning(const char *text, size_t length)
{
    struct cursor cursor = cursor_make(text, length);
    struct csv_row row;
    struct header header;
    const char *reason = NULL;
    size_t column = 0;
    if (csv_next(&cursor, &row, &reason, &column) != CSV_ROW) {
        return 0;
    }
    return read_columns(&row, &header, &column) == NULL ? 90 : 0;
}

/* --- rows, whatever they look like --- */

static const struct csv_field *find_field(const struct instance *instance,
                                          const struct csv_row *row, enum planning_column column)
{
    const int index = instance->header.fields[column];
    return index == COLUMN_ABSENT ? NULL : &row->fields[index];
}

static enum import_result fail_field(struct instance *instance, const struct csv_row *row,
                                     const struct csv_field *field, const char *reason)
{
    return import_fail(instance->error, IMPORT_INVALID, row->line, field->column, "%s: '%.*s'",
                       reason, (int)(field->length > 40 ? 40 : field->length), field->text);
}

static enum import_result read_lifetime(struct instance *instance, const struct csv_row *row,
                                        struct buffer *buffer)
{
    const struct csv_field *lower = find_field(instance, row, COLUMN_LOWER);
    const struct csv_field *upper = find_field(instance, row, COLUMN_UPPER);
    const bool is_included = upper == NULL;
    upper = is_included ? find_field(instance, row, COLUMN_END) : upper;
    if (!csv_field_integer(lower, &buffer->lower)) {
        return fail_field(instance, row, lower, "the first time is not a whole number below 2^63");
    }
    if (!csv_field_integer(upper, &buffer->upper)) {
        return fail_field(instance, row, upper, "the last time is not a whole number below 2^63");
    }
    if (is_included && __builtin_add_overflow(buffer->upper, 1, &buffer->upper)) {
        return fail_field(instance, row, upper, "the last time is not below 2^63 - 1");
    }
    return buffer->lower >= buffer->upper
               ? fail_field(instance, row, upper, "the buffer ends before it begins")
               : IMPORT_OK;
}

static enum import_result read_buffer(struct instance *instance, const struct csv_row *row,
                                      struct buffer *buffer)
{
    if (row->field_count != instance->header.field_count) {
        return IMPORT_REFUSE(instance->error, row->line,
                             "%zu fields where the header has %zu (a cut file?)", row->field_count,
                             instance->header.field_count);
    }
    const struct csv_field *id = find_field(instance, row, COLUMN_ID);
    const struct csv_field *gaps = find_field(instance, row, COLUMN_GAPS);
    *buffer = (struct buffer){.row = row->fields[0].text + 1 - row->fields[0].column,
                              .id = {id->text, id->length},
                              .has_gaps = gaps != NULL && gaps->length > 0};
    if (id->length == 0) {
        return fail_field(instance, row, id, "the id is empty");
    }
    IMPORT_TRY(read_lifetime(instance, row, buffer));
    const struct csv_field *field = find_field(instance, row, COLUMN_SIZE);
    int64_t size = 0, align = 0;
    if (!csv_field_integer(field, &size) || size < 0 || (uint64_t)size > IMPORT_CAPACITY_MAX) {
        return fail_field(instance, row, field,
                          "the size is not a whole number of bytes up to 2^50");
    }
    if (size == 0) {
        return fail_field(instance, row, field, "a buffer of size 0");
    }
    field = find_field(instance, row, COLUMN_ALIGNMENT);
    if (field != NULL && field->length > 0 &&
        (!csv_field_integer(field, &align) || align < 0 || (align & (align - 1)) != 0 ||
         align > (int64_t)1 << OP_ALIGN_LOG2_MAX)) {
        return fail_field(instance, row, field, "the alignment is not a power of two up to 2^21");
    }
    buffer->size_bytes = (uint64_t)size;
    buffer->align_log2 = align == 0 ? 0 : (uint8_t)__builtin_ctzll((uint64_t)align);
    return IMPORT_OK;
}

/* --- rows as they are usually --- */

/* Text without quotes or blanks, up to the next comma or line end. */
CURSOR_INLINE struct double_name take_word(struct cursor *cursor)
{
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && (unsigned char)*cursor->at > ',') {
        cursor->at++;
    }
    return (struct double_name){begin, (size_t)(cursor->at - begin)};
}

/* Takes the row at the cursor where it is plain: digits in the columns of numbers, words in the
 * others, and nothing wrong with it.  False: read_buffer() takes it or says what is wrong, and the
 * cursor stands anywhere. */
CURSOR_INLINE bool take_plain_buffer(struct cursor *cursor, const struct header *header,
                                     struct buffer *buffer)
{
    uint64_t numbers[COLUMN_COUNT + 1] = {0};
    *buffer = (struct buffer){.row = cursor->at};
    for (size_t i = 0; i < header->field_count; i++) {
        const enum planning_column column = header->columns[i];
        if (i > 0 && !cursor_take(cursor, ',')) {
            return false;
        }
        if (column >= COLUMN_LOWER && column <= COLUMN_ALIGNMENT) { /* a number */
            if (!cursor_take_number(cursor, &numbers[column])) {
                return false;
            }
            continue;
        }
        const struct double_name word = take_word(cursor);
        buffer->id = column == COLUMN_ID ? word : buffer->id;
        buffer->has_gaps |= column == COLUMN_GAPS && word.length > 0;
    }
    const uint64_t upper = numbers[COLUMN_UPPER] + numbers[COLUMN_END] +
                           (header->fields[COLUMN_END] != COLUMN_ABSENT);
    const uint64_t align = numbers[COLUMN_ALIGNMENT];
    buffer->lower = (int64_t)numbers[COLUMN_LOWER];
    buffer->upper = (int64_t)upper;
    buffer->size_bytes = numbers[COLUMN_SIZE];
    buffer->align_log2 = align == 0 ? 0 : (uint8_t)__builtin_ctzll(align);
    return buffer->id.length > 0 && numbers[COLUMN_LOWER] < upper && upper <= INT64_MAX &&
           buffer->size_bytes - 1 < IMPORT_CAPACITY_MAX && (align & (align - 1)) == 0 &&
           align <= UINT64_C(1) << OP_ALIGN_LOG2_MAX &&
           (cursor->at == cursor->end || cursor_take_line_end(cursor));
}

/* --- the file --- */

/* Takes the next row that is not plain; *is_end: there is none. */
static enum import_result take_any_buffer(struct instance *instance, struct buffer *buffer,
                                          bool *is_end)
{
    struct csv_row row;
    const char *reason = NULL;
    size_t column = 0;
    const enum csv_result got = csv_next(&instance->cursor, &row, &reason, &column);
    *is_end = got == CSV_END;
    if (got == CSV_BAD) {
        return import_fail(instance->error, IMPORT_INVALID, row.line, column, "%s", reason);
    }
    return *is_end ? IMPORT_OK : read_buffer(instance, &row, buffer);
}

/* Takes the next row; *is_end: there is none. */
CURSOR_INLINE enum import_result take_buffer(struct instance *instance, struct cursor *cursor,
                                             struct buffer *buffer, bool *is_end)
{
    const struct cursor begin = *cursor;
    *is_end = false;
    if (take_plain_buffer(cursor, &instance->header, buffer)) {
        return IMPORT_OK;
    }
    instance->cursor = begin;
    const enum import_result result = take_any_buffer(instance, buffer, is_end);
    *cursor = instance->cursor;
    return result;
}

CURSOR_INLINE void add_buffer(struct instance *instance, const struct buffer *buffer)
{
    const uint64_t sign = UINT64_C(1) << 63; /* times below 0 come first */
    *lifetimes_add(&instance->lifetimes, (uint64_t)buffer->lower ^ sign,
                   (uint64_t)buffer->upper ^ sign, buffer->size_bytes) = (struct lifetime){
        .size_bytes = buffer->size_bytes,
        .align_log2 = buffer->align_log2,
        .offset = (size_t)(buffer->row - instance->text)};
    const struct double_name *id = &buffer->id, *last = &instance->last_id;
    instance->ids_rise = instance->ids_rise && (id->length > last->length ||
                                                (id->length == last->length &&
                                                 memcmp(id->text, last->text, id->length) > 0));
    instance->last_id = buffer->id;
    instance->gap_count += buffer->has_gaps;
}

static enum import_result read_rows(struct instance *instance)
{
    struct cursor cursor = instance->cursor; /* a copy, whose address nobody else gets */
    struct buffer buffer;
    bool is_end = false;
    for (;;) {
        IMPORT_TRY(take_buffer(instance, &cursor, &buffer, &is_end));
        if (is_end) {
            break;
        }
        if (instance->lifetimes.count == BUFFER_COUNT_MAX) {
            return IMPORT_REFUSE(
                instance->error,
                import_line_at(instance->text, (size_t)(buffer.row - instance->text)),
                "more than %d buffers", BUFFER_COUNT_MAX);
        }
        add_buffer(instance, &buffer);
    }
    const size_t line_count = cursor.line - (cursor.at == cursor.line_begin);
    return instance->lifetimes.count > 0
               ? IMPORT_OK
               : import_fail(instance->error, IMPORT_INCOMPLETE, line_count, 0,
                             "there is no buffer after the header");
}

static enum import_result read_header(struct instance *instance)
{
    struct csv_row row;
    const char *reason = NULL;
    size_t column = 0;
    const enum csv_result got = csv_next(&instance->cursor, &row, &reason, &column);
    if (got == CSV_END) {
        return IMPORT_LACKS(instance->error, "there is no header line");
    }
    if (got == CSV_ROW) {
        reason = read_columns(&row, &instance->header, &column);
    }
    return reason == NULL
               ? IMPORT_OK
               : import_fail(instance->error, IMPORT_INVALID, row.line, column, "%s", reason);
}

/* --- what needs all buffers --- */

/* The buffer of that number, read once more: what is rarely needed is not kept. */
static struct buffer read_buffer_again(struct instance *instance, size_t number)
{
    const size_t offset = instance->lifetimes.all[number].offset;
    struct cursor cursor = cursor_make(instance->text + offset, instance->length - offset);
    struct buffer buffer;
    bool is_end;
    CHECK(take_buffer(instance, &cursor, &buffer, &is_end) == IMPORT_OK && !is_end);
    return buffer;
}

/* An id that comes twice makes lifetimes ambiguous: the earliest second one is refused. */
static enum import_result refuse_doubles(struct instance *instance)
{
    const size_t count = instance->lifetimes.count;
    if (instance->ids_rise) {
        return IMPORT_OK;
    }
    struct double_name *ids = room_make(count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        ids[i] = read_buffer_again(instance, i).id;
    }
    const size_t number = doubles_find(ids, count);
    free(ids);
    if (number == count) {
        return IMPORT_OK;
    }
    const struct buffer twice = read_buffer_again(instance, number);
    return IMPORT_REFUSE(instance->error,
                         import_line_at(instance->text, (size_t)(twice.row - instance->text)),
                         "the id '%.*s' is used twice",
                         (int)(twice.id.length > 40 ? 40 : twice.id.length), twice.id.text);
}

static enum import_result make_ops(struct instance *instance, const struct import_input *input,
                                   struct import *import)
{
    struct setup *setup = &import->setup;
    setup->granule_bytes = instance->lifetimes.size_bits % IMPORT_GRANULE_BYTES == 0
                               ? IMPORT_GRANULE_BYTES
                               : 1;
    import_apply_fixed(input->fixed, setup);
    import_suggest_option(setup, "defrag", "repack");
    const size_t excess = lifetimes_replay(&instance->lifetimes, setup->granule_bytes - 1,
                                           &import->ops);
    if (excess == instance->lifetimes.count) {
        return IMPORT_OK;
    }
    const struct buffer buffer = read_buffer_again(instance, excess);
    return IMPORT_REFUSE(
        instance->error, import_line_at(instance->text, (size_t)(buffer.row - instance->text)),
        "with this buffer, more than 2^50 bytes are live at time %" PRId64, buffer.lower);
}

static void add_notes(const struct instance *instance, struct import *import)
{
    import_note(import, "static planning: %zu buffers, at most %" PRIu64 " bytes live at a time",
                instance->lifetimes.count, instance->lifetimes.peak_rounded);
    if (instance->gap_count > 0) {
        import_assume(import, "%zu buffers with gaps are live throughout", instance->gap_count);
    }
    if (instance->header.fields[COLUMN_OFFSET] != COLUMN_ABSENT) {
        import_note(import, "the offsets, another planner's solution, are not used");
    }
    if (instance->header.unknown_count > 0) {
        import_note(import, "%zu columns with unknown names are not used",
                    instance->header.unknown_count);
    }
    if (instance->cursor.end[-1] != '\n') {
        import_note(import,
                    "the last line has no line end: if it is cut, its last number is wrong");
    }
}

static enum import_result convert_buffers(struct instance *instance,
                                          const struct import_input *input, struct import *import)
{
    IMPORT_TRY(read_header(instance));
    IMPORT_TRY(read_rows(instance));
    IMPORT_TRY(refuse_doubles(instance));
    IMPORT_TRY(make_ops(instance, input, import));
    if (import->setup.capacity_bytes ==
        0) { /* sizes are rounded: it is a multiple of the granule */
        import->setup.capacity_bytes = instance->lifetimes.peak_rounded;
        import_assume(import, "capacity %" PRIu64 ", the most bytes live at a time",
                      import->setup.capacity_bytes);
    }
    add_notes(instance, import);
    return IMPORT_OK;
}

static enum import_result import_static_planning(const struct import_input *input,
                                                 struct import *import, struct import_error *error)
{
    struct instance instance = {.text = input->text,
                                .length = input->length,
                                .ids_rise = true,
                                .error = error,
                                .cursor = cursor_make(input->text, input->length)};
    const size_t row_count_max = input->length / ROW_BYTES_MIN + 1;
    const size_t room = row_count_max < BUFFER_COUNT_MAX ? row_count_max : BUFFER_COUNT_MAX;
    lifetimes_init(&instance.lifetimes, room);
    const enum import_result result = convert_buffers(&instance, input, import);
    lifetimes_deinit(&instance.lifetimes);
    return result;
}

const struct format format_static_planning = {
    .name = "static_planning",
    .summary =
        "CSV of buffers with sizes and lifetimes, as offline planners read it (minimalloc, IREE)",
    .recognise = recognise_static_planning,
    .import = import_static_planning,
};
