/* Finds runtime messages in any noise: log prefixes, line breaks inside a message, escaped line breaks. */
#include "formats/tpu_message.h"

#include "harness/size.h"

#include <string.h>

enum {
    PREFIX_BYTES_MAX = 256, /* how long a log prefix at the start of a continued line may be */
    NUMBER_BYTES_MAX = 24,
    TABLE_BYTES_MAX = 2048 /* the old runtimes' table ends well before that */
};

struct cursor {
    const char *text;
    size_t length;
    size_t at;
};

static bool at_end(const struct cursor *cursor)
{
    return cursor->at >= cursor->length;
}

static char peek(const struct cursor *cursor)
{
    return at_end(cursor) ? '\0' : cursor->text[cursor->at];
}

static bool is_word_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Skips blanks, line breaks, and line breaks as text ("\n" in JSON or a Python repr).  True when a real line
 * break was among them. */
static bool skip_gap(struct cursor *cursor)
{
    bool is_new_line = false;
    for (;;) {
        const char c = peek(cursor);
        if (!at_end(cursor) && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
            is_new_line = is_new_line || c == '\n';
            cursor->at++;
        } else if (c == '\\' && cursor->at + 1 < cursor->length && strchr("nrt", cursor->text[cursor->at + 1]) != NULL &&
                   cursor->text[cursor->at + 1] != '\0') {
            cursor->at += 2;
        } else {
            return is_new_line;
        }
    }
}

static bool word_is_here(const struct cursor *cursor, const char *word, size_t word_length)
{
    if (cursor->length - cursor->at < word_length || memcmp(cursor->text + cursor->at, word, word_length) != 0) {
        return false;
    }
    const size_t after = cursor->at + word_length;
    return after == cursor->length || !is_word_character(word[word_length - 1]) ||
           !is_word_character(cursor->text[after]);
}

