/* Request traces of Azure's LLM services.  They have no memory in them, but they imply the KV cache
 * of each request: as many bytes as its tokens take, from its arrival to its last token.  How many
 * bytes a token takes, and how fast tokens come, is the model's and the service's; the options say
 * it, or the notes say what was assumed. */
#include "formats/common/cursor.h"
#include "formats/common/import.h"
#include "formats/common/lifetimes.h"

#include <inttypes.h>

#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"
enum {
    HEADER_LENGTH = sizeof HEADER - 1,
    TICKS_PER_SECOND = 10000000, /* the trace's unit of time is 100 ns */
    TOKEN_COUNT_MAX = 1 << 30,
    REQUEST_COUNT_MAX = LIFETIME_COUNT_MAX,
    DATE_BYTES = 11,    /* "2023-11-16 " */
    ROW_BYTES_MIN = 24, /* "2023-11-16 18:15:46,0,1\n" */
    /* Keys and values of 80 layers with 8 heads of 128 numbers of 2 bytes, as Llama 2 70B has them.
     * The trace does not say which model was served: an assumption, which the notes name. */
    TOKEN_BYTES_DEFAULT = 2 * 80 * 8 * 128 * 2,
    /* 40 ms from token to token: as much an assumption. */
    TOKENS_PER_SECOND_DEFAULT = 25
};

/* The date of a row. */
struct date {
    const char *text; /* DATE_BYTES of them; NULL: no row yet */
    uint64_t second;  /* at which it begins, since 1 March of year 0 */
};

struct azure_reader {
    struct cursor cursor;
    struct import_error *error;
    const char *text;
    uint64_t token_bytes, tokens_per_second;
    uint64_t tokens_max;        /* of a request: IMPORT_CAPACITY_MAX in all */
    struct lifetimes lifetimes; /* times are ticks */
    uint64_t empty_count;       /* requests without a token */
    bool is_open_ended;         /* the last line has no end */
};

static bool take_header(struct cursor *cursor)
{
    return cursor_take_word(cursor, HEADER, HEADER_LENGTH) &&
           (cursor->at == cursor->end || cursor_take_line_end(cursor));
}

static unsigned recognise_azure_llm(const char *text, size_t length)
{
    struct cursor cursor = cursor_make(text, length);
    return take_header(&cursor) ? 95 : 0;
}

/* --- times --- */

/* So many digits, a number from low to high, and the character behind. */
CURSOR_INLINE bool take_digits(struct cursor *cursor, int count, uint64_t low, uint64_t high,
                               uint64_t *value)
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

/* Days since 1 March of year 0 in the calendar of Gregory, counted from March so that the leap day
 * is a year's last. */
static uint64_t count_days(uint64_t year, uint64_t month, uint64_t day)
{
    const uint64_t from_march = (month + 9) % 12;
    const uint64_t y = year - (month <= 2);
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + day - 1;
}

/* Digits behind the point, up to nine, as ticks; none is 0. */
CURSOR_INLINE uint64_t take_fraction(struct cursor *cursor)
{
    static const uint32_t units[] = {10000000, 1000000, 100000, 10000,
                                     1000,     100,     10,     1}; /* by count of digits */
    uint64_t ticks = 0;
    if (!cursor_take(cursor, '.')) {
        return 0;
    }
    const unsigned count = cursor->end - cursor->at >= 8 ? cursor_join_digits(cursor->at, &ticks)
                                                         : 0;
    if (count - 1 < 7) { /* 1 to 7 */
        cursor->at += count;
        return ticks * units[count];
    }
    uint64_t unit = TICKS_PER_SECOND / 10;
    ticks = 0;
    for (int i = 0; i < 9 && cursor->at < cursor->end && (unsigned)(*cursor->at - '0') <= 9;
         i++, unit /= 10) {
        ticks += (unsigned)(*cursor->at++ - '0') * unit;
    }
    return ticks;
}

