#include "cli/manual/pages.h"

#include <ctype.h>
#include <string.h>

/* The members of one structure or enumeration, under way. */
struct header_members {
    struct writing code, comment; /* of the member that is not yet printed */
    struct writing next;          /* the comment above the one that comes */
    bool is_whole;                /* code ended */
    bool has_list;
};

/* Behind the comment that begins at `at`. */
static const char *find_comment_end(const char *at)
{
    const char *end = strstr(at, "*/");
    return end == NULL ? at + strlen(at) : end + 2;
}

/* Appends the words of a comment, its lines without what marks them. */
static void append_comment(struct writing *text, const char *from, const char *end)
{
    from += 2;
    end -= 2;
    for (bool is_first = true; from < end; is_first = false) {
        const char *line_end = memchr(from, '\n', (size_t)(end - from));
        line_end = line_end == NULL ? end : line_end;
        while (!is_first && from < line_end && (*from == ' ' || *from == '\t')) {
            from++;
        }
        from += !is_first && from < line_end && *from == '*';
        from += from < line_end && *from == ' ';
        const char *last = line_end;
        while (last > from && last[-1] == ' ') {
            last--;
        }
        if (last > from || line_end < end) {
            writing_append_bytes(text, from, (size_t)(last - from));
            writing_append(text, "\n");
        }
        from = line_end + 1;
    }
}

/* One blank in place of all that part two words, and none at the ends. */
static void append_code(struct writing *text, const char *from, const char *end)
{
    for (; from < end; from++) {
        if (!isspace((unsigned char)*from)) {
            writing_append_bytes(text, from, 1);
        } else if (text->length > 0 && text->bytes[text->length - 1] != ' ') {
            writing_append(text, " ");
        }
    }
}

static void append_item(struct writing *text, const struct writing *code)
{
    size_t length = code->length;
    while (length > 0 && code->bytes[length - 1] == ' ') {
        length--;
    }
    writing_append(text, ".It Ic ");
    mdoc_argument(text, writing_string(code), length);
    writing_append(text, "\n");
}

static void append_words(struct writing *text, const struct writing *comment)
{
    mdoc_paragraphs(text, writing_string(comment));
}

static void flush_member(struct header_members *members, struct writing *text)
{
    if (members->code.length > 0) {
        writing_append(text, members->has_list ? "" : ".Bl -tag -width Ds\n");
        members->has_list = true;
        append_item(text, &members->code);
        append_words(text, &members->comment);
    }
    writing_clear(&members->code);
    writing_clear(&members->comment);
    members->is_whole = false;
}

/* A comment inside of the braces: of the member on its line, or of the next one. */
static void take_comment(struct header_members *members, const char *from, const char *end,
                         struct writing *text)
{
    const char *line = from;
    while (line[-1] == ' ') {
        line--;
    }
    if (line[-1] == '\n') {
        flush_member(members, text);
        writing_clear(&members->next);
        append_comment(&members->next, from, end);
        return;
    }
    append_comment(&members->comment, from, end);
}

static void take_character(struct header_members *members, char c, struct writing *text)
{
    if (isspace((unsigned char)c) && (members->is_whole || members->code.length == 0)) {
        return;
    }
    if (members->is_whole) {
        flush_member(members, text);
    }
    if (members->code.length == 0 && members->next.length > 0) {
        writing_append(&members->comment, writing_string(&members->next));
        writing_clear(&members->next);
    }
    append_code(&members->code, &c, &c + 1);
}

/* The members between two braces, each up to a `last`; from is behind the first brace. */
static void append_members(struct writing *text, const char *from, const char *end, char last)
{
    struct header_members members = {0};
    int depth = 0;
    while (from < end) {
        if (strncmp(from, "/*", 2) == 0) {
            const char *behind = find_comment_end(from);
            take_comment(&members, from, behind, text);
            from = behind;
            continue;
        }
        depth += (*from == '(' || *from == '{') - (*from == ')' || *from == '}');
        if (*from == last && depth == 0) {
            members.is_whole = true;
        } else {
            take_character(&members, *from, text);
        }
        from++;
    }
    flush_member(&members, text);
    writing_append(text, members.has_list ? ".El\n" : "");
    writing_deinit(&members.code);
    writing_deinit(&members.comment);
    writing_deinit(&members.next);
}

/* Behind the declaration that begins at `at`: a line of the preprocessor, or up to its semicolon.
 */
static const char *find_declaration_end(const char *at)
{
    if (*at == '#') {
        const char *comment = memmem(at, strcspn(at, "\n"), "/*", 2);
        return comment == NULL ? at + strcspn(at, "\n") : comment;
    }
    for (int depth = 0; *at != '\0'; at++) {
        if (strncmp(at, "/*", 2) == 0) {
            at = find_comment_end(at) - 1;
            continue;
        }
        depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
        if (*at == ';' && depth == 0) {
            return at + 1;
        }
    }
    return at;
}

/* Lines for the compiler alone: guards, includes, the linkage. */
static bool is_plumbing(const char *line)
{
    static const char *const begins[] = {"#if",     "#endif",       "#include",
                                         "#pragma", "extern \"C\"", "}"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (strncmp(line, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    const size_t length = strcspn(line, "\n");
    return strncmp(line, "#define", 7) == 0 &&
           (line[length - 1] == 'H' || strstr(line, "__attribute__") != NULL) &&
           (memchr(line + 8, ' ', length - 8) == NULL ||
            memmem(line, length, "__attribute__", 13) != NULL);
}

static void append_declaration(struct writing *text, const char *from, const char *end,
                               struct writing *comment)
{
    const char *brace = *from == '#' ? NULL : memchr(from, '{', (size_t)(end - from));
    const char *last = end;
    struct writing code;
    writing_init(&code);
    append_code(&code, from, brace != NULL ? brace : end[-1] == ';' ? end - 1 : end);
    append_item(text, &code);
    append_words(text, comment);
    writing_clear(comment);
    while (brace != NULL && *last != '}') {
        last--;
    }
    if (brace != NULL) {
        append_members(text, brace + 1, last, strncmp(from, "enum", 4) == 0 ? ',' : ';');
    }
    writing_deinit(&code);
}

/* Behind the opening comment. */
static const char *skip_opening(const char *header)
{
    return find_comment_end(header);
}

void header_description(struct writing *text, const char *header)
{
    struct writing words;
    writing_init(&words);
    append_comment(&words, header, skip_opening(header));
    append_words(text, &words);
    writing_deinit(&words);
}

void header_declarations(struct writing *text, const char *header)
{
    struct writing comment;
    writing_init(&comment);
    writing_append(text, ".Bl -tag -width Ds\n");
    for (const char *at = skip_opening(header); *at != '\0';) {
        const char *end = at;
        if (*at == '\n') {
            end = at + 1;
        } else if (is_plumbing(at)) {
            end = at + strcspn(at, "\n");
        } else if (strncmp(at, "/* ---", 6) == 0) {
            end = find_comment_end(at);
        } else if (strncmp(at, "/*", 2) == 0) {
            end = find_comment_end(at);
            writing_clear(&comment);
            append_comment(&comment, at, end);
            if (at[-1] != '\n') { /* of the declaration on its line */
                append_words(text, &comment);
                writing_clear(&comment);
            }
        } else if (*at == ' ') {
            end = at + strspn(at, " ");
        } else {
            end = find_declaration_end(at);
            append_declaration(text, at, end, &comment);
        }
        at = end;
    }
    writing_append(text, ".El\n");
    writing_deinit(&comment);
}
