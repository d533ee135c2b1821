#include "recording/op_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static const char first_word[] = "hbmstress-ops";

/* A line of an op begins with its number and a colon. */
static bool is_op(const char *line)
{
    const char *word = line + strspn(line, " \t");
    const size_t length = strcspn(word, " \t\r\n");
    return length > 1 && word[0] != '#' && word[length - 1] == ':';
}

static size_t find_in_stream(FILE *stream, uint32_t op)
{
    char *line = NULL;
    size_t room = 0, number = 0, found = 0;
    uint64_t op_count = 0;
    while (found == 0 && getline(&line, &room, stream) >= 0) {
        number++;
        if (number == 1 && strncmp(line, first_word, sizeof first_word - 1) != 0) {
            break;
        }
        if (is_op(line) && op_count++ == op) {
            found = number;
        }
    }
    free(line);
    return found;
}

size_t op_line_find(const char *path, uint32_t op)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0; /* what is read from a pipe is gone */
    }
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return 0;
    }
    const size_t line = find_in_stream(stream, op);
    (void)fclose(stream);
    return line;
}