/* YYYY-MM-DD and a blank.  Most rows have the date of the row before. */
CURSOR_INLINE bool take_date(struct cursor *cursor, struct date *last)
{
    uint64_t year, month, day;
    const char *text = cursor->at;
    if (last->text != NULL && cursor->end - text >= DATE_BYTES &&
        cursor_read_eight(text) == cursor_read_eight(last->text) &&
        cursor_read_eight(text + DATE_BYTES - 8) ==
            cursor_read_eight(last->text + DATE_BYTES - 8)) {
        cursor->at += DATE_BYTES;
        return true;
    }
    if (!take_digits(cursor, 4, 1, 9999, &year) || !cursor_take(cursor, '-') ||
        !take_digits(cursor, 2, 1, 12, &month) || !cursor_take(cursor, '-') ||
        !take_digits(cursor, 2, 1, 31, &day) || !cursor_take(cursor, ' ')) {
        return false;
    }
    *last = (struct date){.text = text, .second = count_days(year, month, day) * 24 * 3600};
    return true;
}

/* HH:MM:SS */
CURSOR_INLINE bool take_clock(struct cursor *cursor, uint32_t *second)
{
    uint64_t number;
    if (cursor_take_clock(cursor, second)) {
        return true;
    }
    /* One by one they show where it is something else. */
    (void)(take_digits(cursor, 2, 0, 23, &number) && cursor_take(cursor, ':') &&
           take_digits(cursor, 2, 0, 59, &number) && cursor_take(cursor, ':') &&
           take_digits(cursor, 2, 0, 60, &number));
    return false;
}

/* YYYY-MM-DD HH:MM:SS[.fffffff][+00:00] */
CURSOR_INLINE bool take_time(struct cursor *cursor, struct date *last, uint64_t *ticks)
{
    uint32_t second;
    if (!take_date(cursor, last) || !take_clock(cursor, &second)) {
        return false;
    }
    const uint64_t fraction = take_fraction(cursor);
    if (cursor_is_at(cursor, '+')) {
        (void)cursor_take_word(cursor, "+00:00", 6);
    }
    *ticks = (last->second + second) * TICKS_PER_SECOND + fraction; /* below 2^62: year 9999 */
    return true;
}

/* --- requests --- */

/* A line as its three numbers. */
struct azure_row {
    size_t offset; /* in the text */
    uint64_t ticks, context_tokens, generated_tokens;
};

/* A request that generates nothing is there for a tick. */
static enum import_result add_request(struct azure_reader *reader, const struct azure_row *row,
                                      size_t line)
{
    const uint64_t tokens = row->context_tokens + row->generated_tokens;
    if (tokens == 0) {
        reader->empty_count++;
        return IMPORT_OK;
    }
    if (reader->lifetimes.count == REQUEST_COUNT_MAX) {
        return IMPORT_REFUSE(reader->error, line, "more than %d requests", REQUEST_COUNT_MAX);
    }
    if (tokens > reader->tokens_max) {
        return IMPORT_REFUSE(reader->error, line,
                             "%" PRIu64 " tokens of %" PRIu64
                             " bytes each are more than 2^50 bytes",
                             tokens, reader->token_bytes);
    }
    const uint64_t lifetime = row->generated_tokens * TICKS_PER_SECOND / reader->tokens_per_second;
    const uint64_t size_bytes = tokens * reader->token_bytes;
    *lifetimes_add(&reader->lifetimes, row->ticks, row->ticks + (lifetime > 0 ? lifetime : 1),
                   size_bytes) = (struct lifetime){.size_bytes = size_bytes, .offset = row->offset};
    return IMPORT_OK;
}

/* NULL, or what is wrong at the cursor.  The last line of such files may have no end. */
CURSOR_INLINE const char *take_row(struct cursor *cursor, struct date *date, struct azure_row *row)
{
    if (!take_time(cursor, date, &row->ticks) || !cursor_take(cursor, ',')) {
        return "the time is not YYYY-MM-DD HH:MM:SS.fffffff";
    }
    if (!cursor_take_number(cursor, &row->context_tokens) ||
        row->context_tokens > TOKEN_COUNT_MAX || !cursor_take(cursor, ',')) {
        return "the context tokens are not a number up to 2^30";
    }
    if (!cursor_take_number(cursor, &row->generated_tokens) ||
        row->generated_tokens > TOKEN_COUNT_MAX) {
        return "the generated tokens are not a number up to 2^30";
    }
    return cursor->at == cursor->end || cursor_take_line_end(cursor)
               ? NULL
               : "something follows the generated tokens";
}

