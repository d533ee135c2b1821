#include "infer/option_values.h"

#include <string.h>

/* Small, usual and large, for whatever is counted. */
static const char *const numbers[] = {"1", "4K", "64K"};

static void add_value(struct option_values *values, const char *text, size_t length)
{
    if (values->count == OPTION_VALUE_COUNT_MAX || length >= SETUP_NAME_BYTES) {
        values->is_open = true;
        return;
    }
    char *value = values->values[values->count++];
    memcpy(value, text, length);
    value[length] = '\0';
}

/* "a,b,c" becomes "c,b,a". */
static void add_reversed(struct option_values *values, const char *text, size_t length)
{
    char reversed[SETUP_NAME_BYTES];
    size_t used = 0, end = length;
    if (length >= sizeof reversed) {
        return;
    }
    for (size_t i = length; i-- > 0;) {
        if (i > 0 && text[i - 1] != ',') {
            continue;
        }
        memcpy(reversed + used, text + i, end - i);
        used += end - i;
        if (i > 0) {
            reversed[used++] = ',';
            end = i - 1;
        }
    }
    add_value(values, reversed, used);
}

static void add_part(struct option_values *values, const char *text, size_t length)
{
    if (length == 1 && text[0] == 'N') {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            add_value(values, numbers[i], strlen(numbers[i]));
        }
    } else if (length == 0 || text[0] == '<' || (text[0] >= 'A' && text[0] <= 'Z')) {
        values->is_open = true;
    } else {
        add_value(values, text, length);
        if (memchr(text, ',', length) != NULL) {
            add_reversed(values, text, length);
        }
    }
}

bool option_values_next(const char **help, struct option_values *values)
{
    *values = (struct option_values){0};
    while (*help != NULL && **help != '\0') {
        const char *line = *help;
        const size_t length = strcspn(line, "\n"), key = strcspn(line, "=\n");
        *help += length + (line[length] == '\n');
        if (key == 0 || key >= SETUP_NAME_BYTES || line[key] != '=') {
            continue;
        }
        memcpy(values->key, line, key);
        for (size_t at = key + 1; at <= length;) {
            const size_t part = strcspn(line + at, "|\n");
            add_part(values, line + at, part);
            at += part + 1;
        }
        return true;
    }
    return false;
}
