/* Finds runtime messages in any noise: log prefixes, line breaks inside a message, escaped line
 * breaks.  The format takes the first complete one of a log, and says how many there were. */
#include "formats/xla/private/tpu_message.h"
#include "formats/common/chip_named.h"
#include "formats/common/phrase.h"
#include "formats/xla/private/hbm_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TABLE_BYTES_MAX = 2048 /* the old runtimes' table ends well before that */ };

/* "0x1x0_HBM0"; unchanged when it is not there in full. */
static bool take_coordinate(struct phrase_cursor *cursor, uint32_t coordinate[4])
{
    char word[32];
    uint32_t numbers[4];
    int end = 0;
    const size_t length = phrase_word_length(cursor);
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0),
             cursor->text + cursor->at);
    if (sscanf(word, "%5" SCNu32 "x%5" SCNu32 "x%5" SCNu32 "_HBM%5" SCNu32 "%n", &numbers[0],
               &numbers[1], &numbers[2], &numbers[3], &end) < 4 ||
        word[end] != '\0') {
        return false;
    }
    memcpy(coordinate, numbers, sizeof numbers);
    cursor->at += length;
    return true;
}

/* True if the text ends within the phrase: the rest of it is a beginning of the phrase. */
static bool is_cut_within(const struct phrase_cursor *cursor, const char *phrase)
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    const size_t begin = ahead.at;
    while (*phrase != '\0' && !phrase_is_at_end(&ahead)) {
        if (*phrase == ' ') {
            phrase_skip_gap(&ahead);
            phrase++;
            continue;
        }
        if (phrase_peek(&ahead) != *phrase) {
            return false;
        }
        ahead.at++;
        phrase++;
    }
    return phrase_is_at_end(&ahead) && ahead.at > begin && *phrase != '\0';
}

static void parse_tail_coordinate(struct phrase_cursor *cursor, struct tpu_message *message)
{
    struct phrase_cursor ahead = *cursor;
    (void)phrase_take_character(&ahead, '.');
    (void)phrase_take_character(&ahead, ';');
    phrase_skip_gap(&ahead);
    if (!phrase_take_character(&ahead, '(')) {
        return;
    }
    if (take_coordinate(&ahead, message->coordinate) && phrase_take_character(&ahead, ')')) {
        message->has_coordinate = true;
        *cursor = ahead;
        return;
    }
    /* Only what looks like one: a "(" may open anything. */
    const size_t begin = ahead.at;
    while (phrase_peek(&ahead) >= '0' && phrase_peek(&ahead) <= '9') {
        ahead.at++;
    }
    message->has_cut_coordinate = ahead.at > begin &&
                                  (phrase_is_at_end(&ahead) || phrase_peek(&ahead) == 'x');
}

/* " Due to fragmentation, ... is S." */
static void parse_fragmentation(struct phrase_cursor *cursor, struct tpu_message *message)
{
    static const char phrase[] =
        "Due to fragmentation, the largest contiguous region of free memory is";
    struct phrase_cursor ahead = *cursor;
    (void)phrase_take_character(&ahead, '.');
    const struct phrase_cursor before = ahead;
    const bool is_there = phrase_take(&ahead, phrase);
    message->has_largest = is_there && phrase_take_size(&ahead, &message->largest);
    if (message->has_largest) {
        *cursor = ahead;
    } else if (is_there || is_cut_within(&before, phrase)) {
        message->missing = "the largest contiguous region";
    }
}

/* Behind the requested size: "That was not possible. There are S free". */
static bool parse_free(struct phrase_cursor *cursor, struct tpu_message *message)
{
    (void)phrase_take_character(cursor, '.');
    (void)phrase_scan(cursor, "That was not possible [.]");
    message->has_free = phrase_scan(cursor, "There are %S free", &message->free);
    return message->has_free;
}

static void parse_reserved(struct phrase_cursor *cursor, struct tpu_message *message)
{
    message->has_reserved = phrase_scan(cursor, "[,] %S reserved", &message->reserved);
    if (!message->has_reserved) {
        return;
    }
    struct phrase_cursor ahead = *cursor;
    (void)phrase_take_character(&ahead, ',');
    (void)phrase_take(&ahead, "and");
    message->has_reservable = phrase_scan(&ahead, "%S reservable", &message->reservable);
    *cursor = message->has_reservable ? ahead : *cursor;
}

/* A row of the old table: "Currently allocated: 6.08G ( 6,532,939,776 bytes)"; narrows a range that
 * prints the same to the exact count. */
