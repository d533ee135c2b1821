#include "cli/manual/pages.h"

#include <ctype.h>
#include <string.h>

void mdoc_begin(struct writing *text, const struct mdoc_page *page)
{
    writing_append(text, ".\\\" Made by hbmstress-manual from the tables of the program.\n");
    writing_append_format(text, ".Dd %s\n.Dt ", page->date);
    for (const char *at = page->name; *at != '\0'; at++) {
        const char upper = (char)toupper((unsigned char)*at);
        writing_append_bytes(text, &upper, 1);
    }
    writing_append_format(text, " %d\n.Os hbmstress %s\n.Sh NAME\n.Nm %s\n.Nd ", page->section,
                          page->version, page->name);
    mdoc_escape(text, page->summary, strlen(page->summary), false);
    writing_append(text, "\n");
}

/* A dash that is no hyphen between letters. */
static bool is_option_dash(const char *bytes, size_t length, size_t i)
{
    const bool is_begin = i == 0 || !isalnum((unsigned char)bytes[i - 1]);
    return is_begin || i + 1 == length || bytes[i + 1] == '-';
}

void mdoc_escape(struct writing *text, const char *bytes, size_t length, bool is_code)
{
    static const char special[] = "\\\"'`~^";
    static const char *const names[] = {"\\e", "\\(dq", "\\(aq", "\\(ga", "\\(ti", "\\(ha"};
    for (size_t i = 0; i < length; i++) {
        const char *found = strchr(special, bytes[i]);
        if (bytes[i] == '-' && (is_code || is_option_dash(bytes, length, i))) {
            writing_append(text, "\\-");
        } else if (found != NULL && *found != '\0') {
            writing_append(text, names[found - special]);
        } else {
            writing_append_bytes(text, &bytes[i], 1);
        }
    }
}

void mdoc_argument(struct writing *text, const char *bytes, size_t length)
{
    writing_append(text, "\"\\&");
    mdoc_escape(text, bytes, length, true);
    writing_append(text, "\"");
}

void mdoc_line(struct writing *text, const char *bytes, size_t length)
{
    if (length > 0 && bytes[0] == '.') {
        writing_append(text, "\\&");
    }
    mdoc_escape(text, bytes, length, false);
    writing_append(text, "\n");
}

void mdoc_section(struct writing *text, const char *name)
{
    writing_append_format(text, ".Sh %s\n", name);
}

void mdoc_display(struct writing *text, const char *lines)
{
    writing_append(text, ".Bd -literal -offset indent\n");
    for (const char *at = lines; *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        writing_append(text, length > 0 && at[0] == '.' ? "\\&" : "");
        mdoc_escape(text, at, length, true);
        writing_append(text, "\n");
        at += length + (at[length] == '\n');
    }
    writing_append(text, ".Ed\n");
}

/* True if byte i ends a sentence, or a line. */
static bool is_sentence_end(const char *bytes, size_t length, size_t i)
{
    if (i + 1 == length || bytes[i + 1] == '\n') {
        return true;
    }
    const bool has_next = bytes[i + 1] == ' ' && i + 2 < length;
    return has_next && strchr(".:!?", bytes[i]) != NULL &&
           (bytes[i + 2] == ' ' || (bytes[i] == '.' && isupper((unsigned char)bytes[i + 2])));
}

/* Each sentence and each line of the text gets a line. */
static void append_sentences(struct writing *text, const char *bytes, size_t length)
{
    size_t begin = 0;
    for (size_t i = 0; i < length; i++) {
        if (i >= begin && is_sentence_end(bytes, length, i)) {
            mdoc_line(text, bytes + begin, i + 1 - begin);
            begin = i + 1;
            while (begin < length && (bytes[begin] == ' ' || bytes[begin] == '\n')) {
                begin++;
            }
        }
    }
}

/* The blanks that length bytes begin with. */
static size_t count_blanks(const char *line)
{
    return strspn(line, " ");
}

/* Returns where a list's line has its text, behind a name and two blanks; 0: it is none. */
static size_t find_entry(const char *line)
{
    const size_t begin = count_blanks(line), end = strcspn(line, "\n");
    for (size_t i = begin; i + 2 < end; i++) {
        if (line[i] == ' ' && line[i + 1] == ' ') {
            return i + strspn(line + i, " ");
        }
    }
    return 0;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

static void append_list(struct writing *text, const char *from, const char *end)
{
    const size_t indent = count_blanks(from);
    writing_append(text, ".Bl -tag -width Ds\n");
    while (from < end) {
        const size_t entry = find_entry(from);
        size_t name_end = entry;
        if (count_blanks(from) > indent || entry == 0) {
            from += count_blanks(from);
            mdoc_line(text, from, strcspn(from, "\n"));
        } else {
            while (from[name_end - 1] == ' ') {
                name_end--;
            }
            writing_append(text, ".It Ic ");
            mdoc_argument(text, from + indent, name_end - indent);
            writing_append(text, "\n");
            mdoc_line(text, from + entry, strcspn(from + entry, "\n"));
        }
        from = next_line(from);
    }
    writing_append(text, ".El\n");
}

static void append_indented(struct writing *text, const char *from, const char *end)
{
    if (find_entry(from) != 0) {
        append_list(text, from, end);
        return;
    }
    struct writing lines;
    writing_init(&lines);
    const size_t indent = count_blanks(from);
    for (; from < end; from = next_line(from)) {
        const size_t skip = count_blanks(from) < indent ? count_blanks(from) : indent;
        writing_append_format(&lines, "%.*s\n", (int)strcspn(from + skip, "\n"), from + skip);
    }
    mdoc_display(text, writing_string(&lines));
    writing_deinit(&lines);
}

void mdoc_paragraphs(struct writing *text, const char *words)
{
    bool is_first = true;
    while (*words != '\0') {
        const bool is_indented = strncmp(words, "  ", 2) == 0;
        const char *end = words;
        while (*end != '\0' && *end != '\n' && (strncmp(end, "  ", 2) == 0) == is_indented) {
            end = next_line(end);
        }
        if (is_indented) {
            append_indented(text, words, end);
        } else {
            const size_t length = (size_t)(end - words) - (end > words && end[-1] == '\n');
            writing_append(text, is_first ? "" : ".Pp\n");
            append_sentences(text, words, length);
        }
        is_first = false;
        words = end + strspn(end, "\n");
    }
}
