/* The format, and its lines. */
#include "formats/xla/private/hbm_allocations.h"

#include "formats/common/cursor.h"
#include "formats/common/phrase.h"
#include "harness/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_BYTES_MAX = 1024 };

static const char header_words[] = "HBM allocations:";
static const char *const state_names[HBM_ROW_STATE_COUNT] = {
    "movable", "held", "dying", "program idle", "program busy", "retired"};

bool hbm_allocations_find(const char *text, size_t length, size_t *offset)
{
    const char *at = memmem(text, length, header_words, sizeof header_words - 1);
    *offset = at == NULL ? *offset : (size_t)(at - text);
    return at != NULL;
}

/* --- lines --- */

/* "HBM allocations: N blocks, S in use (N bytes), S of it padding, S reserved, S free, S limit" */
static bool parse_header(const struct cursor *line, struct hbm_allocations *allocations)
{
    struct phrase_cursor cursor = {.text = line->at, .length = cursor_left(line)};
    struct size_range used;
    return phrase_scan(&cursor,
                       "HBM allocations: %N blocks, %S in use ( %N bytes), %S of it padding, "
                       "%S reserved, %S free, %S limit",
                       &allocations->block_count, &used, &allocations->used_bytes,
                       &allocations->padding, &allocations->reserved, &allocations->free,
                       &allocations->limit);
}

/* "  movable: 1 blocks, 195.5K (200192 bytes)" */
static bool parse_state(const struct cursor *line, struct hbm_allocations *allocations)
{
    for (int i = 0; i < HBM_ROW_STATE_COUNT; i++) {
        const size_t name_length = strlen(state_names[i]);
        const char *at = memmem(
            line->at, cursor_left(line) < PREFIX_BYTES_MAX ? cursor_left(line) : PREFIX_BYTES_MAX,
            state_names[i], name_length);
        if (at == NULL || (size_t)(at - line->at) + name_length >= cursor_left(line) ||
            at[name_length] != ':') {
            continue;
        }
        struct phrase_cursor cursor = {.text = line->at,
                                       .length = cursor_left(line),
                                       .at = (size_t)(at - line->at) + name_length + 1};
        struct size_range size;
        uint64_t count = 0, bytes = 0;
        if (phrase_scan(&cursor, "%N blocks, %S ( %N bytes)", &count, &size, &bytes) &&
            !allocations->states[i].is_said) {
            allocations->states[i].is_said = true;
            allocations->states[i].count = count;
            allocations->states[i].bytes = bytes;
            allocations->states[i].line = line->line;
            return true;
        }
    }
    return false;
}

/* The last of words in text[length]; NULL: it is not there. */
static const char *find_last(const char *text, size_t length, const char *words)
{
    const size_t words_length = strlen(words);
    for (size_t i = length; i >= words_length; i--) {
        if (memcmp(text + i - words_length, words, words_length) == 0) {
            return text + i - words_length;
        }
    }
    return NULL;
}

/* ", shape X, unpadded S, padding S, N bytes": from the end, because names may have commas.  *end
 * becomes where it begins. */
static bool parse_row_end(const char *text, size_t length, struct hbm_row *row, size_t *end)
{
    const char *unpadded = find_last(text, length, ", unpadded ");
    const char *shape = unpadded == NULL ? NULL
                                         : find_last(text, (size_t)(unpadded - text), ", shape ");
    if (shape == NULL) {
        return false;
    }
    struct phrase_cursor cursor = {
        .text = text, .length = length, .at = (size_t)(unpadded - text) + strlen(", unpadded ")};
    *end = (size_t)(shape - text);
    return phrase_scan(&cursor, "%S , padding %S , %N bytes", &row->unpadded, &row->padding,
                       &row->size_bytes);
}

static bool take_address(struct phrase_cursor *cursor, uint64_t *address)
{
    if (phrase_take(cursor, "on the host")) {
        *address = UINT64_MAX;
        return true;
    }
    phrase_skip_gap(cursor);
    struct cursor here = cursor_make(cursor->text + cursor->at, cursor->length - cursor->at);
    if (!cursor_take_text(&here, "0x") || !cursor_take_hex(&here, address) || *address >> 62 != 0) {
        return false;
    }
    cursor->at = (size_t)(here.at - cursor->text);
    return !phrase_is_word(phrase_peek(cursor));
}

