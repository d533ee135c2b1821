#include "present/wrap.h"

#include "harness/base/check.h"
#include "present/screen.h"

#include <string.h>

/* A column further to the right than this is no second one. */
enum { COLUMN_MAX = 40 };

/* length bytes of a line that has column columns already.  No blank ends a line. */
static void append_words(struct writing *text, const char *words, size_t length, size_t indent,
                         size_t width, size_t column)
{
    size_t blanks = 0;
    for (const char *at = words, *end = words + length; at < end;) {
        const size_t word = strcspn(at, " "), left = (size_t)(end - at);
        const size_t bytes = word < left ? word : left, columns = text_width_of(at, bytes);
        if (bytes > 0 && column > indent && column + blanks + columns > width) {
            writing_append_format(text, "\n%*s", (int)indent, "");
            column = indent;
            blanks = 0;
        }
        if (bytes > 0) {
            writing_append_format(text, "%*s", (int)blanks, "");
            writing_append_bytes(text, at, bytes);
            column += blanks + columns;
            blanks = 0;
        }
        at += bytes;
        blanks += at < end;
        at += at < end;
    }
}

void wrap_append(struct writing *text, const char *words, size_t indent, size_t width)
{
    CHECK(indent < width);
    append_words(text, words, strlen(words), indent, width, indent);
}

/* whole: the first so many bytes of the line are not broken. */
static void append_line(struct writing *text, const char *line, size_t length, size_t whole,
                        size_t indent)
{
    const size_t width = screen_columns();
    const size_t blanks = strspn(line, " ");
    if (text_width_of(line, length) <= width || indent >= width) {
        writing_append_bytes(text, line, length);
        return;
    }
    const size_t from = whole > blanks ? whole : blanks;
    const size_t first = from + strcspn(line + from, " \n");
    writing_append_bytes(text, line, first);
    append_words(text, line + first, length - first, indent, width, text_width_of(line, first));
}

/* Two columns to the right of the line. */
static size_t find_indent(const char *line, size_t length)
{
    (void)length;
    return strspn(line, " ") + 2;
}

/* Below what stands behind the first gap of two blanks that ends no sentence. */
static size_t find_column(const char *line, size_t length)
{
    for (size_t at = strspn(line, " ") + 1; at + 2 < length; at++) {
        if (line[at] == ' ' && line[at + 1] == ' ') {
            const size_t end = at + strspn(line + at, " ");
            const bool is_column = line[at - 1] != '.' && end <= COLUMN_MAX;
            return is_column ? text_width_of(line, end) : find_indent(line, length);
        }
    }
    return find_indent(line, length);
}

static bool is_whole(const char *line, size_t length)
{
    static const char command[] = "hbmstress ";
    const bool is_op = strncmp(line, "op ", 3) == 0 && line[3] >= '0' && line[3] <= '9';
    return is_op || memmem(line, length, command, sizeof command - 1) != NULL;
}

/* Takes the lines from begin on, and appends them again, broken. */
static void break_lines(struct writing *text, size_t begin, size_t whole, bool is_answer)
{
    struct writing lines = {0};
    writing_append(&lines, writing_string(text) + begin);
    text->length = begin;
    for (const char *line = writing_string(&lines); *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const bool is_kept = is_answer && is_whole(line, length);
        append_line(text, line, length, is_kept ? length : whole,
                    (is_answer ? find_column : find_indent)(line, length));
        whole = 0;
        writing_append_bytes(text, "\n", line[length] == '\n');
        line += length + (line[length] == '\n');
    }
    writing_deinit(&lines);
}

void wrap_since(struct writing *text, size_t begin)
{
    break_lines(text, begin, 0, false);
}

void wrap_after(struct writing *text, size_t begin, size_t whole)
{
    break_lines(text, begin, whole - begin, false);
}

void wrap_answer(struct writing *text, size_t begin)
{
    break_lines(text, begin, 0, true);
}

/* Whether the line end at `at` is one of its own: it begins or ends a paragraph, or an indented
 * line follows. */
static bool is_line_end(const char *words, const char *at)
{
    return at[1] == '\0' || at[1] == '\n' || at[1] == ' ' || at == words || at[-1] == '\n';
}

void wrap_paragraphs(struct writing *text, const char *words)
{
    struct writing line = {0};
    for (const char *at = words; *at != '\0'; at++) {
        const bool is_end = *at == '\n' && is_line_end(words, at);
        if (*at != '\n') {
            writing_append_bytes(&line, at, 1);
        } else if (!is_end) {
            writing_append(&line, at[-1] == '.' ? "  " : " ");
        }
        if (is_end || at[1] == '\0') {
            append_words(text, writing_string(&line), line.length,
                         strspn(writing_string(&line), " "), screen_columns(), 0);
            writing_append(text, is_end ? "\n" : "");
            writing_clear(&line);
        }
    }
    writing_deinit(&line);
}

void wrap_whole(struct writing *text, size_t begin, const char *string)
{
    const char *line = writing_string(text) + begin, *last = strrchr(line, '\n');
    const size_t used = text_width(last == NULL ? line : last + 1);
    const size_t blank = text->length;
    writing_append(text, " ");
    writing_append_visible(text, string);
    if (used + text_width(writing_string(text) + blank) > screen_columns()) {
        text->length = blank;
        writing_append(text, "\n  ");
        writing_append_visible(text, string);
    }
}
