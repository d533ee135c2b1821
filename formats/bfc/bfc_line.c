/* One line of a log: what is in front of the allocator's own words is passed over, then each kind
 * is matched word by word. */
#include "formats/bfc/private/bfc.h"
#include "formats/common/cursor.h"
#include "formats/common/phrase.h"
#include "harness/base/size.h"

#include <string.h>

/* The words, with any number of blanks in front and behind. */
static bool take_loosely(struct cursor *cursor, const char *words)
{
    cursor_skip_blanks(cursor);
    if (!cursor_take_text(cursor, words)) {
        return false;
    }
    cursor_skip_blanks(cursor);
    return true;
}

/* With "0x" or without, in either case, with any number of zeros in front, as Windows prints them.
 */
static bool take_address(struct cursor *cursor, uint64_t *address)
{
    (void)(cursor_take_text(cursor, "0x") || cursor_take_text(cursor, "0X"));
    const char *begin = cursor->at;
    while (cursor_take(cursor, '0')) {
    }
    *address = 0;
    return cursor_take_hex(cursor, address) || cursor->at > begin;
}

/* Up to the next blank: a size as people read it. */
static bool take_size(struct cursor *cursor, struct text_part *size)
{
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != ' ' && *cursor->at != '\t' &&
           *cursor->at != ',') {
        cursor->at++;
    }
    const char *end = cursor->at;
    while (end > begin && end[-1] == '.') {
        end--; /* of the sentence */
    }
    *size = (struct text_part){begin, (size_t)(end - begin)};
    return size->length > 1 && end[-1] == 'B';
}

bool bfc_prints_as(uint64_t size_bytes, const struct text_part *text)
{
    char printed[SIZE_TEXT_BYTES];
    size_print_field(size_bytes, printed);
    const size_t length = strlen(printed);
    const bool is_bytes = printed[length - 1] == 'B';
    return text->length == length + (is_bytes ? 0 : 2) && memcmp(text->at, printed, length) == 0 &&
           (is_bytes || memcmp(text->at + length, "iB", 2) == 0);
}

/* --- one function for each kind --- */

/* Each returns NULL, or what is wrong behind the words by which the kind is known. */

/* "SIZE [ (rounded to N)] [requested by op OPERATION]"; the last word need not have a blank before
 * it. */
static const char *read_request(struct cursor cursor, struct bfc_line *line)
{
    struct text_part passed;
    if (!take_size(&cursor, &line->sizes[0])) {
        return "the request has no size";
    }
    if (take_loosely(&cursor, "(rounded to ") &&
        (!cursor_take_number(&cursor, &line->size_bytes) || !cursor_take_text(&cursor, ")") ||
         line->size_bytes == 0)) {
        return "the rounded size is not a number of bytes";
    }
    if (cursor_take_up_to(&cursor, "requested by op ", &passed)) {
        line->operation = (struct text_part){cursor.at, (size_t)(cursor.end - cursor.at)};
    }
    return NULL;
}

static const char *read_bin(struct cursor cursor, struct bfc_line *line)
{
    struct text_part passed;
    if (!cursor_take_number(&cursor, &line->size_bytes) || !cursor_take_text(&cursor, "):") ||
        !take_loosely(&cursor, "Total Chunks:") || !cursor_take_number(&cursor, &line->count) ||
        !take_loosely(&cursor, ", Chunks in use:") ||
        !cursor_take_number(&cursor, &line->in_use_count)) {
        return "the bin does not give the number of its chunks";
    }
    line->counts_free_only = !cursor_take_text(&cursor, ".");
    cursor_skip_blanks(&cursor);
    if (!take_size(&cursor, &line->sizes[0]) || !take_loosely(&cursor, "allocated for chunks.")) {
        return "the bin does not give the bytes of its chunks";
    }
    if (line->counts_free_only &&
        !cursor_take_up_to(&cursor, "client-requested for chunks. ", &passed)) {
        return "the bin does not give the bytes that were requested";
    }
    return !take_size(&cursor, &line->sizes[1]) || !take_loosely(&cursor, "in use in bin.")
               ? "the bin does not give the bytes in use"
               : NULL;
}

static const char *read_bin_for(struct cursor cursor, struct bfc_line *line)
{
    return take_size(&cursor, &line->sizes[0]) && take_loosely(&cursor, "was")
               ? NULL
               : "the line 'Bin for' gives no size";
}

static const char *read_region(struct cursor cursor, struct bfc_line *line)
{
    const bool is_number = cursor_take_number(&cursor, &line->size_bytes);
    return is_number && cursor.at == cursor.end ? NULL
                                                : "the size of the region is not a number of bytes";
}

/* " by op OPERATION action_count N step N", "next K" and "freed_at_count F" come in this or another
 * order.  A name may hold blanks, so it ends where the counters begin. */