/* Behind the address: ": buffer, movable, tag 1 weights" up to end. */
static bool parse_row_middle(struct phrase_cursor *cursor, size_t end, struct hbm_row *row)
{
    static const char *const kinds[] = {"buffer,", "output,", "program,", "retired,"};
    uint64_t tag = 0;
    bool is_known = false;
    struct phrase_cursor middle = *cursor;
    middle.length = end;
    if (!phrase_take_character(&middle, ':')) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !is_known; i++) {
        is_known = phrase_take(&middle, kinds[i]);
    }
    row->state = HBM_ROW_STATE_COUNT;
    for (int i = 0; i < HBM_ROW_STATE_COUNT && is_known && row->state == HBM_ROW_STATE_COUNT; i++) {
        if (phrase_take(&middle, state_names[i])) {
            row->state = (enum hbm_row_state)i;
        }
    }
    if (row->state == HBM_ROW_STATE_COUNT || !phrase_take_character(&middle, ',') ||
        !phrase_take(&middle, "tag")) {
        return false;
    }
    phrase_skip_gap(&middle);
    const bool is_negative = phrase_take_character(&middle, '-');
    if (!phrase_take_count(&middle, &tag) || tag > INT32_MAX + (uint64_t)1 ||
        !phrase_take_character(&middle, ' ')) {
        return false;
    }
    row->tag = is_negative ? -(int64_t)tag : (int64_t)tag;
    row->name = middle.text + middle.at;
    row->name_length = end - middle.at;
    if (row->name_length == 1 && row->name[0] == '-') {
        row->name_length = 0;
    }
    return true;
}

/* "  195.5K at 0xcf200: buffer, ..." */
static bool parse_row(const struct cursor *line, struct hbm_row *row)
{
    const char *begin = line->at;
    const char *stop = line->at + (cursor_left(line) < PREFIX_BYTES_MAX ? cursor_left(line)
                                                                        : PREFIX_BYTES_MAX);
    const char *at = memmem(begin, (size_t)(stop - begin), " at ", 4);
    size_t end = 0;
    if (at == NULL || !parse_row_end(line->at, cursor_left(line), row, &end)) {
        return false;
    }
    for (; at != NULL; at = memmem(at + 1, (size_t)(stop - at - 1), " at ", 4)) {
        struct phrase_cursor cursor = {
            .text = line->at, .length = cursor_left(line), .at = (size_t)(at - line->at) + 4};
        if (cursor.at < end && take_address(&cursor, &row->address) &&
            parse_row_middle(&cursor, end, row)) {
            row->line = line->line;
            return true;
        }
    }
    return false;
}

/* --- the whole report --- */

static enum import_result check_sums(const struct hbm_allocations *allocations,
                                     struct import_error *error)
{
    uint64_t counts[HBM_ROW_STATE_COUNT] = {0};
    uint64_t bytes[HBM_ROW_STATE_COUNT] = {0};
    uint64_t sum_bytes = 0;
    if (allocations->row_count < allocations->block_count) {
        return import_fail(error, IMPORT_INCOMPLETE, allocations->line, 0,
                           "the report is cut off: of its %" PRIu64 " blocks, only %zu are listed",
                           allocations->block_count, allocations->row_count);
    }
    for (size_t i = 0; i < allocations->row_count; i++) {
        const struct hbm_row *row = &allocations->rows[i];
        counts[row->state]++;
        bytes[row->state] += row->size_bytes;
        if (__builtin_add_overflow(sum_bytes, row->size_bytes, &sum_bytes)) {
            return IMPORT_REFUSE(error, row->line, "the blocks' sizes overflow");
        }
    }
    if (sum_bytes != allocations->used_bytes) {
        return IMPORT_REFUSE(error, allocations->line,
                             "the report gives %" PRIu64
                             " bytes in use, but its blocks sum to %" PRIu64,
                             allocations->used_bytes, sum_bytes);
    }
    for (int i = 0; i < HBM_ROW_STATE_COUNT; i++) {
        if (allocations->states[i].is_said && (counts[i] != allocations->states[i].count ||
                                               bytes[i] != allocations->states[i].bytes)) {
            return IMPORT_REFUSE(error, allocations->states[i].line,
                                 "%" PRIu64 " blocks of %" PRIu64 " bytes are %s, but %" PRIu64
                                 " of %" PRIu64 " bytes are listed",
                                 allocations->states[i].count, allocations->states[i].bytes,
                                 state_names[i], counts[i], bytes[i]);
        }
    }
    return IMPORT_OK;
}

