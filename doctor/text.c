#include "doctor/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

bool version_find(const char *text, char version[VERSION_BYTES])
{
    version[0] = '\0';
    while (*text != '\0') {
        const size_t length = strspn(text, "0123456789");
        if (length > 0 && text[length] == '.' && is_digit(text[length + 1])) {
            size_t whole = strspn(text, "0123456789.");
            whole -= text[whole - 1] == '.';
            (void)snprintf(version, VERSION_BYTES, "%.*s", (int)(whole < 31 ? whole : 31), text);
            return true;
        }
        text += length > 0 ? length : 1;
    }
    return false;
}

/* The number at *at, which moves behind it and a dot. */
static unsigned long take_part(const char **at)
{
    char *end;
    const unsigned long part = strtoul(*at, &end, 10);
    *at = *end == '.' ? end + 1 : end;
    return part;
}

int version_compare(const char *a, const char *b)
{
    while (is_digit(*a) || is_digit(*b)) {
        const unsigned long one = is_digit(*a) ? take_part(&a) : 0;
        const unsigned long other = is_digit(*b) ? take_part(&b) : 0;
        if (one != other) {
            return one < other ? -1 : 1;
        }
    }
    return 0;
}

bool number_find(const char *text, uint64_t *number)
{
    text += strspn(text, " \t");
    if (!is_digit(*text)) {
        return false;
    }
    errno = 0;
    const unsigned long long read = strtoull(text, NULL, 10);
    if (errno != 0) {
        return false;
    }
    *number = read;
    return true;
}

bool number_find_named(const char *text, const char *name, uint64_t *number)
{
    const size_t length = strlen(name);
    while (*text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == ':') {
            return number_find(text + length + 1, number);
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return false;
}

const char *bytes_print(uint64_t bytes, char text[BYTES_TEXT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        (void)snprintf(text, BYTES_TEXT_BYTES, "%u bytes", (unsigned)bytes);
        return text;
    }
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        amount /= 1024;
        unit++;
    }
    (void)snprintf(text, BYTES_TEXT_BYTES, "%.1f %s", amount, units[unit]);
    return text;
}