static bool take_table_row(struct phrase_cursor *cursor, const char *label,
                           struct size_range *printed, uint64_t *count)
{
    for (struct phrase_cursor ahead = *cursor; !phrase_is_at_end(&ahead); ahead.at++) {
        struct phrase_cursor row = ahead;
        if (phrase_word_is_here(&row, label, strcspn(label, " ")) && phrase_take(&row, label) &&
            phrase_scan(&row, "{:} %S ( %N bytes)", printed, count)) {
            *cursor = row;
            return *count >= printed->low && *count <= printed->high;
        }
    }
    return false;
}

/* "HBM capacity 8.00G:" and the exact counts of old runtimes, when they follow. */
static void parse_table(struct phrase_cursor *cursor, struct tpu_message *message)
{
    struct phrase_cursor table = *cursor;
    if (!phrase_scan(&table, "[.] [;] HBM capacity %S", &message->capacity)) {
        return;
    }
    message->has_capacity = true;
    *cursor = table;
    /* Up to the next message, which may have a table, too. */
    const size_t left = table.length - table.at;
    const char *next = memmem(table.text + table.at,
                              left < TABLE_BYTES_MAX ? left : TABLE_BYTES_MAX, "Attempting", 10);
    table.length = next != NULL             ? (size_t)(next - table.text)
                   : left < TABLE_BYTES_MAX ? table.length
                                            : table.at + TABLE_BYTES_MAX;
    struct size_range printed;
    uint64_t count = 0;
    if (take_table_row(&table, "Currently allocated", &printed, &count) &&
        count <= message->capacity.nominal) {
        const uint64_t free_bytes = message->capacity.nominal - count;
        if (free_bytes >= message->free.low && free_bytes <= message->free.high) {
            message->free.nominal = free_bytes;
        }
    }
    if (take_table_row(&table, "Program requirement", &printed, &count) &&
        count >= message->requested.low && count <= message->requested.high) {
        message->requested.nominal = count;
    }
}

/* Behind "Attempting to": "allocate S", and what follows. */
static bool parse_allocate(struct phrase_cursor *cursor, struct tpu_message *message)
{
    if (!phrase_take_size(cursor, &message->requested)) {
        message->missing = "the requested and the free bytes";
    } else if (!parse_free(cursor, message)) {
        message->missing = "the free bytes";
    } else {
        parse_fragmentation(cursor, message);
        parse_tail_coordinate(cursor, message);
    }
    return true;
}

/* "reserve S at the bottom of memory", and what follows. */
static bool parse_reserve(struct phrase_cursor *cursor, struct tpu_message *message)
{
    message->form = TPU_MESSAGE_PROGRAM_STACK;
    if (!phrase_take_size(cursor, &message->requested)) {
        message->missing = "the requested, free, reserved and reservable bytes";
        return true;
    }
    (void)phrase_take(cursor, "at the bottom of memory");
    if (!parse_free(cursor, message)) {
        message->missing = "the free, reserved and reservable bytes";
        return true;
    }
    parse_reserved(cursor, message);
    if (message->has_reservable) {
        parse_table(cursor, message);
    } else {
        message->missing = message->has_reserved ? "the reservable bytes"
                                                 : "the reserved and reservable bytes";
    }
    return true;
}

static bool parse_attempt(struct phrase_cursor *cursor, struct tpu_message *message)
{
    return phrase_take(cursor, "Attempting to") &&
           ((phrase_take(cursor, "reserve") && parse_reserve(cursor, message)) ||
            (phrase_take(cursor, "allocate") && parse_allocate(cursor, message)));
}

/* "Error loading program 'name':".  A name of any length; it is passed once, because the next one
 * begins behind its quote. */
static void parse_program_name(struct phrase_cursor *cursor, struct tpu_message *message)
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    const bool is_quoted = phrase_take_character(&ahead, '\'');
    const size_t begin = ahead.at;
    while (is_quoted && !phrase_is_at_end(&ahead) && phrase_peek(&ahead) != '\'' &&
           phrase_peek(&ahead) != '\n') {
        ahead.at++;
    }
    const size_t length = ahead.at - begin;
    if (is_quoted && phrase_take_character(&ahead, '\'')) {
        const size_t kept = length < sizeof message->name ? length : sizeof message->name - 1;
        memcpy(message->name, ahead.text + begin, kept);
        message->name[kept] = '\0';
        *cursor = ahead;
    }
    (void)phrase_take_character(cursor, ':');
}

static bool parse_program(struct phrase_cursor *cursor, struct tpu_message *message)
{
    message->form = TPU_MESSAGE_PROGRAM_IMAGE;
    (void)phrase_take(cursor, "RuntimeProgramAllocationFailure:");
    if (phrase_take(cursor, "Error loading program")) {
        parse_program_name(cursor, message);
    }
    return parse_attempt(cursor, message);
}

/* tpu_driver: "Could not allocate N bytes in memory 0x0x0_HBM0; N bytes allocatable, N bytes
 * available". Source: jax#14304; allocatable is the largest region, available the total. */
