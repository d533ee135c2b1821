#include "formats/common/cursor.h"
#include "formats/xla/private/hbm_report.h"

#include <string.h>

enum {
    LINE_BYTES_MAX = 65536,
    ENTRY_NUMBER_MAX = 100000,
    FILLER_BYTES_MAX = 256,
    FILLER_COUNT_MAX = 4,
    LINE_COUNT_MAX = 64 /* of one value */
};

static const char *const field_names[] = {
    "Operator:", "Shape:",     "Unpadded size:",   "Extra memory due to padding:",
    "Tag:",      "XLA label:", "Allocation type:", "=========================="};
enum report_field {
    FIELD_OPERATOR,
    FIELD_SHAPE,
    FIELD_UNPADDED,
    FIELD_PADDING,
    FIELD_TAG,
    FIELD_LABEL,
    FIELD_TYPE,
    FIELD_RULE,
    FIELD_COUNT
};

static enum report_field find_field_here(const struct phrase_cursor *cursor,
                                         struct phrase_cursor *behind)
{
    *behind = *cursor;
    return (enum report_field)phrase_take_one(behind, field_names, FIELD_COUNT);
}

/* Finds where the value that begins here ends: at the line's end, or at a line break as text ("\n")
 * that a field follows; names of ops have such breaks, too. */
static size_t find_value_end(const struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    for (; !phrase_is_at_end(&ahead) && phrase_peek(&ahead) != '\n' &&
           ahead.at - cursor->at < LINE_BYTES_MAX;
         ahead.at++) {
        if (phrase_peek(&ahead) != '\\' || ahead.at + 1 >= ahead.length ||
            ahead.text[ahead.at + 1] != 'n') {
            continue;
        }
        struct phrase_cursor gap = ahead;
        struct phrase_cursor behind;
        if (phrase_skip_gap(&gap) || find_field_here(&gap, &behind) != FIELD_COUNT) {
            break;
        }
        ahead.at = gap.at - 1; /* all of the gap is passed at once: it may be long */
    }
    return ahead.at;
}

/* True if a line says nothing of a report.  Such lines stand between a heading and its entries,
 * with a log prefix before them. */
static bool is_filler(const char *line, size_t length)
{
    static const char *const words[] = {"Largest", "Size:", "Total ", "Program ",
                                        "Ran out", "Used ", NULL};
    return !text_has_any(line, length, words);
}

/* Labels and names of ops may have raw line breaks: the value goes on to the line before the next
 * field.  Moves *end, which is at the end of a line, there; leaves it where no field follows before
 * anything else of a report. */
static void find_last_line(const struct phrase_cursor *cursor, size_t *end)
{
    struct phrase_cursor ahead = *cursor;
    struct phrase_cursor behind;
    ahead.at = *end;
    for (int i = 0; i < LINE_COUNT_MAX && !phrase_is_at_end(&ahead) && phrase_peek(&ahead) == '\n';
         i++) {
        if (find_field_here(&ahead, &behind) != FIELD_COUNT) {
            *end = ahead.at;
            return;
        }
        struct phrase_cursor next = ahead;
        (void)phrase_skip_gap(&next); /* all blank lines at once: there may be millions */
        const char *line = next.text + next.at;
        const size_t left = next.length - next.at;
        const char *stop = memchr(line, '\n', left < LINE_BYTES_MAX ? left : LINE_BYTES_MAX);
        if (stop == NULL || !is_filler(line, (size_t)(stop - line))) {
            return;
        }
        ahead.at = (size_t)(stop - ahead.text);
    }
}

/* The rest of the line, or of several, without blanks around it. */
static struct text_part take_value(struct phrase_cursor *cursor, bool has_lines)
{
    size_t end = find_value_end(cursor);
    if (has_lines) {
        find_last_line(cursor, &end);
    }
    struct text_part value = {cursor->text + cursor->at, end - cursor->at};
    cursor->at = end;
    while (value.length > 0 && (*value.at == ' ' || *value.at == '\t')) {
        value.at++;
        value.length--;
    }
    while (value.length > 0 && strchr(" \t\r", value.at[value.length - 1]) != NULL) {
        value.length--; /* a NUL, too */
    }
    return value;
}

static void copy_name(char *to, size_t room, const char *from, size_t length)
{
    const size_t kept = length < room ? length : room - 1;
    memcpy(to, from, kept);
    to[kept] = '\0';
}

