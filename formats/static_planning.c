/* Static planning: buffers with known lifetimes, as offline planners (minimalloc, IREE) read them.  A row is
 * one buffer, live on [lower, upper); in the older spelling [start, end], both ends included.  At each time the
 * frees come before the allocs, each in file order. */
#include "formats/csv.h"
#include "formats/formats.h"
#include "formats/radix.h"
#include "formats/room.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_COUNT_MAX = 1 << 28,   /* 2^28 rows: some 5 GB of text, 40 GB of host memory */
    GRANULE_BYTES_DEFAULT = 512   /* what `hbm` uses when nobody says otherwise */
};
#define LIVE_BYTES_MAX ((uint64_t)1 << 50) /* what a setup can hold as capacity */

enum column {
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
    enum column column;
} column_names[] = {
    {"id", COLUMN_ID},       {"buffer", COLUMN_ID},           {"buffer_id", COLUMN_ID},
    {"lower", COLUMN_LOWER}, {"start", COLUMN_LOWER},         {"begin", COLUMN_LOWER},
    {"upper", COLUMN_UPPER}, {"end", COLUMN_END},             {"size", COLUMN_SIZE},
    {"offset", COLUMN_OFFSET}, {"alignment", COLUMN_ALIGNMENT}, {"gaps", COLUMN_GAPS},
    {"hint", COLUMN_HINT},
};
enum { COLUMN_NAME_COUNT = sizeof column_names / sizeof column_names[0], COLUMN_ABSENT = -1 };

/* Which field of a row holds which column. */
struct header {
    int fields[COLUMN_COUNT]; /* index, or COLUMN_ABSENT */
    size_t field_count;
    size_t unknown_count; /* columns of other names: ignored */
};

struct buffer {
    const char *id;
    size_t id_length;
    int64_t lower, upper;
    uint64_t size_bytes;
    size_t line;
    uint32_t row; /* from 0 */
    uint32_t op;  /* that makes it */
    uint8_t align_log2;
};

/* The whole instance while it is read. */
struct instance {
    struct header header;
    struct buffer *buffers; /* count of them */
    size_t count, capacity;
    bool all_are_granules; /* every size is a multiple of GRANULE_BYTES_DEFAULT */
    size_t gap_count;      /* buffers with gaps */
    struct import_error *error;
};

static enum column column_find(const struct csv_field *field)
{
    for (size_t i = 0; i < COLUMN_NAME_COUNT; i++) {
        if (csv_field_is(field, column_names[i].name)) {
            return column_names[i].column;
        }
    }
    return COLUMN_COUNT;
}

/* NULL, or what is wrong with the header; *column then says where (0 = the whole line). */
static const char *header_read(const struct csv_row *row, struct header *header, size_t *column)
{
    *header = (struct header){.field_count = row->field_count};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        header->fields[i] = COLUMN_ABSENT;
    }
    for (size_t i = 0; i < row->field_count; i++) {
        const enum column found = column_find(&row->fields[i]);
        if (found == COLUMN_COUNT) {
            header->unknown_count++;
            continue;
        }
        if (header->fields[found] != COLUMN_ABSENT) {
            *column = row->fields[i].column;
            return "two columns of the same meaning";
        }
        header->fields[found] = (int)i;
    }
    *column = 0;
    if (header->fields[COLUMN_UPPER] != COLUMN_ABSENT && header->fields[COLUMN_END] != COLUMN_ABSENT) {
        return "both 'upper' (excluded) and 'end' (included) are there";
    }
    if (header->fields[COLUMN_ID] == COLUMN_ABSENT) {
        return "no column 'id' (or 'buffer', 'buffer_id')";
    }
    if (header->fields[COLUMN_LOWER] == COLUMN_ABSENT) {
        return "no column 'lower' (or 'start', 'begin')";
    }
    if (header->fields[COLUMN_UPPER] == COLUMN_ABSENT && header->fields[COLUMN_END] == COLUMN_ABSENT) {
        return "no column 'upper' (or 'end')";
    }
    return header->fields[COLUMN_SIZE] == COLUMN_ABSENT ? "no column 'size'" : NULL;
}

