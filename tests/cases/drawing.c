#include "tests/cases/drawing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What a letter stands for: how the block is made, and what happens to it once all are there; the
 * number of its op is put behind that. */
static const struct letter {
    char letter;
    const char *make, *then[2];
} letters[] = {
    {'m', "alloc", {NULL, NULL}},
    {'h', "alloc", {"hold block=", NULL}},
    {'u', "output", {"use delay=10ns block=", NULL}},
    {'v', "alloc", {"use delay=30ns block=", NULL}},
    {'n', "alloc", {"use delay=never block=", NULL}},
    {'d', "alloc", {"free_after delay=20ns block=", NULL}},
    {'e', "alloc", {"use delay=40ns block=", "free_after delay=40ns block="}},
    {'l', "alloc", {"free_after delay=never block=", NULL}},
    {'x', "alloc", {"hold block=", "free block="}},
    {'w', "alloc", {"hold block=", "free_after delay=40ns block="}},
    {'p', "load", {NULL, NULL}},
    {'o', "load stack=2", {NULL, NULL}},
    {'b', "load stack=1", {"execute delay=10ns program=", NULL}},
    {'c', "load stack=2", {"execute delay=30ns program=", NULL}},
    {'y', "load stack=1", {"execute delay=never program=", NULL}},
    {'z', "load", {"execute delay=never program=", NULL}},
    {'q', "load stack=2", {"execute delay=20ns program=", "unload program="}},
    {'r', "load stack=1", {"execute delay=never program=", "unload program="}},
};

static const struct letter *find_letter(char wanted)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (letters[i].letter == tolower((unsigned char)wanted)) {
            return &letters[i];
        }
    }
    return NULL;
}

static void add_line(char *lines[DRAWING_LINE_COUNT_MAX], size_t *count, const char *text)
{
    if (*count < DRAWING_LINE_COUNT_MAX) {
        lines[(*count)++] = strdup(text);
    }
}

size_t drawing_lines(const char *drawing, char *lines[DRAWING_LINE_COUNT_MAX])
{
    const struct letter *blocks[DRAWING_LINE_COUNT_MAX];
    size_t count = 0, block_count = 0, end = 0;
    char text[128];
    snprintf(text, sizeof text, "capacity %zu", strlen(drawing));
    add_line(lines, &count, text);
    for (size_t i = 0; drawing[i] != '\0' && block_count < DRAWING_LINE_COUNT_MAX; i = end) {
        const struct letter *letter = find_letter(drawing[i]);
        for (end = i + 1; drawing[i] != '.' && drawing[end] == drawing[i];) {
            end++;
        }
        if (drawing[i] == '.') {
            continue;
        }
        if (letter == NULL) {
            return 0;
        }
        snprintf(text, sizeof text, "%zu: %s %zu -> %zu", block_count, letter->make, end - i, i);
        add_line(lines, &count, text);
        blocks[block_count++] = letter;
    }
    size_t op = block_count;
    for (size_t i = 0; i < block_count; i++) {
        for (size_t k = 0; k < 2 && blocks[i]->then[k] != NULL; k++) {
            snprintf(text, sizeof text, "%zu: %s%zu", op++, blocks[i]->then[k], i);
            add_line(lines, &count, text);
        }
    }
    return count < DRAWING_LINE_COUNT_MAX ? count : 0;
}