/* The text in quotes behind key in value; false when it is not there. */
static bool find_quoted(const struct text_part *value, const char *key, struct text_part *found)
{
    const char *begin = memmem(value->at, value->length, key, strlen(key));
    if (begin == NULL) {
        return false;
    }
    begin += strlen(key);
    const char *end = memchr(begin, '"', (size_t)(value->at + value->length - begin));
    *found = (struct text_part){begin, end == NULL ? 0 : (size_t)(end - begin)};
    return found->length > 0;
}

/* The op's name; in JSON its quotes are escaped. */
static void name_by_operator(struct listed_allocation *entry, const struct text_part *value)
{
    static const char *const keys[] = {"op_name=\"", "op_name=\\\"", "op_type=\"", "op_type=\\\""};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct text_part name;
        if (find_quoted(value, keys[i], &name)) {
            name.length -= name.at[name.length - 1] == '\\' ? 1 : 0;
            copy_name(entry->name, sizeof entry->name, name.at, name.length);
            return;
        }
    }
}

/* "%fusion.11 = f32[...] fusion(...)" is fusion.11; "constant literal" is itself. */
static void name_by_label(struct listed_allocation *entry, const struct text_part *value)
{
    const char *equals = memchr(value->at, '=', value->length);
    size_t length = equals == NULL ? value->length : (size_t)(equals - value->at);
    const char *begin = value->at;
    if (length > 0 && *begin == '%') {
        begin++;
        length--;
    }
    while (length > 0 && begin[length - 1] == ' ') {
        length--;
    }
    if (entry->name[0] == '\0') {
        copy_name(entry->name, sizeof entry->name, begin, length);
    }
}

/* " (32.0x expansion)" */
static void skip_expansion(struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    if (!phrase_take_character(&ahead, '(')) {
        return;
    }
    while (!phrase_is_at_end(&ahead) && ahead.at - cursor->at < 64 && phrase_peek(&ahead) != '\n') {
        if (phrase_take_character(&ahead, ')')) {
            *cursor = ahead;
            return;
        }
        ahead.at++;
    }
}

/* One field behind its name.  False: its value is cut off. */
static bool take_field(struct phrase_cursor *cursor, enum report_field field,
                       struct listed_allocation *entry)
{
    if (field == FIELD_UNPADDED) {
        return phrase_scan(cursor, "%C", &entry->unpadded);
    }
    if (field == FIELD_PADDING) {
        const bool is_taken = phrase_scan(cursor, "%C", &entry->padding);
        skip_expansion(cursor);
        return is_taken;
    }
    if (field == FIELD_RULE) {
        entry->is_whole = true;
        return true;
    }
    const struct text_part value = take_value(cursor,
                                              field == FIELD_OPERATOR || field == FIELD_LABEL);
    const struct hbm_report_span span = {(size_t)(value.at - cursor->text), value.length};
    if (field == FIELD_OPERATOR) {
        entry->operator= span;
        name_by_operator(entry, &value);
    } else if (field == FIELD_SHAPE) {
        entry->shape = span;
        entry->shape_bytes = hbm_report_parse_shape(value.at, value.length).bytes;
    } else if (field == FIELD_LABEL) {
        entry->label = span;
        name_by_label(entry, &value);
    } else if (field == FIELD_TYPE) {
        copy_name(entry->type, sizeof entry->type, value.at, value.length);
        entry->is_whole = !phrase_is_at_end(cursor); /* at the very end it may be cut */
    }
    return true;
}

/* "  N. Size: S".  The number may stand behind a log prefix. */
static bool take_entry_begin(struct phrase_cursor *cursor, struct listed_allocation *entry)
{
    struct phrase_cursor ahead = *cursor;
    uint64_t number = 0;
    if (!phrase_take(&ahead, "Size:") &&
        (!phrase_scan(&ahead, "%N {.} Size:", &number) || number > ENTRY_NUMBER_MAX)) {
        return false;
    }
    *entry = (struct listed_allocation){.begin = cursor->at, .number = number};
    if (!phrase_take_size(&ahead, &entry->size)) {
        return false;
    }
    entry->begin = ahead.at - 1;
    *cursor = ahead;
    return true;
}

static void take_entry(struct phrase_cursor *cursor, struct listed_allocation *entry)
{
    struct phrase_cursor behind;
    for (enum report_field field; !entry->is_whole || entry->type[0] != '\0';) {
        field = find_field_here(cursor, &behind);
        if (field == FIELD_COUNT || !take_field(&behind, field, entry)) {
            return;
        }
        *cursor = behind;
        if (field == FIELD_RULE) {
            while (phrase_take_character(cursor, '=')) {
                continue;
            }
            return;
        }
    }
}

/* The beginning of an entry, here or behind a few lines of nothing.  The cursor stands at the end
 * of a line, or in it.
 */