static unsigned static_planning_recognise(const char *text, size_t length)
{
    struct csv csv;
    struct csv_row row;
    struct header header;
    const char *reason = NULL;
    size_t column = 0;
    csv_init(&csv, text, length);
    if (csv_next(&csv, &row, &reason, &column) != CSV_ROW) {
        return 0;
    }
    return header_read(&row, &header, &column) == NULL ? 90 : 0;
}

static const struct csv_field *field_of(const struct instance *instance, const struct csv_row *row, enum column column)
{
    const int index = instance->header.fields[column];
    return index == COLUMN_ABSENT ? NULL : &row->fields[index];
}

static enum import_result wrong(struct instance *instance, const struct csv_row *row, const struct csv_field *field,
                                const char *reason)
{
    return import_fail(instance->error, IMPORT_INVALID, row->line, field->column, "%s: '%.*s'", reason,
                       (int)(field->length > 40 ? 40 : field->length), field->text);
}

static enum import_result read_lifetime(struct instance *instance, const struct csv_row *row, struct buffer *buffer)
{
    const struct csv_field *lower = field_of(instance, row, COLUMN_LOWER);
    const struct csv_field *upper = field_of(instance, row, COLUMN_UPPER);
    const bool is_included = upper == NULL;
    upper = is_included ? field_of(instance, row, COLUMN_END) : upper;
    if (!csv_field_integer(lower, &buffer->lower)) {
        return wrong(instance, row, lower, "the first time is not a whole number below 2^63");
    }
    if (!csv_field_integer(upper, &buffer->upper)) {
        return wrong(instance, row, upper, "the last time is not a whole number below 2^63");
    }
    if (is_included && __builtin_add_overflow(buffer->upper, 1, &buffer->upper)) {
        return wrong(instance, row, upper, "the last time is not below 2^63 - 1");
    }
    if (buffer->lower >= buffer->upper) {
        return wrong(instance, row, upper, "the buffer ends before it begins");
    }
    return IMPORT_OK;
}

static enum import_result read_size(struct instance *instance, const struct csv_row *row, struct buffer *buffer)
{
    const struct csv_field *field = field_of(instance, row, COLUMN_SIZE);
    int64_t size = 0;
    if (!csv_field_integer(field, &size) || size < 0 || (uint64_t)size > LIVE_BYTES_MAX) {
        return wrong(instance, row, field, "the size is not a whole number of bytes up to 2^50");
    }
    if (size == 0) {
        return wrong(instance, row, field, "a buffer of size 0");
    }
    buffer->size_bytes = (uint64_t)size;
    instance->all_are_granules = instance->all_are_granules && size % GRANULE_BYTES_DEFAULT == 0;
    return IMPORT_OK;
}

/* An empty field, 0 and 1 ask for nothing. */
static enum import_result read_alignment(struct instance *instance, const struct csv_row *row, struct buffer *buffer)
{
    const struct csv_field *field = field_of(instance, row, COLUMN_ALIGNMENT);
    int64_t align = 0;
    if (field == NULL || field->length == 0) {
        return IMPORT_OK;
    }
    if (!csv_field_integer(field, &align) || align < 0 || (align & (align - 1)) != 0 ||
        align > (int64_t)1 << OP_ALIGN_LOG2_MAX) {
        return wrong(instance, row, field, "the alignment is not a power of two up to 2^21");
    }
    while (align > 1) {
        align /= 2;
        buffer->align_log2++;
    }
    return IMPORT_OK;
}