enum import_result hbm_allocations_parse(const struct import_input *input,
                                         struct hbm_allocations *allocations,
                                         struct import_error *error)
{
    struct cursor lines = cursor_make(input->text, allocations->end);
    struct cursor line;
    lines.at += allocations->begin;
    lines.line = allocations->line;
    *allocations = (struct hbm_allocations){
        .begin = allocations->begin, .end = allocations->begin, .line = allocations->line};
    if (!cursor_next_line(&lines, &line) || !parse_header(&line, allocations)) {
        return import_fail(error, IMPORT_INCOMPLETE, allocations->line, 0,
                           "the first line of the allocations report is cut off or damaged");
    }
    /* Up to the last block that the first line counts. */
    while (allocations->row_count < allocations->block_count && cursor_next_line(&lines, &line)) {
        struct hbm_row row = {0};
        if (!parse_row(&line, &row)) {
            (void)parse_state(&line, allocations);
            continue;
        }
        allocations->end = (size_t)(lines.at - input->text);
        ARRAY_ADD(allocations->rows, allocations->row_count, allocations->row_room) = row;
    }
    return check_sums(allocations, error);
}

void hbm_allocations_deinit(struct hbm_allocations *allocations)
{
    free(allocations->rows);
    *allocations = (struct hbm_allocations){0};
}

static unsigned recognise_hbm_allocations(const char *text, size_t length)
{
    size_t offset;
    return hbm_allocations_find(text, length, &offset) ? 82 : 0; /* above a message beside it */
}

static size_t count_lines(const char *text, size_t length)
{
    size_t count = 0;
    const char *end = text + length;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
        count++;
    }
    return count;
}

/* The next report behind the one before, for which *allocations is zero at first.  A report ends
 * where another one begins, and lines are counted from one to the next: a log of nothing but first
 * lines takes no longer than others. */
static bool next_report(const struct import_input *input, struct hbm_allocations *allocations)
{
    const bool is_first = allocations->line == 0;
    size_t begin = is_first ? 0 : allocations->end;
    size_t found = 0;
    if (is_first && hbm_allocations_find(input->text, input->length, &found)) {
        begin = found;
    } else if (is_first || begin == input->length) {
        return false;
    }
    const size_t behind = begin + 1;
    const size_t line = is_first ? 1 + count_lines(input->text, begin)
                                 : allocations->line + count_lines(input->text + allocations->begin,
                                                                   begin - allocations->begin);
    const bool has_next = hbm_allocations_find(input->text + behind, input->length - behind,
                                               &found);
    *allocations = (struct hbm_allocations){
        .begin = begin, .end = has_next ? behind + found : input->length, .line = line};
    return true;
}

/* Reports that are not used: cut ones before this one, and any behind it. */
static void note_others(const struct import_input *input, struct hbm_allocations place,
                        size_t cut_count, struct import *import)
{
    size_t later_count = 0;
    while (next_report(input, &place)) {
        later_count++;
    }
    if (cut_count > 0) {
        import_note(import, "%zu reports before this one are cut off and not used", cut_count);
    }
    if (later_count > 0) {
        import_note(import, "%zu reports after this one are not used", later_count);
    }
}

/* The first report that is whole; when none is, what the first lacks is told. */
static enum import_result import_hbm_allocations(const struct import_input *input,
                                                 struct import *import, struct import_error *error)
{
    enum import_result first = IMPORT_OK;
    struct hbm_allocations place = {0};
    size_t cut_count = 0;
    while (next_report(input, &place)) {
        struct hbm_allocations allocations = place;
        struct import_error why = {0};
        enum import_result result = hbm_allocations_parse(input, &allocations, &why);
        if (result == IMPORT_OK) {
            result = hbm_allocations_build(&allocations, input, import, error);
            hbm_allocations_deinit(&allocations);
            note_others(input, place, cut_count, import);
            return result;
        }
        hbm_allocations_deinit(&allocations);
        if (first == IMPORT_OK) {
            first = result;
            *error = why;
        }
        if (result != IMPORT_INCOMPLETE) {
            break;
        }
        cut_count++;
    }
    return first != IMPORT_OK ? first : IMPORT_LACKS(error, "no allocations report in this text");
}

const struct format format_hbm_allocations = {
    .name = "hbm_allocations",
    .summary = "the allocations report that libhbm prints on an out-of-memory, in any log",
    .recognise = recognise_hbm_allocations,
    .import = import_hbm_allocations,
};