static bool find_entry(struct phrase_cursor *cursor, struct listed_allocation *entry)
{
    struct phrase_cursor ahead = *cursor;
    for (int i = 0; i <= FILLER_COUNT_MAX; i++) {
        if (take_entry_begin(&ahead, entry)) {
            *cursor = ahead;
            return true;
        }
        ahead.at += !phrase_is_at_end(&ahead) && phrase_peek(&ahead) == '\n' ? 1 : 0;
        const char *line = ahead.text + ahead.at;
        const size_t left = ahead.length - ahead.at;
        const char *end = memchr(line, '\n',
                                 left <= FILLER_BYTES_MAX ? left : FILLER_BYTES_MAX + 1);
        if (end == NULL || !is_filler(line, (size_t)(end - line))) {
            return false;
        }
        ahead.at = (size_t)(end -
                            ahead.text); /* the line break shows that a line begins behind it */
    }
    return false;
}

static void append_entry(struct hbm_report *report, const struct listed_allocation *entry)
{
    const bool has_room = report->entry_count < HBM_REPORT_ENTRY_COUNT_MAX;
    if (has_room) {
        report->entries[report->entry_count++] = *entry;
    }
    report->cut_count += has_room && entry->is_whole ? 0 : 1;
}

static void take_entries(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct listed_allocation entry;
    while (find_entry(cursor, &entry)) {
        take_entry(cursor, &entry);
        entry.is_argument = report->is_list_of_arguments;
        report->is_last_cut = !entry.is_whole;
        append_entry(report, &entry);
    }
}

bool hbm_report_parse_list(struct phrase_cursor *cursor, struct hbm_report *report)
{
    if (!phrase_take(cursor, "Largest program")) {
        return false;
    }
    const bool is_argument = phrase_take(cursor, "arguments and outputs in");
    if (!is_argument && !phrase_take(cursor, "allocations in")) {
        return false;
    }
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    while (phrase_is_word(phrase_peek(&ahead)) && ahead.at - cursor->at < HBM_REPORT_SPACE_BYTES) {
        ahead.at++;
    }
    (void)phrase_take_character(&ahead, ':');
    *cursor = ahead;
    report->has_list = true;
    report->is_list_of_arguments = is_argument;
    report->is_last_cut = false;
    take_entries(cursor, report);
    return true;
}

/* Reads the end of an entry.  The entry is lost if another program's line stands in it, or its
 * first line is missing; those behind it are not. */
bool hbm_report_parse_entry_end(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct listed_allocation rest = {0};
    struct compile_size size;
    if (!phrase_scan(cursor, "Unpadded size: %C", &size)) {
        return false;
    }
    if (report->has_list) {
        take_entry(cursor, &rest);
        report->cut_count += report->is_last_cut ? 0 : 1;
        take_entries(cursor, report);
    }
    return true;
}

/* --- XLA:GPU --- */

/* "Buffer N:", "Size: 38.10GiB" and its fields, as far as they come; each is of one line. */
static bool take_buffer(struct phrase_cursor *cursor, struct listed_allocation *entry)
{
    static const char *const names[] = {
        "Operator:", "XLA Label:", "Shape:", "Entry Parameter Subshape:"};
    static const enum report_field fields[] = {FIELD_OPERATOR, FIELD_LABEL, FIELD_SHAPE,
                                               FIELD_SHAPE};
    const size_t count = sizeof names / sizeof names[0];
    struct phrase_cursor ahead = *cursor;
    struct compile_size size = {0};
    uint64_t number = 0;
    if (!phrase_scan(&ahead, "Buffer %N {:} Size:", &number) || number > ENTRY_NUMBER_MAX ||
        !hbm_report_take_binary_size(&ahead, &size)) {
        return false;
    }
    *entry = (struct listed_allocation){
        .begin = cursor->at, .size = size.range, .number = number, .is_whole = true};
    for (size_t i; (i = phrase_take_one(&ahead, names, count)) < count;) {
        (void)take_field(&ahead, fields[i], entry);
    }
    (void)phrase_take(&ahead, "==========");
    while (phrase_take_character(&ahead, '=')) {
        continue;
    }
    *cursor = ahead;
    return true;
}

void hbm_report_parse_peak(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct listed_allocation entry;
    if (!phrase_take(cursor, "Peak buffers:")) {
        return;
    }
    report->has_list = true;
    while (take_buffer(cursor, &entry)) {
        append_entry(report, &entry);
    }
}

/* --- shapes --- */

enum { DIMENSION_COUNT_MAX = 16 };

/* pred and the types below a byte are left out: reports of different years count them differently.
 */