/* Goes behind a log prefix ("I0101 12:00:00 file.cc:33] ") when the word follows it on this line. */
static bool skip_prefix(struct cursor *cursor, const char *word, size_t word_length)
{
    struct cursor ahead = *cursor;
    const size_t left = cursor->length - cursor->at;
    const size_t stop = cursor->at + (left < PREFIX_BYTES_MAX ? left : PREFIX_BYTES_MAX);
    for (; ahead.at < stop && peek(&ahead) != '\n'; ahead.at++) {
        const char before = ahead.at > 0 ? ahead.text[ahead.at - 1] : '\n';
        if (strchr(" \t]>:|", before) != NULL && before != '\0' && word_is_here(&ahead, word, word_length)) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}

/* Takes the words of a phrase, each after any gap; unchanged when one is not there. */
static bool take_phrase(struct cursor *cursor, const char *phrase)
{
    struct cursor ahead = *cursor;
    while (*phrase != '\0') {
        const size_t word_length = strcspn(phrase, " ");
        const bool is_new_line = skip_gap(&ahead);
        if (!word_is_here(&ahead, phrase, word_length) &&
            !(is_new_line && skip_prefix(&ahead, phrase, word_length))) {
            return false;
        }
        ahead.at += word_length;
        phrase += word_length;
        phrase += *phrase == ' ' ? 1 : 0;
    }
    *cursor = ahead;
    return true;
}

static bool take_character(struct cursor *cursor, char c)
{
    if (peek(cursor) != c || at_end(cursor)) {
        return false;
    }
    cursor->at++;
    return true;
}

/* Takes a printed size.  A number without unit at the very end may be cut: not taken. */
static bool take_size(struct cursor *cursor, struct size_range *range)
{
    struct cursor ahead = *cursor;
    skip_gap(&ahead);
    const size_t begin = ahead.at;
    while (!at_end(&ahead) && ahead.at - begin < NUMBER_BYTES_MAX &&
           ((peek(&ahead) >= '0' && peek(&ahead) <= '9') || peek(&ahead) == '.')) {
        ahead.at++;
    }
    if (ahead.at == begin || at_end(&ahead)) {
        return false;
    }
    ahead.at++; /* the unit */
    if (is_word_character(peek(&ahead)) ||
        !printed_size_parse(ahead.text + begin, ahead.at - begin, range)) {
        return false;
    }
    *cursor = ahead;
    return true;
}

/* Takes a count of bytes, with or without separators of thousands. */
static bool take_count(struct cursor *cursor, uint64_t *count)
{
    struct cursor ahead = *cursor;
    char digits[NUMBER_BYTES_MAX + 1];
    size_t digit_count = 0;
    skip_gap(&ahead);
    for (;;) {
        const char c = peek(&ahead);
        const bool is_separator = c == ',' && digit_count > 0 && ahead.at + 1 < ahead.length &&
                                  ahead.text[ahead.at + 1] >= '0' && ahead.text[ahead.at + 1] <= '9';
        if (c >= '0' && c <= '9' && digit_count < NUMBER_BYTES_MAX) {
            digits[digit_count++] = c;
        } else if (!is_separator) {
            break;
        }
        ahead.at++;
    }
    if (!number_parse(digits, digit_count, count) || *count > (uint64_t)1 << 63) {
        return false;
    }
    *cursor = ahead;
    return true;
}

/* "0x1x0_HBM0"; unchanged when it is not there in full. */
static bool take_coordinate(struct cursor *cursor, uint32_t coordinate[4])
{
    static const char *const after[4] = {"x", "x", "_HBM", ""};
    struct cursor ahead = *cursor;
    uint32_t numbers[4] = {0};
    for (int i = 0; i < 4; i++) {
        size_t digit_count = 0;
        while (peek(&ahead) >= '0' && peek(&ahead) <= '9' && digit_count < 5) {
            numbers[i] = numbers[i] * 10 + (uint32_t)(peek(&ahead) - '0');
            ahead.at++;
            digit_count++;
        }
        const size_t length = strlen(after[i]);
        if (digit_count == 0 || ahead.length - ahead.at < length ||
            memcmp(ahead.text + ahead.at, after[i], length) != 0) {
            return false;
        }
        ahead.at += length;
    }
    if (is_word_character(peek(&ahead))) {
        return false;
    }
    memcpy(coordinate, numbers, sizeof numbers);
    *cursor = ahead;
    return true;
}

/* Whether the text ends within the phrase: the rest of it is a beginning of the phrase. */
static bool is_cut_within(const struct cursor *cursor, const char *phrase)
{
    struct cursor ahead = *cursor;
    skip_gap(&ahead);
    const size_t begin = ahead.at;
    while (*phrase != '\0' && !at_end(&ahead)) {
        if (*phrase == ' ') {
            skip_gap(&ahead);
            phrase++;
            continue;
        }
        if (peek(&ahead) != *phrase) {
            return false;
        }
        ahead.at++;
        phrase++;
    }
    return at_end(&ahead) && ahead.at > begin && *phrase != '\0';
}

static void parse_tail_coordinate(struct cursor *cursor, struct tpu_message *message)
{
    struct cursor ahead = *cursor;
    (void)take_character(&ahead, '.');
    (void)take_character(&ahead, ';');
    skip_gap(&ahead);
    if (!take_character(&ahead, '(')) {
        return;
    }
    if (take_coordinate(&ahead, message->coordinate) && take_character(&ahead, ')')) {
        message->has_coordinate = true;
        *cursor = ahead;
        return;
    }
    /* Only what looks like one: a "(" may open anything. */
    message->has_cut_coordinate = peek(&ahead) >= '0' && peek(&ahead) <= '9';
    while (peek(&ahead) >= '0' && peek(&ahead) <= '9') {
        ahead.at++;
    }
    message->has_cut_coordinate = message->has_cut_coordinate && (at_end(&ahead) || peek(&ahead) == 'x');
}

/* " Due to fragmentation, ... is S." */
static void parse_fragmentation(struct cursor *cursor, struct tpu_message *message)
{
    static const char phrase[] = "Due to fragmentation, the largest contiguous region of free memory is";
    struct cursor ahead = *cursor;
    (void)take_character(&ahead, '.');
    const struct cursor before = ahead;
    if (take_phrase(&ahead, phrase)) {
        if (take_size(&ahead, &message->largest)) {
            message->has_largest = true;
            *cursor = ahead;
        } else {
            message->missing = "the largest contiguous region";
        }
    } else if (is_cut_within(&before, phrase)) {
        message->missing = "the largest contiguous region";
    }
}

/* Behind the requested size: "That was not possible. There are S free". */
static bool parse_free(struct cursor *cursor, struct tpu_message *message)
{
    (void)take_character(cursor, '.');
    if (take_phrase(cursor, "That was not possible")) {
        (void)take_character(cursor, '.');
    }
    struct cursor ahead = *cursor;
    if (!take_phrase(&ahead, "There are") || !take_size(&ahead, &message->free) || !take_phrase(&ahead, "free")) {
        return false;
    }
    message->has_free = true;
    *cursor = ahead;
    return true;
}

static void parse_reserved(struct cursor *cursor, struct tpu_message *message)
{
    struct cursor ahead = *cursor;
    (void)take_character(&ahead, ',');
    if (!take_size(&ahead, &message->reserved) || !take_phrase(&ahead, "reserved")) {
        return;
    }
    message->has_reserved = true;
    *cursor = ahead;
    (void)take_character(&ahead, ',');
    (void)take_phrase(&ahead, "and");
    if (!take_size(&ahead, &message->reservable) || !take_phrase(&ahead, "reservable")) {
        return;
    }
    message->has_reservable = true;
    *cursor = ahead;
}

/* A row of the old table: "Currently allocated: 6.08G ( 6,532,939,776 bytes)"; narrows a range that prints the
 * same to the exact count. */
static bool take_table_row(struct cursor *cursor, const char *label, struct size_range *printed, uint64_t *count)
{
    struct cursor ahead = *cursor;
    for (; !at_end(&ahead); ahead.at++) {
        struct cursor row = ahead;
        if (word_is_here(&row, label, strcspn(label, " ")) && take_phrase(&row, label) &&
            take_character(&row, ':') && take_size(&row, printed) && take_phrase(&row, "(") &&
            take_count(&row, count) && take_phrase(&row, "bytes)")) {
            *cursor = row;
            return *count >= printed->low && *count <= printed->high;
        }
    }
    return false;
}

/* "HBM capacity 8.00G:" and the exact counts of old runtimes, when they follow. */
static void parse_table(struct cursor *cursor, struct tpu_message *message)
{
    struct cursor table = *cursor;
    (void)take_character(&table, '.');
    (void)take_character(&table, ';');
    if (!take_phrase(&table, "HBM capacity") || !take_size(&table, &message->capacity)) {
        return;
    }
    message->has_capacity = true;
    *cursor = table;
    if (table.length - table.at > TABLE_BYTES_MAX) {
        table.length = table.at + TABLE_BYTES_MAX;
    }
    struct size_range printed;
    uint64_t count = 0;
    if (take_table_row(&table, "Currently allocated", &printed, &count) &&
        count <= message->capacity.nominal) {
        const uint64_t free_bytes = message->capacity.nominal - count;
        if (free_bytes >= message->free.low && free_bytes <= message->free.high) {
            message->free.nominal = free_bytes;
        }
    }
    if (take_table_row(&table, "Program requirement", &printed, &count) && count >= message->requested.low &&
        count <= message->requested.high) {
        message->requested.nominal = count;
    }
}

/* Behind "Attempting to": "allocate S" or "reserve S at the bottom of memory", and what follows. */
static bool parse_attempt(struct cursor *cursor, struct tpu_message *message)
{
    const bool is_reserve = take_phrase(cursor, "reserve");
    if (!is_reserve && !take_phrase(cursor, "allocate")) {
        return false;
    }
    if (is_reserve) {
        message->form = TPU_MESSAGE_PROGRAM_STACK;
    }
    if (!take_size(cursor, &message->requested)) {
        message->missing = is_reserve ? "the requested, free, reserved and reservable bytes"
                                      : "the requested and the free bytes";
        return true;
    }
    if (is_reserve) {
        (void)take_phrase(cursor, "at the bottom of memory");
    }
    if (!parse_free(cursor, message)) {
        message->missing = is_reserve ? "the free, reserved and reservable bytes" : "the free bytes";
        return true;
    }
    if (!is_reserve) {
        parse_fragmentation(cursor, message);
        parse_tail_coordinate(cursor, message);
        return true;
    }
    parse_reserved(cursor, message);
    if (!message->has_reservable) {
        message->missing = message->has_reserved ? "the reservable bytes" : "the reserved and reservable bytes";
        return true;
    }
    parse_table(cursor, message);
    return true;
}

/* "Error loading program 'name':" */
static void parse_program_name(struct cursor *cursor, struct tpu_message *message)
{
    struct cursor ahead = *cursor;
    skip_gap(&ahead);
    if (take_character(&ahead, '\'')) {
        const size_t begin = ahead.at;
        while (!at_end(&ahead) && peek(&ahead) != '\'' && peek(&ahead) != '\n' && ahead.at - begin < 4096) {
            ahead.at++;
        }
        if (peek(&ahead) == '\'' && !at_end(&ahead)) {
            const size_t length = ahead.at - begin;
            const size_t kept = length < sizeof message->name ? length : sizeof message->name - 1;
            memcpy(message->name, ahead.text + begin, kept);
            message->name[kept] = '\0';
            ahead.at++;
            *cursor = ahead;
        }
    }
    (void)take_character(cursor, ':');
}

static bool parse_program(struct cursor *cursor, struct tpu_message *message)
{
    message->form = TPU_MESSAGE_PROGRAM_IMAGE;
    if (take_phrase(cursor, "Error loading program")) {
        parse_program_name(cursor, message);
    }
    return take_phrase(cursor, "Attempting to") && parse_attempt(cursor, message);
}

static bool parse_code(struct cursor *cursor, struct tpu_message *message)
{
    return take_phrase(cursor, "RuntimeProgramAllocationFailure:") && parse_program(cursor, message);
}

static bool parse_plain(struct cursor *cursor, struct tpu_message *message)
{
    message->form = TPU_MESSAGE_BUFFER;
    return take_phrase(cursor, "Attempting to") && parse_attempt(cursor, message);
}

/* tpu_driver: "Could not allocate N bytes in memory 0x0x0_HBM0; N bytes allocatable, N bytes available".
 * Source: jax#14304; allocatable is the largest region, available the total. */
static bool parse_driver(struct cursor *cursor, struct tpu_message *message)
{
    uint64_t requested = 0;
    uint64_t largest = 0;
    uint64_t available = 0;
    message->form = TPU_MESSAGE_BUFFER;
    if (!take_phrase(cursor, "Could not allocate") || !take_count(cursor, &requested) ||
        !take_phrase(cursor, "bytes in memory")) {
        return false;
    }
    message->requested = printed_size_exact(requested);
    message->missing = "the allocatable and available bytes";
    skip_gap(cursor);
    message->has_coordinate = take_coordinate(cursor, message->coordinate);
    (void)take_character(cursor, ';');
    if (!take_count(cursor, &largest) || !take_phrase(cursor, "bytes allocatable")) {
        return true;
    }
    message->missing = "the available bytes";
    (void)take_character(cursor, ',');
    if (!take_count(cursor, &available) || !take_phrase(cursor, "bytes available")) {
        return true;
    }
    message->missing = NULL;
    message->has_free = true;
    message->free = printed_size_exact(available);
    message->has_largest = requested <= available;
    message->largest = printed_size_exact(largest);
    return true;
}

/* How a message may begin. */
static const struct {
    const char *word;
    bool (*parse)(struct cursor *cursor, struct tpu_message *message);
} beginnings[] = {
    {"Attempting", parse_plain},
    {"Error", parse_program},
    {"RuntimeProgramAllocationFailure", parse_code},
    {"Could", parse_driver},
};
enum { BEGINNING_COUNT = sizeof beginnings / sizeof beginnings[0] };

static bool parse_here(struct cursor *cursor, struct tpu_message *message)
{
    for (int i = 0; i < BEGINNING_COUNT; i++) {
        if (peek(cursor) != beginnings[i].word[0] ||
            !word_is_here(cursor, beginnings[i].word, strlen(beginnings[i].word))) {
            continue;
        }
        struct cursor ahead = *cursor;
        *message = (struct tpu_message){.begin = cursor->at};
        if (beginnings[i].parse(&ahead, message)) {
            message->end = ahead.at;
            cursor->at = ahead.at > cursor->at ? ahead.at : cursor->at + 1;
            return true;
        }
    }
    return false;
}

bool tpu_message_next(const char *text, size_t length, size_t *offset, struct tpu_message *message)
{
    struct cursor cursor = {.text = text, .length = length, .at = *offset};
    for (; !at_end(&cursor); cursor.at++) {
        if (parse_here(&cursor, message)) {
            *offset = cursor.at;
            return true;
        }
    }
    *offset = length;
    return false;
}