static enum import_result instance_append(struct instance *instance, const struct csv_row *row,
                                          const struct buffer *buffer)
{
    if (instance->count == BUFFER_COUNT_MAX) {
        return import_fail(instance->error, IMPORT_INVALID, row->line, 0, "more than %d buffers", BUFFER_COUNT_MAX);
    }
    if (instance->count == instance->capacity) {
        const size_t capacity = instance->capacity == 0 ? 256 : instance->capacity * 2;
        struct buffer *buffers = realloc(instance->buffers, capacity * sizeof *buffers);
        if (buffers == NULL) {
            return import_fail(instance->error, IMPORT_UNREADABLE, row->line, 0, "no host memory for the buffers");
        }
        instance->buffers = buffers;
        room_advise(buffers, capacity * sizeof *buffers);
        instance->capacity = capacity;
    }
    instance->buffers[instance->count++] = *buffer;
    return IMPORT_OK;
}

static enum import_result read_buffer(struct instance *instance, const struct csv_row *row)
{
    if (row->field_count != instance->header.field_count) {
        return import_fail(instance->error, IMPORT_INVALID, row->line, 0,
                           "%zu fields where the header has %zu (a cut file?)", row->field_count,
                           instance->header.field_count);
    }
    const struct csv_field *id = field_of(instance, row, COLUMN_ID);
    struct buffer buffer = {
        .id = id->text, .id_length = id->length, .line = row->line, .row = (uint32_t)instance->count};
    if (id->length == 0) {
        return wrong(instance, row, id, "the id is empty");
    }
    enum import_result result = read_lifetime(instance, row, &buffer);
    if (result == IMPORT_OK) {
        result = read_size(instance, row, &buffer);
    }
    if (result == IMPORT_OK) {
        result = read_alignment(instance, row, &buffer);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    const struct csv_field *gaps = field_of(instance, row, COLUMN_GAPS);
    instance->gap_count += gaps != NULL && gaps->length > 0 ? 1 : 0;
    return instance_append(instance, row, &buffer);
}

static enum import_result read_all(struct instance *instance, const char *text, size_t length)
{
    struct csv csv;
    struct csv_row row;
    const char *reason = NULL;
    size_t column = 0;
    csv_init(&csv, text, length);
    enum csv_result got = csv_next(&csv, &row, &reason, &column);
    if (got == CSV_END) {
        return import_fail(instance->error, IMPORT_INCOMPLETE, 0, 0, "there is no header line");
    }
    if (got == CSV_ROW && (reason = header_read(&row, &instance->header, &column)) != NULL) {
        got = CSV_BAD;
    }
    while (got == CSV_ROW && (got = csv_next(&csv, &row, &reason, &column)) == CSV_ROW) {
        const enum import_result result = read_buffer(instance, &row);
        if (result != IMPORT_OK) {
            return result;
        }
    }
    if (got == CSV_BAD) {
        return import_fail(instance->error, IMPORT_INVALID, row.line, column, "%s", reason);
    }
    if (instance->count == 0) {
        return import_fail(instance->error, IMPORT_INCOMPLETE, csv.line, 0, "there is no buffer after the header");
    }
    return IMPORT_OK;
}

static enum import_result no_host_memory(const struct instance *instance)
{
    return import_fail(instance->error, IMPORT_UNREADABLE, 0, 0, "no host memory to sort the buffers");
}

/* --- ids ----------------------------------------------------------------------------------------------------- */

/* Orders are total: rows break ties, so that no sort decides. */
static int compare_ids(const void *a, const void *b)
{
    const struct buffer *x = *(const struct buffer *const *)a;
    const struct buffer *y = *(const struct buffer *const *)b;
    const size_t shorter = x->id_length < y->id_length ? x->id_length : y->id_length;
    int order = memcmp(x->id, y->id, shorter);
    if (order == 0) {
        order = (x->id_length > y->id_length) - (x->id_length < y->id_length);
    }
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* 33 bits: three passes of the sort.  Ids of the same hash are compared. */
static uint64_t hash_of_id(const struct buffer *buffer)
{
    uint64_t hash = buffer->id_length;
    size_t i = 0;
    for (; i + 8 <= buffer->id_length; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, buffer->id + i, sizeof bytes);
        hash = (hash ^ bytes) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (; i < buffer->id_length; i++) {
        hash = (hash ^ (unsigned char)buffer->id[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash >> 20 & ((UINT64_C(1) << 33) - 1);
}

/* Of buffers whose ids have the same hash: the earliest whose id came before, or *twice where that is earlier.
 * False: no host memory. */
static bool find_double(const struct instance *instance, const struct radix_item *items, size_t count,
                        const struct buffer **twice)
{
    const struct buffer **order = malloc(count * sizeof(const struct buffer *));
    if (order == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &instance->buffers[items[i].index];
    }
    qsort(order, count, sizeof(const struct buffer *), compare_ids);
    for (size_t i = 1; i < count; i++) {
        const bool is_same = order[i]->id_length == order[i - 1]->id_length &&
                             memcmp(order[i]->id, order[i - 1]->id, order[i]->id_length) == 0;
        if (is_same && (*twice == NULL || order[i]->row < (*twice)->row)) {
            *twice = order[i];
        }
    }
    free(order);
    return true;
}

static bool find_doubles(const struct instance *instance, struct radix_item *items, const struct buffer **twice)
{
    bool is_done = radix_sort(items, instance->count);
    for (size_t begin = 0, end; is_done && begin < instance->count; begin = end) {
        end = begin + 1;
        while (end < instance->count && items[end].key == items[begin].key) {
            end++;
        }
        is_done = end - begin == 1 || find_double(instance, items + begin, end - begin, twice);
    }
    return is_done;
}

/* An id that comes twice makes lifetimes ambiguous: the earliest second one is refused. */
static enum import_result refuse_doubles(const struct instance *instance, struct radix_item *items)
{
    const struct buffer *twice = NULL;
    for (size_t i = 0; i < instance->count; i++) {
        items[i] = (struct radix_item){hash_of_id(&instance->buffers[i]), (uint32_t)i};
    }
    if (!find_doubles(instance, items, &twice)) {
        return no_host_memory(instance);
    }
    if (twice == NULL) {
        return IMPORT_OK;
    }
    return import_fail(instance->error, IMPORT_INVALID, twice->line, 0, "the id '%.*s' came before",
                       (int)(twice->id_length > 40 ? 40 : twice->id_length), twice->id);
}

/* --- times --------------------------------------------------------------------------------------------------- */

/* Times below 0 come first. */
static uint64_t key_of_time(int64_t time)
{
    return (uint64_t)time ^ UINT64_C(1) << 63;
}

static enum import_result begin_buffer(const struct instance *instance, const struct buffer *buffer,
                                       struct import *import, uint64_t *live_bytes)
{
    const uint64_t mask = import->setup.granule_bytes - 1;
    const struct op op = {.kind = OP_ALLOC, .ref = OP_NONE, .event = OP_NONE, .size_bytes = buffer->size_bytes,
                          .align_log2 = buffer->align_log2};
    room_append(&import->ops, &op);
    *live_bytes += (buffer->size_bytes + mask) & ~mask; /* at most 2^51 + granule: no overflow */
    if (*live_bytes > LIVE_BYTES_MAX) {
        return import_fail(instance->error, IMPORT_INVALID, buffer->line, 0,
                           "with this buffer more than 2^50 bytes are live at time %" PRId64, buffer->lower);
    }
    return IMPORT_OK;
}

/* Appends the ops in order of time; *peak_bytes becomes the most bytes ever live, each size rounded up to the
 * granule. */
static enum import_result replay(const struct instance *instance, const struct radix_item *lowers,
                                 const struct radix_item *uppers, struct import *import, uint64_t *peak_bytes)
{
    const uint64_t mask = import->setup.granule_bytes - 1;
    uint64_t live_bytes = 0;
    *peak_bytes = 0;
    for (size_t allocs = 0, frees = 0; frees < instance->count;) {
        if (allocs < instance->count && lowers[allocs].key < uppers[frees].key) {
            struct buffer *buffer = &instance->buffers[lowers[allocs++].index];
            buffer->op = (uint32_t)import->ops.count;
            const enum import_result result = begin_buffer(instance, buffer, import, &live_bytes);
            if (result != IMPORT_OK) {
                return result;
            }
            *peak_bytes = live_bytes > *peak_bytes ? live_bytes : *peak_bytes;
        } else {
            const struct buffer *buffer = &instance->buffers[uppers[frees++].index];
            const struct op op = {.kind = OP_FREE, .ref = buffer->op, .event = OP_NONE};
            room_append(&import->ops, &op);
            live_bytes -= (buffer->size_bytes + mask) & ~mask;
        }
    }
    return IMPORT_OK;
}

/* lowers and uppers have room for count items each. */
static enum import_result replay_all(const struct instance *instance, struct radix_item *lowers,
                                     struct radix_item *uppers, struct import *import, uint64_t *peak_bytes)
{
    for (size_t i = 0; i < instance->count; i++) {
        lowers[i] = (struct radix_item){key_of_time(instance->buffers[i].lower), (uint32_t)i};
        uppers[i] = (struct radix_item){key_of_time(instance->buffers[i].upper), (uint32_t)i};
    }
    if (!radix_sort(lowers, instance->count) || !radix_sort(uppers, instance->count)) {
        return no_host_memory(instance);
    }
    room_for_ops(&import->ops, 2 * instance->count);
    return replay(instance, lowers, uppers, import, peak_bytes);
}

/* The ids are not looked at any more when the times are. */
static enum import_result make_ops(const struct instance *instance, const struct import_input *input,
                                   struct import *import, uint64_t *peak_bytes)
{
    struct radix_item *items = malloc(2 * instance->count * sizeof *items);
    if (items == NULL) {
        return no_host_memory(instance);
    }
    room_advise(items, 2 * instance->count * sizeof *items);
    enum import_result result = refuse_doubles(instance, items);
    if (result == IMPORT_OK) {
        import->setup.granule_bytes = instance->all_are_granules ? GRANULE_BYTES_DEFAULT : 1;
        import_apply_fixed(input->fixed, &import->setup);
        import_suggest_option(&import->setup, "defrag", "repack");
        result = replay_all(instance, items, items + instance->count, import, peak_bytes);
    }
    free(items);
    return result;
}

static void add_notes(const struct instance *instance, uint64_t peak_bytes, struct import *import)
{
    import_note(import, "static planning: %zu buffers, at most %" PRIu64 " bytes live at a time", instance->count,
                peak_bytes);
    if (instance->gap_count > 0) {
        import_note(import, "%zu buffers have gaps: they are live throughout here", instance->gap_count);
    }
    if (instance->header.fields[COLUMN_OFFSET] != COLUMN_ABSENT) {
        import_note(import, "the offsets, a solution of another planner, are not used");
    }
    if (instance->header.unknown_count > 0) {
        import_note(import, "%zu columns of unknown names are not used", instance->header.unknown_count);
    }
}

static enum import_result convert(struct instance *instance, const struct import_input *input, struct import *import)
{
    uint64_t peak_bytes = 0;
    enum import_result result = read_all(instance, input->text, input->length);
    if (result == IMPORT_OK) {
        result = make_ops(instance, input, import, &peak_bytes);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    if (import->setup.capacity_bytes == 0) {
        import->setup.capacity_bytes = peak_bytes; /* every size is rounded, so it is a multiple of the granule */
    }
    add_notes(instance, peak_bytes, import);
    return IMPORT_OK;
}

static enum import_result static_planning_import(const struct import_input *input, struct import *import,
                                                 struct import_error *error)
{
    struct instance instance = {.all_are_granules = true, .error = error};
    const enum import_result result = convert(&instance, input, import);
    free(instance.buffers);
    return result;
}

const struct format format_static_planning = {
    .name = "static_planning",
    .summary = "CSV of buffers with sizes and lifetimes, as offline planners read it (minimalloc, IREE)",
    .recognise = static_planning_recognise,
    .import = static_planning_import,
};