static const char *const element_names[] = {"s8",  "u8",   "s16",      "u16",   "f16", "bf16",
                                            "s32", "u32",  "f32",      "s64",   "u64", "f64",
                                            "c64", "c128", "f8e4m3fn", "f8e5m2"};
static const uint8_t element_bytes_of[] = {1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 1, 1};
enum { ELEMENT_COUNT = sizeof element_bytes_of };

/* Numbers in brackets, with commas between. */
struct shape_numbers {
    uint64_t values[DIMENSION_COUNT_MAX];
    size_t count; /* all of them; those above DIMENSION_COUNT_MAX are not in values */
};

/* Takes numbers as long as they come.  False: a comma without a number, or one above 2^64 - 1. */
static bool take_numbers(struct cursor *cursor, struct shape_numbers *numbers)
{
    numbers->count = 0;
    if (cursor->at == cursor->end || *cursor->at < '0' || *cursor->at > '9') {
        return true;
    }
    do {
        uint64_t value;
        if (!cursor_take_number(cursor, &value)) {
            return false;
        }
        if (numbers->count < DIMENSION_COUNT_MAX) {
            numbers->values[numbers->count] = value;
        }
        numbers->count++;
    } while (cursor_take(cursor, ','));
    return true;
}

static bool multiply(uint64_t *product, uint64_t factor)
{
    return !__builtin_mul_overflow(*product, factor, product) && *product <= (uint64_t)1 << 63;
}

/* A layout lists the dimensions from the innermost one on; a tile pads as many of these as it has
 * numbers, the last number the innermost. */
static void tile_shape(const struct shape_numbers *dimensions, const struct shape_numbers *layout,
                       const struct shape_numbers *tile, uint64_t element_bytes,
                       struct hbm_report_shape *shape)
{
    uint64_t bytes = element_bytes;
    bool is_known = true;
    for (size_t i = 0; i < layout->count || (i == 0 && tile->count > 0); i++) {
        const bool is_scalar = layout->count == 0;
        if (!is_scalar && layout->values[i] >= dimensions->count) {
            return;
        }
        const uint64_t size = is_scalar ? 1 : dimensions->values[layout->values[i]];
        const uint64_t step = i < tile->count ? tile->values[tile->count - 1 - i] : 1;
        if (step == 0 || size > UINT64_MAX - step) {
            return;
        }
        const uint64_t tiled = (size + step - 1) / step * step;
        is_known = is_known && multiply(&bytes, tiled);
        if (i == 0) {
            shape->innermost = size;
            shape->innermost_tiled = tiled;
        }
    }
    shape->tiled_bytes = is_known && tile->count <= (layout->count == 0 ? 1 : layout->count) ? bytes
                                                                                             : 0;
}

/* "{2,1,0:T(8,128)", as far as it goes. */
static void parse_layout(struct cursor *cursor, const struct shape_numbers *dimensions,
                         uint64_t element_bytes, struct hbm_report_shape *shape)
{
    struct shape_numbers layout, tile;
    if (!cursor_take(cursor, '{') || !take_numbers(cursor, &layout) ||
        layout.count != dimensions->count) {
        return;
    }
    if (layout.count > 0 && layout.values[0] < dimensions->count) {
        shape->innermost = dimensions->values[layout.values[0]];
    }
    if (cursor_take_word(cursor, ":T(", 3) && take_numbers(cursor, &tile) &&
        cursor_is_at(cursor, ')') && tile.count <= DIMENSION_COUNT_MAX) {
        tile_shape(dimensions, &layout, &tile, element_bytes, shape);
    }
}

struct hbm_report_shape hbm_report_parse_shape(const char *text, size_t length)
{
    struct hbm_report_shape shape = {0};
    struct cursor cursor = cursor_make(text, length);
    struct shape_numbers dimensions;
    struct text_part name;
    if (!cursor_take_up_to(&cursor, "[", &name)) {
        return shape;
    }
    const size_t element = text_find_name(element_names, ELEMENT_COUNT, name.at, name.length);
    if (element == ELEMENT_COUNT || !take_numbers(&cursor, &dimensions) ||
        !cursor_take(&cursor, ']') || dimensions.count > DIMENSION_COUNT_MAX) {
        return shape;
    }
    uint64_t bytes = element_bytes_of[element];
    for (size_t i = 0; i < dimensions.count; i++) {
        if (!multiply(&bytes, dimensions.values[i])) {
            return shape;
        }
    }
    shape.bytes = bytes;
    parse_layout(&cursor, &dimensions, element_bytes_of[element], &shape);
    return shape;
}
