#include "tests/cases/case_file.h"

#include "tests/cases/drawing.h"

#include <ctype.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_VALUE_COUNT_MAX = 16, ROW_COUNT_MAX = 64, LINE_COUNT_MAX = 400 };

/* A table of a test: what its columns are called, and the values of each row. */
struct rows {
    char *names[ROW_VALUE_COUNT_MAX];
    char *values[ROW_COUNT_MAX][ROW_VALUE_COUNT_MAX];
    size_t width, count;
};

/* A test as it is written. */
struct written {
    struct case_line lines[LINE_COUNT_MAX];
    size_t count, line;
    char title[256];
    struct rows rows;
};

static void end_program(const char *file, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
static void end_program(const char *file, size_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%zu: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

char *case_keep(char *text)
{
    static char **kept;
    static size_t count, room;
    if (count == room) {
        room = 2 * room + 64;
        kept = realloc(kept, room * sizeof *kept);
    }
    return kept[count++] = text;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* Splits "a | b | c" in place; returns how many there are. */
static size_t split_row(char *text, char *values[ROW_VALUE_COUNT_MAX])
{
    size_t count = 0;
    for (char *rest = text; rest != NULL && count < ROW_VALUE_COUNT_MAX; count++) {
        char *value = rest;
        rest = strchr(rest, '|');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        values[count] = trim(value);
    }
    return count;
}

/* The line with {name} replaced by the value of the row. */
static char *fill_in(const char *text, const struct rows *rows, size_t row)
{
    char filled[1024];
    size_t length = 0;
    while (*text != '\0' && length < sizeof filled - 1) {
        size_t column = 0, name = 0;
        for (; *text == '{' && column < rows->width; column++) {
            name = strlen(rows->names[column]);
            if (strncmp(text + 1, rows->names[column], name) == 0 && text[name + 1] == '}') {
                break;
            }
        }
        if (*text == '{' && column < rows->width) {
            length += (size_t)snprintf(filled + length, sizeof filled - length, "%s",
                                       rows->values[row][column]);
            text += name + 2;
        } else {
            filled[length++] = *text++;
        }
        length = length < sizeof filled ? length : sizeof filled - 1;
    }
    filled[length] = '\0';
    return case_keep(strdup(trim(filled)));
}

/* "3..5: OP" is that op three times, and a heap the lines that make it. */
static void add_line(struct test_case *one, const struct case_line *line)
{
    char *drawn[DRAWING_LINE_COUNT_MAX];
    unsigned from = 0, to = 0;
    int length = 0;
    if (strncmp(line->text, "heap ", 5) == 0) {
        const size_t count = drawing_lines(line->text + 5, drawn);
        for (size_t i = 0; i < count && one->count < LINE_COUNT_MAX; i++) {
            one->lines[one->count++] = (struct case_line){case_keep(drawn[i]), line->number};
        }
        if (count == 0) {
            end_program(one->file, line->number, "'%s' is no drawing", line->text);
        }
        return;
    }
    if (sscanf(line->text, "%u..%u:%n", &from, &to, &length) < 2 || length == 0) {
        one->lines[one->count++] = *line;
        return;
    }
    for (; from <= to && one->count < LINE_COUNT_MAX; from++) {
        char text[1024];
        snprintf(text, sizeof text, "%u:%s", from, line->text + length);
        one->lines[one->count++] = (struct case_line){case_keep(strdup(text)), line->number};
    }
}

/* Adds the cases of a test behind *end. */
static struct test_case **add_cases(struct test_case **end, const char *file,
                                    const struct written *test)
{
    const size_t count = test->rows.width == 0 ? 1 : test->rows.count;
    for (size_t row = 0; row < count && test->title[0] != '\0'; row++) {
        struct test_case *one = calloc(1, sizeof *one);
        *one = (struct test_case){.file = case_keep(strdup(file)),
                                  .title = case_keep(strdup(test->title)),
                                  .line = test->line,
                                  .lines = calloc(LINE_COUNT_MAX, sizeof *one->lines)};
        for (size_t i = 0; i < test->count; i++) {
            char *text = fill_in(test->lines[i].text, &test->rows, row);
            if (text[0] != '\0') { /* a value may be a line, or none */
                add_line(one, &(struct case_line){text, test->lines[i].number});
            }
        }
        *end = one;
        end = &one->next;
    }
    return end;
}

/* Adds to the line before if that ends with a comma. */
static bool goes_on_with(struct written *test, const char *text)
{
    struct case_line *last = test->count == 0 ? NULL : &test->lines[test->count - 1];
    if (last == NULL || last->text[strlen(last->text) - 1] != ',') {
        return false;
    }
    char whole[1024];
    snprintf(whole, sizeof whole, "%s %s", last->text, text);
    last->text = case_keep(strdup(whole));
    return true;
}

static struct test_case **read_file(struct test_case **end, const char *file)
{
    struct written test = {.title = ""};
    FILE *stream = fopen(file, "r");
    char *line = NULL;
    size_t room = 0, number = 0;
    bool is_in_rows = false;
    if (stream == NULL) {
        end_program(file, 0, "cannot be read");
    }
    while (getline(&line, &room, stream) >= 0) {
        char *text = trim(line);
        number++;
        if (text[0] == '\0' || text[0] == '#') {
            is_in_rows = is_in_rows && text[0] == '#';
        } else if (strncmp(text, "test ", 5) == 0) {
            end = add_cases(end, file, &test);
            test = (struct written){.line = number};
            snprintf(test.title, sizeof test.title, "%s", trim(text + 5));
            is_in_rows = false;
        } else if (test.title[0] == '\0' || test.count == LINE_COUNT_MAX) {
            end_program(file, number, "a line of no test, or of one that is too long");
        } else if (strncmp(text, "rows ", 5) == 0) {
            test.rows.width = split_row(case_keep(strdup(text + 5)), test.rows.names);
            is_in_rows = true;
        } else if (is_in_rows && test.rows.count < ROW_COUNT_MAX && strchr(text, ':') != text) {
            if (split_row(case_keep(strdup(text)), test.rows.values[test.rows.count++]) !=
                test.rows.width) {
                end_program(file, number, "a row has one value for each of %zu columns",
                            test.rows.width);
            }
        } else if (!goes_on_with(&test, text)) {
            test.lines[test.count++] = (struct case_line){case_keep(strdup(text)), number};
        }
    }
    free(line);
    fclose(stream);
    return add_cases(end, file, &test);
}

struct test_case *cases_read(const char *folder)
{
    char pattern[1024];
    glob_t found;
    struct test_case *first = NULL, **end = &first;
    snprintf(pattern, sizeof pattern, "%s/*/*.case", folder);
    if (glob(pattern, 0, NULL, &found) != 0) {
        end_program(folder, 0, "has no cases");
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        end = read_file(end, found.gl_pathv[i]);
    }
    globfree(&found);
    return first;
}
