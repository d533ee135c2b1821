/* Options "key=value", and the lines "key=a|b|c\n" that say which there are. */
#include "kit/private/instance.h"

#include <stdio.h>
#include <string.h>

/* Returns what follows "key=" in the help; NULL: the key has no line there. */
static const char *find_values(const char *help, const char *key)
{
    const size_t length = strlen(key);
    while (help != NULL && *help != '\0') {
        if (length > 0 && strncmp(help, key, length) == 0 && help[length] == '=') {
            return help + length + 1;
        }
        help = strchr(help, '\n');
        help += help != NULL;
    }
    return NULL;
}

/* True if the value is one of "a|b|c\n"; "<...>" is any. */
static bool is_listed(const char *values, const char *value)
{
    for (size_t length; *values != '\0' && *values != '\n'; values += length) {
        values += *values == '|';
        length = strcspn(values, "|\n");
        if (*values == '<' || (strlen(value) == length && memcmp(values, value, length) == 0)) {
            return true;
        }
    }
    return false;
}

/* The help in one line. */
static void join_lines(const char *help, char *text, size_t text_bytes)
{
    size_t used = 0;
    for (; *help != '\0' && used + 3 < text_bytes; help++) {
        if (*help != '\n') {
            text[used++] = *help;
        } else if (help[1] != '\0') {
            text[used++] = ',';
            text[used++] = ' ';
        }
    }
    text[used] = '\0';
}

bool kit_options_check(const char *option_help, const struct target_setup *setup, char *reason,
                       size_t reason_bytes)
{
    char valid[KIT_MESSAGE_BYTES] = "none";
    if (option_help != NULL) {
        join_lines(option_help, valid, sizeof valid);
    }
    for (uint32_t i = 0; i < setup->option_count; i++) {
        const struct target_option *option = &setup->options[i];
        const char *values = find_values(option_help, option->key);
        if (values == NULL) {
            (void)snprintf(reason, reason_bytes, "unknown option '%s'; valid options: %s",
                           option->key, valid);
            return false;
        }
        if (!is_listed(values, option->value)) {
            (void)snprintf(reason, reason_bytes, "option %s: '%s' is none of %.*s", option->key,
                           option->value, (int)strcspn(values, "\n"), values);
            return false;
        }
    }
    return true;
}

const char *kit_option(const struct kit_setup *setup, const char *key)
{
    for (uint32_t i = setup->target->option_count; i > 0; i--) {
        if (strcmp(setup->target->options[i - 1].key, key) == 0) {
            return setup->target->options[i - 1].value;
        }
    }
    return NULL;
}

/* Returns the values that the rows list for the key; NULL: no row has the key. */
static const char *find_row_values(const struct target_option_row *row, const char *key)
{
    while (row != NULL && row->key != NULL && strcmp(row->key, key) != 0) {
        row++;
    }
    return row == NULL || row->key == NULL ? NULL : row->values;
}

bool kit_option_is(const struct kit_setup *setup, const char *key, const char *value)
{
    const char *given = kit_option(setup, key);
    if (given != NULL) {
        return strcmp(given, value) == 0;
    }
    const char *values = setup->options != NULL ? find_row_values(setup->options, key)
                                                : find_values(setup->option_help, key);
    return values != NULL && strcspn(values, "|\n") == strlen(value) &&
           strncmp(values, value, strlen(value)) == 0;
}
