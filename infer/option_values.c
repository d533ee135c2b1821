#include "infer/option_values.h"

#include "harness/base/target_option.h"

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

bool option_values_next(const struct target *target, size_t *at, struct option_values *values)
{
    struct target_option_shown shown;
    *values = (struct option_values){0};
    while (target_option_next(target, at, &shown)) {
        if (shown.key_length >= SETUP_NAME_BYTES) {
            continue;
        }
        memcpy(values->key, shown.key, shown.key_length);
        for (size_t from = 0; from <= shown.values_length;) {
            size_t part = strcspn(shown.values + from, "|\n");
            part = part > shown.values_length - from ? shown.values_length - from : part;
            add_part(values, shown.values + from, part);
            from += part + 1;
        }
        return true;
    }
    return false;
}