static const char *read_chunk_rest(struct cursor cursor, struct bfc_line *line)
{
    uint64_t freed_at_count = 0;
    struct text_part passed;
    if (take_loosely(&cursor, "by op ") &&
        !cursor_take_up_to(&cursor, " action_count ", &line->operation)) {
        return "no action_count follows the operation of the chunk";
    }
    if (cursor_take_up_to(&cursor, "next ", &passed)) {
        line->has_next = cursor_take_number(&cursor, &line->next);
        if (!line->has_next) {
            return "the number of the next chunk is not a number";
        }
    }
    if (cursor_take_up_to(&cursor, "freed_at_count ", &passed) &&
        !cursor_take_number(&cursor, &freed_at_count)) {
        return "the chunk's freed_at_count is not a number";
    }
    line->is_pending = freed_at_count > 0 && !line->is_in_use;
    return NULL;
}

/* TensorFlow 2.2 has "next K of size N", later ones "of size N next K". */
static const char *read_chunk(struct cursor cursor, struct bfc_line *line)
{
    if (!take_address(&cursor, &line->address)) {
        return "the address of the chunk is not a number";
    }
    if (take_loosely(&cursor, "next ")) {
        line->has_next = cursor_take_number(&cursor, &line->next);
        if (!line->has_next) {
            return "the number of the next chunk is not a number";
        }
    }
    if (!take_loosely(&cursor, "of size ") || !cursor_take_number(&cursor, &line->size_bytes)) {
        return "the size of the chunk is not a number of bytes";
    }
    return cursor.at < cursor.end && *cursor.at != ' '
               ? "the size of the chunk is not a number of bytes"
               : read_chunk_rest(cursor, line);
}

static const char *read_pool(struct cursor cursor, struct bfc_line *line)
{
    return cursor_take_number(&cursor, &line->size_bytes) &&
                   take_loosely(&cursor, "memory_limit_:") &&
                   cursor_take_number(&cursor, &line->limit_bytes) &&
                   take_loosely(&cursor, "available bytes:") &&
                   cursor_take_number(&cursor, &line->available_bytes)
               ? NULL
               : "the bytes of the pool, its limit and its available bytes are not all numbers";
}

