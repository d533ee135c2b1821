/* Request traces of Azure's LLM services.  They have no memory in them, but they imply the KV cache of each request: as
 * many bytes as its tokens take, from its arrival to its last token.  How many bytes a token takes, and how fast tokens
 * come, is the model's and the service's; the options say it, or the notes say what was assumed. */
#include "formats/cursor.h"
#include "formats/radix.h"
#include "formats/room.h"
#include "formats/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"
#define BYTES_MAX ((uint64_t)1 << 50) /* what a setup can hold as capacity */
enum {
    HEADER_LENGTH = sizeof HEADER - 1,
    TICKS_PER_SECOND = 10000000, /* the trace's unit of time is 100 ns */
    TOKEN_COUNT_MAX = 1 << 30,
    REQUEST_COUNT_MAX = 1 << 30,
    /* Keys and values of 80 layers with 8 heads of 128 numbers of 2 bytes, as Llama 2 70B has them.  The trace does not
     * say which model was served: an assumption, which the notes name. */
    TOKEN_BYTES_DEFAULT = 2 * 80 * 8 * 128 * 2,
    /* 40 ms from token to token: as much an assumption. */
    TOKENS_PER_SECOND_DEFAULT = 25
};

struct request {
    uint64_t size_bytes;
    uint32_t op;
    uint32_t line; /* for messages; cut to 32 bits */
};

struct reader {
    struct cursor cursor;
    struct import_error *error;
    uint64_t token_bytes, tokens_per_second;
    struct request *requests;
    struct radix_item *arrivals, *ends; /* by request; key: time in ticks */
    size_t count, capacity;
    uint64_t granule_mask, live_rounded, peak_rounded, live_bytes, peak_bytes, size_bits;
    uint64_t empty_count; /* requests without a token */
    bool is_open_ended;   /* the last line has no end */
};

static bool take_header(struct cursor *cursor)
{
    return cursor_take_word(cursor, HEADER, HEADER_LENGTH) &&
           (cursor->at == cursor->end || cursor_take_line_end(cursor));
}

static unsigned azure_llm_recognise(const char *text, size_t length)
{
    struct cursor cursor = cursor_make(text, length);
    return take_header(&cursor) ? 95 : 0;
}

/* --- times --------------------------------------------------------------------------------------------------- */

/* So many digits, a number from low to high, and the character behind. */
CURSOR_INLINE bool take_digits(struct cursor *cursor, int count, uint64_t low, uint64_t high, uint64_t *value)
{
    uint64_t sum = 0;
    if (cursor->end - cursor->at < count) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        const unsigned digit = (unsigned)(cursor->at[i] - '0');
        if (digit > 9) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    cursor->at += count;
    *value = sum;
    return sum >= low && sum <= high;
}

/* Days since 1 March of year 0 in the calendar of Gregory, counted from March so that the leap day is a year's last. */
static uint64_t day_number(uint64_t year, uint64_t month, uint64_t day)
{
    const uint64_t from_march = (month + 9) % 12;
    const uint64_t y = year - (month <= 2);
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + day - 1;
}

/* Digits behind the point, up to nine, as ticks; none is 0. */
CURSOR_INLINE bool take_fraction(struct cursor *cursor, uint64_t *ticks)
{
    uint64_t unit = TICKS_PER_SECOND / 10;
    *ticks = 0;
    if (!cursor_take(cursor, '.')) {
        return true;
    }
    for (int i = 0; i < 9 && cursor->at < cursor->end && (unsigned)(*cursor->at - '0') <= 9; i++, unit /= 10) {
        *ticks += (unsigned)(*cursor->at++ - '0') * unit;
    }
    return true;
}

