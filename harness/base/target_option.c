#include "harness/base/target_option.h"

#include "harness/base/check.h"
#include "harness/base/nearest.h"
#include "harness/base/option.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALID_BYTES = 256, ROW_COUNT_MAX = 64 };

bool target_option_next(const struct target *target, size_t *at, struct target_option_shown *shown)
{
    if (target->options != NULL) {
        const struct target_option_row *row = &target->options[*at];
        *at += row->key != NULL;
        *shown = row->key == NULL
                     ? (struct target_option_shown){0}
                     : (struct target_option_shown){row->key, row->values, strlen(row->key),
                                                    strlen(row->values), row->help};
        return row->key != NULL;
    }
    while (target->option_help != NULL && target->option_help[*at] != '\0') {
        const char *line = target->option_help + *at;
        const size_t length = strcspn(line, "\n"), key_length = strcspn(line, "=\n");
        *at += length + (line[length] == '\n');
        if (key_length > 0 && line[key_length] == '=') {
            *shown = (struct target_option_shown){line, line + key_length + 1, key_length,
                                                  length - key_length - 1, NULL};
            return true;
        }
    }
    return false;
}

bool target_has_option(const struct target *target, const char *key)
{
    const size_t length = strlen(key);
    struct target_option_shown shown;
    for (size_t at = 0; target_option_next(target, &at, &shown);) {
        if (shown.key_length == length && memcmp(shown.key, key, length) == 0) {
            return true;
        }
    }
    return false;
}

static struct option_row convert_row(const struct target_option_row *row)
{
    static const enum option_kind kinds[] = {
        [TARGET_OPTION_FLAG] = OPTION_FLAG,   [TARGET_OPTION_WORD] = OPTION_WORD,
        [TARGET_OPTION_ORDER] = OPTION_ORDER, [TARGET_OPTION_NUMBER] = OPTION_NUMBER,
        [TARGET_OPTION_SIZE] = OPTION_SIZE,   [TARGET_OPTION_POWER] = OPTION_POWER};
    return (struct option_row){.name = row->key,
                               .kind = kinds[row->kind],
                               .argument = row->values,
                               .offset = row->offset,
                               .size_bytes = row->size_bytes,
                               .least = row->least,
                               .most = row->most};
}

/* "a|b|c" becomes "a, b, c". */
static void print_words(const char *words, char text[VALID_BYTES])
{
    size_t used = 0;
    for (; *words != '\0' && used + 3 < VALID_BYTES; words++) {
        text[used++] = *words == '|' ? ',' : *words;
        if (*words == '|') {
            text[used++] = ' ';
        }
    }
    text[used] = '\0';
}

static void print_valid(const struct target_option_row *row, char text[VALID_BYTES])
{
    char least[SIZE_TEXT_BYTES], most[SIZE_TEXT_BYTES];
    if (row->kind == TARGET_OPTION_NUMBER) {
        (void)snprintf(least, sizeof least, "%" PRIu64, row->least);
        (void)snprintf(most, sizeof most, "%" PRIu64, row->most);
    } else {
        size_print(row->least, least);
        size_print(row->most, most);
    }
    const char *what = row->kind == TARGET_OPTION_NUMBER  ? "numbers"
                       : row->kind == TARGET_OPTION_POWER ? "the powers of two"
                                                          : "sizes";
    if (row->kind == TARGET_OPTION_FLAG || row->kind == TARGET_OPTION_WORD) {
        print_words(row->kind == TARGET_OPTION_FLAG ? "yes|no" : row->values, text);
    } else if (row->kind == TARGET_OPTION_ORDER) {
        (void)snprintf(text, VALID_BYTES, "the permutations of %s", row->values);
    } else if (row->most != 0) {
        (void)snprintf(text, VALID_BYTES, "%s from %s to %s", what, least, most);
    } else {
        (void)snprintf(text, VALID_BYTES, "%s from %s%s", what, least,
                       row->kind == TARGET_OPTION_SIZE ? ", such as 512 or 1M" : "");
    }
}

/* Looks at the value, and keeps it unless values is NULL. */
static bool read_value(const struct target_option_row *row, const char *value, void *values)
{
    struct option_row typed = convert_row(row);
    union {
        uint64_t number;
        uint32_t order[TARGET_OPTION_WORD_COUNT_MAX];
    } unused;
    if (row->kind == TARGET_OPTION_TEXT) {
        if (values != NULL && row->size_bytes == sizeof value) {
            memcpy((char *)values + row->offset, &value, sizeof value);
        }
        return true;
    }
    if (values == NULL || row->size_bytes == 0) {
        values = &unused;
        typed.offset = 0;
        typed.size_bytes = row->kind == TARGET_OPTION_ORDER ? 0 : sizeof unused.number;
    }
    return option_set(&typed, values, value) == NULL;
}

static void explain_key(const struct target_option_row *rows, const char *key, char *reason,
                        size_t reason_bytes)
{
    const char *names[ROW_COUNT_MAX];
    size_t count = 0;
    for (; rows[count].key != NULL && count < ROW_COUNT_MAX; count++) {
        names[count] = rows[count].key;
    }
    const char *near = nearest_name(key, names, count);
    int used = snprintf(reason, reason_bytes, "there is no option %s; %s%s%svalid are", key,
                        near == NULL ? "" : "did you mean '", near == NULL ? "" : near,
                        near == NULL ? "" : "'? ");
    for (size_t i = 0; i < count && used > 0 && (size_t)used < reason_bytes; i++) {
        used += snprintf(reason + used, reason_bytes - (size_t)used, "%s %s", i == 0 ? "" : ",",
                         names[i]);
    }
}

static bool read_option(const struct target_option_row *rows, const struct target_option *option,
                        void *values, char *reason, size_t reason_bytes)
{
    const struct target_option_row *row = rows;
    while (row->key != NULL && strcmp(row->key, option->key) != 0) {
        row++;
    }
    if (row->key == NULL) {
        explain_key(rows, option->key, reason, reason_bytes);
        return false;
    }
    if (!read_value(row, option->value, values)) {
        char valid[VALID_BYTES];
        print_valid(row, valid);
        (void)snprintf(reason, reason_bytes, "option %s=%s: valid values are %s", option->key,
                       option->value, valid);
        return false;
    }
    return true;
}

bool target_options_read(const struct target_option_row *rows, const struct target_setup *setup,
                         void *values, char *reason, size_t reason_bytes)
{
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (!read_option(rows, &setup->options[i], values, reason, reason_bytes)) {
            return false;
        }
    }
    return true;
}