static bool parse_driver(struct phrase_cursor *cursor, struct tpu_message *message)
{
    uint64_t requested = 0, largest = 0, available = 0;
    if (!phrase_scan(cursor, "Could not allocate %N bytes in memory", &requested)) {
        return false;
    }
    message->requested = printed_size_exact(requested);
    phrase_skip_gap(cursor);
    message->has_coordinate = take_coordinate(cursor, message->coordinate);
    if (!phrase_scan(cursor, "[;] %N bytes allocatable", &largest)) {
        message->missing = "the allocatable and available bytes";
    } else if (!phrase_scan(cursor, "[,] %N bytes available", &available)) {
        message->missing = "the available bytes";
    } else {
        message->has_free = true;
        message->free = printed_size_exact(available);
        message->has_largest = requested <= available;
        message->largest = printed_size_exact(largest);
    }
    return true;
}

/* The words that may begin a message. */
static const struct {
    const char *word;
    bool (*parse)(struct phrase_cursor *cursor, struct tpu_message *message);
} beginnings[] = {
    {"Attempting", parse_attempt},
    {"Error", parse_program},
    {"RuntimeProgramAllocationFailure", parse_program},
    {"Could", parse_driver},
};

static bool parse_here(struct phrase_cursor *cursor, struct tpu_message *message)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (phrase_peek(cursor) != beginnings[i].word[0] ||
            !phrase_word_is_here(cursor, beginnings[i].word, strlen(beginnings[i].word))) {
            continue;
        }
        struct phrase_cursor ahead = *cursor;
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
    struct phrase_cursor cursor = {.text = text, .length = length, .at = *offset};
    while ((cursor.at = phrase_next_beginning(text, length, cursor.at)) < length) {
        if (parse_here(&cursor, message)) {
            *offset = cursor.at;
            return true;
        }
        cursor.at++;
    }
    *offset = length;
    return false;
}

/* --- the format --- */

static unsigned recognise_tpu_message(const char *text, size_t length)
{
    struct tpu_message message;
    size_t offset = 0;
    return tpu_message_next(text, length, &offset, &message) ? 80 : 0;
}

/* The messages that a log holds. */
struct tpu_survey {
    /* the first complete message; a cut one when there is no complete one */
    struct tpu_message first;
    size_t complete_count;
    size_t cut_count;
};

static void survey_log(const char *text, size_t length, struct tpu_survey *survey)
{
    struct tpu_message message;
    *survey = (struct tpu_survey){0};
    for (size_t offset = 0; tpu_message_next(text, length, &offset, &message);) {
        size_t *count = message.missing == NULL ? &survey->complete_count : &survey->cut_count;
        if (survey->complete_count == 0 && *count == 0) {
            survey->first = message;
        }
        ++*count;
    }
}

enum { QUOTE_BYTES = 400 };

static void note_message(const struct import_input *input, const struct tpu_survey *survey,
                         size_t line, struct import *import)
{
    char quoted[QUOTE_BYTES];
    /* The message on one line. */
    phrase_print(input->text + survey->first.begin, survey->first.end - survey->first.begin, quoted,
                 sizeof quoted);
    import_note(import, "line %zu: %s", line, quoted);
    import_quote(import, quoted, strlen(quoted), line);
    if (survey->complete_count > 1) {
        import_note(import, "%zu messages in the log; this is the first", survey->complete_count);
    }
    if (survey->cut_count > 0) {
        import_note(import, "%zu messages in the log are cut off and not used", survey->cut_count);
    }
}

static enum import_result import_tpu_message(const struct import_input *input,
                                             struct import *import, struct import_error *error)
{
    struct tpu_survey survey;
    size_t at = 0, length = 0;
    survey_log(input->text, input->length, &survey);
    if (survey.complete_count + survey.cut_count == 0) {
        return IMPORT_LACKS(error, "no runtime out-of-memory message in this text");
    }
    import_position(input->text, survey.first.begin, &error->line, &error->column);
    if (survey.complete_count > 0) {
        note_message(input, &survey, error->line, import);
        hbm_report_assume_message(input, survey.first.begin, import);
        struct tpu_message *message = &survey.first;
        message->chip = chip_named(input->text, input->length, &at, &length);
        if (message->chip != NULL) { /* as jobs print the kind of their devices when they start */
            phrase_print(input->text + at, length, message->chip_words, sizeof message->chip_words);
        }
    }
    return tpu_message_build(&survey.first, input->fixed, import, error);
}

const struct format format_tpu_message = {
    .name = "tpu_message",
    .summary = "an out-of-memory message of the XLA:TPU runtime in any log",
    .recognise = recognise_tpu_message,
    .import = import_tpu_message,
};