/* YYYY-MM-DD HH:MM:SS[.fffffff][+00:00] */
CURSOR_INLINE bool take_time(struct cursor *cursor, uint64_t *ticks)
{
    uint64_t year, month, day, hour, minute, second, fraction;
    if (!take_digits(cursor, 4, 1, 9999, &year) || !cursor_take(cursor, '-') ||
        !take_digits(cursor, 2, 1, 12, &month) || !cursor_take(cursor, '-') ||
        !take_digits(cursor, 2, 1, 31, &day) || !cursor_take(cursor, ' ') ||
        !take_digits(cursor, 2, 0, 23, &hour) || !cursor_take(cursor, ':') ||
        !take_digits(cursor, 2, 0, 59, &minute) || !cursor_take(cursor, ':') ||
        !take_digits(cursor, 2, 0, 60, &second) || !take_fraction(cursor, &fraction)) {
        return false;
    }
    (void)cursor_take_word(cursor, "+00:00", 6);
    const uint64_t seconds = ((day_number(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    *ticks = seconds * TICKS_PER_SECOND + fraction; /* below 2^62: year 9999 */
    return true;
}

/* --- requests ------------------------------------------------------------------------------------------------ */

static bool grow(void **array, size_t count, size_t size)
{
    void *grown = realloc(*array, count * size);
    *array = grown == NULL ? *array : grown;
    room_advise(grown, count * size);
    return grown != NULL;
}

static bool make_room(struct reader *reader)
{
    if (reader->count < reader->capacity) {
        return true;
    }
    const size_t capacity = reader->capacity == 0 ? 1024 : reader->capacity * 2;
    if (!grow((void **)&reader->requests, capacity, sizeof *reader->requests) ||
        !grow((void **)&reader->arrivals, capacity, sizeof *reader->arrivals) ||
        !grow((void **)&reader->ends, capacity, sizeof *reader->ends)) {
        return false;
    }
    reader->capacity = capacity;
    return true;
}

static enum import_result no_host_memory(const struct reader *reader)
{
    return import_fail(reader->error, IMPORT_UNREADABLE, 0, 0, "no host memory for the requests");
}

/* A line as its three numbers. */
struct row {
    uint64_t ticks, context_tokens, generated_tokens;
};

/* A request that generates nothing is there for a tick. */
static enum import_result add_request(struct reader *reader, const struct row *row, size_t line)
{
    const uint64_t tokens = row->context_tokens + row->generated_tokens;
    if (tokens == 0) {
        reader->empty_count++;
        return IMPORT_OK;
    }
    if (reader->count == REQUEST_COUNT_MAX) {
        return import_fail(reader->error, IMPORT_INVALID, line, 0, "more than %d requests", REQUEST_COUNT_MAX);
    }
    if (tokens > BYTES_MAX / reader->token_bytes) {
        return import_fail(reader->error, IMPORT_INVALID, line, 0, "%" PRIu64 " tokens of %" PRIu64
                           " bytes: more than 2^50 bytes", tokens, reader->token_bytes);
    }
    if (!make_room(reader)) {
        return no_host_memory(reader);
    }
    const uint32_t number = (uint32_t)reader->count++;
    const uint64_t lifetime = row->generated_tokens * TICKS_PER_SECOND / reader->tokens_per_second;
    reader->requests[number] = (struct request){.size_bytes = tokens * reader->token_bytes, .line = (uint32_t)line};
    reader->arrivals[number] = (struct radix_item){row->ticks, number};
    reader->ends[number] = (struct radix_item){row->ticks + (lifetime > 0 ? lifetime : 1), number};
    return IMPORT_OK;
}

/* NULL, or what is wrong at the cursor.  The last line of such files may have no end. */
CURSOR_INLINE const char *take_row(struct cursor *cursor, struct row *row)
{
    if (!take_time(cursor, &row->ticks) || !cursor_take(cursor, ',')) {
        return "the time is not YYYY-MM-DD HH:MM:SS.fffffff";
    }
    if (!cursor_take_number(cursor, &row->context_tokens) || row->context_tokens > TOKEN_COUNT_MAX ||
        !cursor_take(cursor, ',')) {
        return "the context tokens are not a number up to 2^30";
    }
    if (!cursor_take_number(cursor, &row->generated_tokens) || row->generated_tokens > TOKEN_COUNT_MAX) {
        return "the generated tokens are not a number up to 2^30";
    }
    return cursor->at == cursor->end || cursor_take_line_end(cursor) ? NULL : "something follows the generated tokens";
}

static enum import_result read_rows(struct reader *reader)
{
    struct cursor cursor = reader->cursor; /* a copy, whose address nobody else gets */
    while (cursor.at < cursor.end) {
        struct row row;
        const size_t line = cursor.line;
        if (cursor_take_line_end(&cursor)) {
            continue; /* an empty line */
        }
        const char *wrong = take_row(&cursor, &row);
        if (wrong != NULL) {
            reader->cursor = cursor;
            return cursor_fail(&reader->cursor, reader->error, wrong);
        }
        const enum import_result result = add_request(reader, &row, line);
        if (result != IMPORT_OK) {
            return result;
        }
    }
    reader->is_open_ended = cursor.line_begin != cursor.end;
    return reader->count > 0
               ? IMPORT_OK
               : import_fail(reader->error, IMPORT_INCOMPLETE, cursor.line, 0, "there is no request in it");
}

/* --- ops ----------------------------------------------------------------------------------------------------- */

static uint64_t rounded(const struct reader *reader, uint64_t size_bytes)
{
    return (size_bytes + reader->granule_mask) & ~reader->granule_mask;
}

static enum import_result begin_request(struct reader *reader, uint32_t number, struct op_list *ops)
{
    struct request *request = &reader->requests[number];
    const struct op op = {.kind = OP_ALLOC, .ref = OP_NONE, .event = OP_NONE, .size_bytes = request->size_bytes};
    request->op = (uint32_t)ops->count;
    room_append(ops, &op);
    reader->size_bits |= request->size_bytes;
    reader->live_bytes += request->size_bytes;
    reader->live_rounded += rounded(reader, request->size_bytes);
    reader->peak_bytes = reader->live_bytes > reader->peak_bytes ? reader->live_bytes : reader->peak_bytes;
    reader->peak_rounded = reader->live_rounded > reader->peak_rounded ? reader->live_rounded : reader->peak_rounded;
    if (reader->live_rounded > BYTES_MAX) {
        return import_fail(reader->error, IMPORT_INVALID, request->line, 0,
                           "with this request more than 2^50 bytes are live");
    }
    return IMPORT_OK;
}

static void end_request(struct reader *reader, uint32_t number, struct op_list *ops)
{
    const struct request *request = &reader->requests[number];
    const struct op op = {.kind = OP_FREE, .ref = request->op, .event = OP_NONE};
    room_append(ops, &op);
    reader->live_bytes -= request->size_bytes;
    reader->live_rounded -= rounded(reader, request->size_bytes);
}

/* In the order of time; at each time what ends goes before what begins. */
static enum import_result make_ops(struct reader *reader, struct import *import)
{
    if (!radix_sort(reader->arrivals, reader->count) || !radix_sort(reader->ends, reader->count)) {
        return no_host_memory(reader);
    }
    room_for_ops(&import->ops, 2 * reader->count);
    for (size_t begun = 0, ended = 0; ended < reader->count;) {
        if (begun < reader->count && reader->arrivals[begun].key < reader->ends[ended].key) {
            const enum import_result result = begin_request(reader, reader->arrivals[begun++].index, &import->ops);
            if (result != IMPORT_OK) {
                return result;
            }
        } else {
            end_request(reader, reader->ends[ended++].index, &import->ops);
        }
    }
    return IMPORT_OK;
}

/* --- the whole ----------------------------------------------------------------------------------------------- */

static void add_notes(const struct reader *reader, const struct import_input *input, struct import *import)
{
    import_note(import, "%zu requests; at most %" PRIu64 " bytes of KV cache live at a time", reader->count,
                reader->peak_bytes);
    import_note(import, "%" PRIu64 " bytes per token%s", reader->token_bytes, input->kv_bytes_per_token != 0 ? ""
                : ": assumed (80 layers, 8 heads of 128 keys and values of 2 bytes); --kv-bytes-per-token says "
                  "another");
    import_note(import, "a request is there from its arrival to its last token, at %" PRIu64 " tokens a second%s",
                reader->tokens_per_second, input->kv_tokens_per_second != 0 ? ""
                : ": assumed; --kv-tokens-per-second says another");
    import_note(import, "its cache is reserved whole when it arrives; times only order the ops");
    if (reader->empty_count > 0) {
        import_note(import, "left out: %" PRIu64 " requests without a token", reader->empty_count);
    }
    if (reader->is_open_ended) {
        import_note(import, "the last line has no line end: if it is cut, its last number is wrong");
    }
}

static enum import_result convert(struct reader *reader, const struct import_input *input, struct import *import)
{
    if (!take_header(&reader->cursor)) {
        return import_fail(reader->error, IMPORT_INVALID, 1, 0, "the header is not '%s'", HEADER);
    }
    enum import_result result = read_rows(reader);
    if (result == IMPORT_OK) {
        result = make_ops(reader, import);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    add_notes(reader, input, import);
    return trace_choose_device(input, reader->size_bits, reader->peak_rounded, import, reader->error);
}

static enum import_result azure_llm_import(const struct import_input *input, struct import *import,
                                           struct import_error *error)
{
    struct reader reader = {
        .cursor = cursor_make(input->text, input->length), .error = error,
        .token_bytes = input->kv_bytes_per_token != 0 ? input->kv_bytes_per_token : TOKEN_BYTES_DEFAULT,
        .tokens_per_second =
            input->kv_tokens_per_second != 0 ? input->kv_tokens_per_second : TOKENS_PER_SECOND_DEFAULT,
        .granule_mask = input->fixed->granule_bytes == 0 ? 0 : input->fixed->granule_bytes - 1};
    const enum import_result result = convert(&reader, input, import);
    free(reader.requests);
    free(reader.arrivals);
    free(reader.ends);
    return result;
}

const struct format format_azure_llm = {
    .name = "azure_llm",
    .summary = "request traces of Azure's LLM services, as lifetimes of their KV caches",
    .recognise = azure_llm_recognise,
    .import = azure_llm_import,
};