static enum import_result read_rows(struct azure_reader *reader)
{
    struct cursor cursor = reader->cursor; /* a copy, whose address nobody else gets */
    struct date date = {0};                /* of the row before */
    while (cursor.at < cursor.end) {
        struct azure_row row = {.offset = (size_t)(cursor.at - reader->text)};
        const size_t line = cursor.line;
        if (cursor_take_line_end(&cursor)) {
            continue; /* an empty line */
        }
        const char *wrong = take_row(&cursor, &date, &row);
        if (wrong != NULL) {
            reader->cursor = cursor;
            return cursor_fail(&reader->cursor, reader->error, wrong);
        }
        IMPORT_TRY(add_request(reader, &row, line));
    }
    reader->is_open_ended = cursor.line_begin != cursor.end;
    return reader->lifetimes.count > 0 ? IMPORT_OK
                                       : import_fail(reader->error, IMPORT_INCOMPLETE, cursor.line,
                                                     0, "the file has no request");
}

/* --- the whole --- */

static void add_notes(const struct azure_reader *reader, const struct import_input *input,
                      struct import *import)
{
    import_note(import, "%zu requests; at most %" PRIu64 " bytes of KV cache live at a time",
                reader->lifetimes.count, reader->lifetimes.peak_bytes);
    if (input->kv_bytes_per_token == 0) {
        import_assume(import,
                      "%" PRIu64
                      " bytes per token (80 layers, 8 heads of 128 keys and values of 2 bytes); "
                      "--kv-bytes-per-token sets another value",
                      reader->token_bytes);
    } else {
        import_note(import, "%" PRIu64 " bytes per token", reader->token_bytes);
    }
    if (input->kv_tokens_per_second == 0) {
        import_assume(import,
                      "%" PRIu64
                      " tokens a second, from arrival to the last token; --kv-tokens-per-second "
                      "sets another value",
                      reader->tokens_per_second);
    } else {
        import_note(import, "%" PRIu64 " tokens a second", reader->tokens_per_second);
    }
    import_assume(import,
                  "a request's whole cache is reserved when it arrives; times only order the ops");
    if (reader->empty_count > 0) {
        import_note(import, "left out: %" PRIu64 " requests without tokens", reader->empty_count);
    }
    if (reader->is_open_ended) {
        import_note(import,
                    "the last line has no line end: if it is cut, its last number is wrong");
    }
}

static enum import_result import_azure_llm(const struct import_input *input, struct import *import,
                                           struct import_error *error)
{
    struct azure_reader reader = {
        .cursor = cursor_make(input->text, input->length),
        .error = error,
        .text = input->text,
        .token_bytes = input->kv_bytes_per_token != 0 ? input->kv_bytes_per_token
                                                      : TOKEN_BYTES_DEFAULT,
        .tokens_per_second = input->kv_tokens_per_second != 0 ? input->kv_tokens_per_second
                                                              : TOKENS_PER_SECOND_DEFAULT};
    reader.tokens_max = IMPORT_CAPACITY_MAX / reader.token_bytes;
    const size_t row_count_max = input->length / ROW_BYTES_MIN + 1;
    const size_t room = row_count_max < REQUEST_COUNT_MAX ? row_count_max : REQUEST_COUNT_MAX;
    if (!take_header(&reader.cursor)) {
        return IMPORT_REFUSE(error, 1, "the header is not '%s'", HEADER);
    }
    lifetimes_init(&reader.lifetimes, room);
    enum import_result result = read_rows(&reader);
    if (result == IMPORT_OK) { /* the ops in the order of time */
        const uint64_t granule_bytes = input->fixed->granule_bytes;
        const size_t excess = lifetimes_replay(
            &reader.lifetimes, granule_bytes == 0 ? 0 : granule_bytes - 1, &import->ops);
        if (excess < reader.lifetimes.count) {
            result = IMPORT_REFUSE(error,
                                   import_line_at(input->text, reader.lifetimes.all[excess].offset),
                                   "with this request, more than 2^50 bytes are live");
        }
    }
    if (result == IMPORT_OK) {
        add_notes(&reader, input, import);
        result = capacity_choose(input, reader.lifetimes.size_bits, reader.lifetimes.peak_rounded,
                                 import, error);
    }
    lifetimes_deinit(&reader.lifetimes);
    return result;
}

const struct format format_azure_llm = {
    .name = "azure_llm",
    .summary = "request traces of Azure's LLM services, as lifetimes of their KV caches",
    .recognise = recognise_azure_llm,
    .import = import_azure_llm,
};
