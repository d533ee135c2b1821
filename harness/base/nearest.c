#include "harness/base/nearest.h"

#include <string.h>

enum { NAME_BYTES_MAX = 64 };

/* Levenshtein's distance, one row at a time; both at most NAME_BYTES_MAX long. */
static size_t count_edits(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    const size_t length = strlen(b);
    for (size_t i = 0; i <= length; i++) {
        row[i] = i;
    }
    for (size_t line = 1; *a != '\0'; a++, line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t i = 1; i <= length; i++) {
            const size_t replaced = diagonal + (*a != b[i - 1]);
            const size_t least = row[i - 1] < row[i] ? row[i - 1] + 1 : row[i] + 1;
            diagonal = row[i];
            row[i] = replaced < least ? replaced : least;
        }
    }
    return row[length];
}

const char *nearest_name(const char *name, const char *const *names, size_t count)
{
    const size_t length = strlen(name);
    if (length > NAME_BYTES_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t best = length / 3 + 2; /* one more than what is near enough */
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) > NAME_BYTES_MAX) {
            continue;
        }
        const size_t edits = count_edits(name, names[i]);
        if (edits < best) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