static const struct {
    const char *words;
    enum bfc_line_kind kind;
    const char *(*read)(struct cursor cursor, struct bfc_line *line); /* NULL: in read_body() */
    bool is_unmistakable;
} kinds[] = {
    {"InUse at ", BFC_LINE_CHUNK, read_chunk, false},
    {"Free  at ", BFC_LINE_CHUNK, read_chunk, false},
    {"Free at ", BFC_LINE_CHUNK, read_chunk, false},
    {"Chunk at ", BFC_LINE_CHUNK, read_chunk, false},
    {"Next region of size ", BFC_LINE_REGION, read_region, false},
    {"Bin (", BFC_LINE_BIN, read_bin, true},
    {"Bin for ", BFC_LINE_BIN_FOR, read_bin_for, false},
    {"Sum Total of in-use chunks: ", BFC_LINE_SUM_TOTAL, NULL, true},
    {"Stats:", BFC_LINE_STATS, NULL, false},
    {"total_region_allocated_bytes_: ", BFC_LINE_POOL, read_pool, true},
    {"Total bytes in pool: ", BFC_LINE_POOL, read_pool, true},
    {"BFCAllocator dump for ", BFC_LINE_NAME, NULL, true},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static const char out_of_memory[] = "an out of memory trying to allocate "; /* "ran", and "Ran" */

static void take_kind(struct bfc_line *line, enum bfc_line_kind kind, const char *reason)
{
    line->kind = reason == NULL ? kind : BFC_LINE_WRONG;
    line->reason = reason;
}

/* "Allocator (NAME) ran out of memory trying to allocate SIZE ..." */
static bool read_out_of_memory(struct cursor cursor, struct bfc_line *line)
{
    struct text_part before;
    const bool is_epilogue = cursor_take_text(&cursor, "R") &&
                             cursor_take_text(&cursor, out_of_memory);
    if (!is_epilogue && (!cursor_take_text(&cursor, "Allocator (") ||
                         !cursor_take_up_to(&cursor, ") r", &line->name) ||
                         !cursor_take_text(&cursor, out_of_memory))) {
        return false;
    }
    struct cursor rest = cursor;
    if (cursor_take_up_to(&rest, "with freed_by_count=", &before)) {
        return false; /* "The caller indicates that this is not a failure": nobody was refused */
    }
    take_kind(line, is_epilogue ? BFC_LINE_EPILOGUE : BFC_LINE_REQUEST, read_request(cursor, line));
    return true;
}

/* "4 Chunks of size 256 totalling 1.0KiB" */
static bool read_counted(struct cursor cursor, struct bfc_line *line)
{
    if (!cursor_take_number(&cursor, &line->count) ||
        !cursor_take_text(&cursor, " Chunks of size ")) {
        return false;
    }
    line->is_unmistakable = cursor_take_number(&cursor, &line->size_bytes) &&
                            take_loosely(&cursor, "totalling") &&
                            take_size(&cursor, &line->sizes[0]);
    take_kind(line, BFC_LINE_SUMMARY,
              line->is_unmistakable ? NULL : "the line 'Chunks of size' gives no size or no total");
    return true;
}

/* "Key:   N" at the end of a line, whatever stands before it: launchers glue a tag to each line
 * ("[1,0]<stderr>:"). "MaxInUse:" is not the key "InUse:". */
static bool read_stat(struct cursor cursor, struct bfc_line *line)
{
    static const char *const keys[] = {"Limit:", "InUse:", "MaxInUse:"};
    for (size_t i = 0; i < BFC_STAT_COUNT; i++) {
        struct cursor rest = cursor;
        struct text_part before;
        if (!cursor_take_up_to(&rest, keys[i], &before) ||
            (before.length > 0 && phrase_is_word(before.at[before.length - 1]))) {
            continue;
        }
        cursor_skip_blanks(&rest);
        const bool is_number = cursor_take_number(&rest, &line->size_bytes) && rest.at == rest.end;
        line->stat = (enum bfc_stat)i;
        take_kind(line, BFC_LINE_STAT, is_number ? NULL : "the statistic is not a number of bytes");
        return true;
    }
    return false;
}

/* "shape[32,64] ..." */
static bool read_shape(struct cursor cursor, struct bfc_line *line)
{
    struct text_part before;
    if (!cursor_take_up_to(&cursor, "OOM when allocating tensor with shape[", &before)) {
        return false;
    }
    line->size_bytes = 1;
    do {
        uint64_t dimension = 0;
        if (!cursor_take_number(&cursor, &dimension) ||
            __builtin_mul_overflow(line->size_bytes, dimension, &line->size_bytes)) {
            return false;
        }
    } while (cursor_take_text(&cursor, ","));
    line->kind = cursor_take_text(&cursor, "]") ? BFC_LINE_SHAPE : BFC_LINE_NONE;
    return line->kind == BFC_LINE_SHAPE;
}

static bool is_map(const struct cursor *cursor)
{
    for (const char *at = cursor->at; at < cursor->end; at++) {
        if (*at != '*' && *at != 'x' && *at != '_') {
            return false;
        }
    }
    return cursor->end - cursor->at == BFC_MAP_LENGTH;
}

/* "... bfc_allocator.cc:643] ": the words of the allocator come behind it.  False: there is none.
 */
static bool take_prefix(struct cursor *cursor)
{
    struct cursor rest = *cursor;
    struct text_part before;
    uint64_t number = 0;
    if (!cursor_take_up_to(&rest, "bfc_allocator.cc:", &before) ||
        !cursor_take_number(&rest, &number) || !cursor_take_text(&rest, "]")) {
        return false;
    }
    *cursor = rest;
    return true;
}

static void read_body(struct cursor cursor, bool is_behind_stats, struct bfc_line *line)
{
    const char letter = cursor.at < cursor.end ? *cursor.at : '\0';
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct cursor rest = cursor;
        line->is_in_use = kinds[i].words[0] != 'F';
        if (kinds[i].words[0] == letter && cursor_take_text(&rest, kinds[i].words)) {
            const char *reason = kinds[i].read == NULL ? NULL : kinds[i].read(rest, line);
            if (kinds[i].kind == BFC_LINE_NAME) {
                line->name = (struct text_part){rest.at, cursor_left(&rest)};
            } else if (kinds[i].kind == BFC_LINE_SUM_TOTAL && !take_size(&rest, &line->sizes[0])) {
                reason = "the sum of the chunks in use is not a size";
            }
            take_kind(line, kinds[i].kind, reason);
            line->is_unmistakable = kinds[i].is_unmistakable && line->reason == NULL;
            return;
        }
    }
    line->is_in_use = false;
    if (read_out_of_memory(cursor, line) || read_counted(cursor, line)) {
        return;
    }
    if (is_map(&cursor)) {
        line->kind = BFC_LINE_MAP;
        line->map = cursor.at;
    } else if (!is_behind_stats || !read_stat(cursor, line)) {
        (void)read_shape(cursor, line);
    }
}

void bfc_line_read(const char *text, size_t length, bool is_behind_stats, struct bfc_line *line)
{
    struct cursor cursor = cursor_make(text, length);
    *line = (struct bfc_line){.kind = BFC_LINE_NONE};
    while (cursor.end > cursor.at && strchr(" \t\r", cursor.end[-1]) != NULL &&
           cursor.end[-1] != '\0') {
        cursor.end--;
    }
    const bool has_prefix = take_prefix(&cursor);
    cursor_skip_blanks(&cursor);
    read_body(cursor, is_behind_stats, line);
    if (has_prefix) {
        line->is_unmistakable = line->kind != BFC_LINE_NONE && line->kind != BFC_LINE_SHAPE;
    } else if (line->kind == BFC_LINE_WRONG) {
        *line = (struct bfc_line){.kind = BFC_LINE_NONE}; /* "Free at last" is no chunk */
    }
}
