#include "harness/base/option.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WRONG_BYTES = 96, WORD_COUNT_MAX = 32 };

static void *at_offset(void *base, size_t offset)
{
    return (char *)base + offset;
}

void number_store(void *at, size_t size_bytes, uint64_t number)
{
    const uint32_t word = (uint32_t)number;
    const uint16_t half = (uint16_t)number;
    const uint8_t byte = (uint8_t)number;
    const void *from = size_bytes == sizeof number ? (const void *)&number
                       : size_bytes == sizeof word ? (const void *)&word
                       : size_bytes == sizeof half ? (const void *)&half
                                                   : (const void *)&byte;
    CHECK(size_bytes == 8 || size_bytes == 4 || size_bytes == 2 || size_bytes == 1);
    memcpy(at, from, size_bytes);
}

/* The place of the first length bytes of value among words, which have one of separators between
 * them. */
static bool find_word(const char *words, const char *separators, const char *value, size_t length,
                      uint64_t *index)
{
    uint64_t at = 0;
    for (size_t word_length; *words != '\0'; words += word_length + (words[word_length] != '\0')) {
        word_length = strcspn(words, separators);
        if (word_length == length && strncmp(words, value, length) == 0) {
            *index = at;
            return true;
        }
        at++;
    }
    return false;
}

static const char *words_of(const struct option_row *row)
{
    return row->words != NULL ? row->words : row->argument;
}

/* The number that the value is, whatever its bounds. */
static bool parse_number(const struct option_row *row, const char *value, uint64_t *number)
{
    const size_t length = strlen(value);
    switch (row->kind) {
    case OPTION_FLAG:
        return find_word("no|yes", "|", value, length, number);
    case OPTION_SIZE:
        return size_parse(value, length, number);
    case OPTION_POWER:
        return size_parse(value, length, number) && (*number & (*number - 1)) == 0;
    case OPTION_DURATION:
        return duration_parse(value, length, number);
    case OPTION_PERCENT:
        return number_parse(value, length - (length > 0 && value[length - 1] == '%'), number);
    case OPTION_WORD:
        return find_word(words_of(row), "|", value, length, number);
    default:
        return number_parse(value, length, number);
    }
}

static const char *explain(const struct option_row *row)
{
    static _Thread_local char wrong[WRONG_BYTES];
    static const char *const wrong_of_kind[] = {
        [OPTION_FLAG] = "is neither yes nor no",
        [OPTION_SIZE] = "is not a size such as 64M",
        [OPTION_DURATION] = "is not a duration such as 30s, 10m or 8h",
        [OPTION_PERCENT] = "is not a percentage such as 5%",
        [OPTION_ORDER] = NULL};
    if (row->wrong != NULL || wrong_of_kind[row->kind] != NULL) {
        return row->wrong != NULL ? row->wrong : wrong_of_kind[row->kind];
    }
    if (row->kind != OPTION_NUMBER) {
        return "is no value of it";
    }
    if (row->most == 0 || row->most >= UINT64_MAX - 1) {
        (void)snprintf(wrong, sizeof wrong, "is not a number of at least %" PRIu64, row->least);
    } else {
        (void)snprintf(wrong, sizeof wrong, "is not a number from %" PRIu64 " to %" PRIu64,
                       row->least, row->most);
    }
    return wrong;
}

static const char *set_number(const struct option_row *row, void *base, const char *value)
{
    uint64_t number = 0;
    const bool has_bounds = row->kind != OPTION_WORD && row->kind != OPTION_FLAG;
    if (!parse_number(row, value, &number) ||
        (has_bounds && (number < row->least || (row->most != 0 && number > row->most)))) {
        return explain(row);
    }
    number += row->kind == OPTION_WORD ? row->least : 0;
    number_store(at_offset(base, row->offset), row->size_bytes, number);
    return NULL;
}

static size_t count_words(const char *words)
{
    size_t count = 1;
    for (; *words != '\0'; words++) {
        count += *words == ',';
    }
    return count;
}

/* Each word once. */
static const char *set_order(const struct option_row *row, void *base, const char *value)
{
    uint32_t order[WORD_COUNT_MAX];
    const size_t count = count_words(words_of(row));
    uint64_t seen = 0;
    CHECK(count <= WORD_COUNT_MAX && row->size_bytes <= sizeof order);
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(value, ",");
        uint64_t index = 0;
        if (!find_word(words_of(row), ",", value, length, &index) || (seen >> index & 1) != 0 ||
            value[length] != (i + 1 < count ? ',' : '\0')) {
            return explain(row);
        }
        seen |= UINT64_C(1) << index;
        order[i] = (uint32_t)(row->least + index);
        value += length + 1;
    }
    memcpy(at_offset(base, row->offset), order, row->size_bytes);
    return NULL;
}

static const char *set_text(const struct option_row *row, void *base, const char *value)
{
    static _Thread_local char wrong[WRONG_BYTES];
    if (row->most != 0 && strlen(value) > row->most) {
        (void)snprintf(wrong, sizeof wrong, "is longer than %" PRIu64 " bytes", row->most);
        return wrong;
    }
    if (value[0] == '\0') {
        return "is empty";
    }
    memcpy(at_offset(base, row->offset), &value, sizeof value);
    return NULL;
}

static const char *add_text(const struct option_row *row, void *base, const char *value)
{
    size_t *count = at_offset(base, row->flag_offset);
    if (*count == row->most) {
        return row->wrong;
    }
    if (value[0] == '\0') {
        return "is empty";
    }
    const char **texts = at_offset(base, row->offset);
    texts[(*count)++] = value;
    return NULL;
}

static const char *set_value(const struct option_row *row, void *base, const char *value)
{
    switch (row->kind) {
    case OPTION_FLAG:
        return set_number(row, base, value == NULL ? "yes" : value);
    case OPTION_TEXT:
        return set_text(row, base, value);
    case OPTION_TEXTS:
        return add_text(row, base, value);
    case OPTION_ORDER:
        return set_order(row, base, value);
    case OPTION_OTHER:
        return row->set(base, value);
    default:
        return set_number(row, base, value);
    }
}

const char *option_set(const struct option_row *row, void *base, const char *value)
{
    const char *wrong = set_value(row, base, value);
    if (wrong == NULL && row->flag_offset != 0 && row->kind != OPTION_TEXTS) {
        *(bool *)at_offset(base, row->flag_offset) = true;
    }
    return wrong;
}

const struct option_row *option_find(const struct option_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

void option_set_usual(const struct option_row *rows, size_t count, void *base)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].usual != 0) {
            number_store(at_offset(base, rows[i].offset), rows[i].size_bytes, rows[i].usual);
        }
    }
}

bool option_is_given(const struct option_row *row, const void *base)
{
    const char *bytes = base;
    if (row->flag_offset != 0) {
        return *(const bool *)(bytes + row->flag_offset);
    }
    for (size_t i = 0; i < row->size_bytes; i++) {
        if (bytes[row->offset + i] != 0) {
            return true;
        }
    }
    return false;
}

void option_copy(const struct option_row *row, void *base, const void *over)
{
    memcpy(at_offset(base, row->offset), (const char *)over + row->offset, row->size_bytes);
    if (row->flag_offset != 0) {
        *(bool *)at_offset(base, row->flag_offset) = true;
    }
}
