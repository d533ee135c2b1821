#include "tests/checker/checks.h"

#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const file_names[] = {"words",   "documents", "search", "budget", "kept",
                                         "natural", "regions",   "states", "history"};
enum { FILE_COUNT = sizeof file_names / sizeof *file_names };

/* What a row may say; the last three are of stories alone. */
enum part { CLAIM, DEVICE, CONTRACTED, DENIED, REQUESTED, BLOCKS, PROOF, MORE, LIST, HOSTS, LOG };
static const char *const part_names[] = {"claim",   "device", "contract", "refused",
                                         "request", "blocks", "proof",    "more",
                                         "list",    "hosts",  "log"};
enum { PART_COUNT = sizeof part_names / sizeof *part_names };

/* A line with those that continue it; that of a test or story is followed by what is inside. */
struct line {
    int file, number;
    bool is_inside;
    const char *text;
};
enum { LINE_MAX = 4096, TEST_MAX = 512, ARENA_BYTES = 1 << 20 };
static struct line lines[LINE_MAX];
static int line_count, tests[TEST_MAX], test_count;
static const struct line *here;

/* What the lines before have said. */
struct setup {
    const char *parts[PART_COUNT];
    struct step steps[STORY_STEPS_MAX + 1]; /* the last is the op that is out of memory */
    int step_count;
    const char *head;
};

static char arena[ARENA_BYTES], changed[STORY_TEXT_BYTES];
static size_t arena_used;
static struct story_texts texts;
static void (*on_valid)(struct story_texts *texts);

#define expect(condition, ...)                                                            \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            ck_abort_msg("tests/checker/checks/%s.checks:%d: %s", file_names[here->file], \
                         here->number, keep_format(__VA_ARGS__));                         \
        }                                                                                 \
    } while (false)

/* --- texts, which live as long as the process --- */

static const char *keep(const char *text, size_t length)
{
    char *kept = arena + arena_used;
    arena_used += length + 1;
    ck_assert_uint_le(arena_used, sizeof arena);
    memcpy(kept, text, length);
    kept[length] = '\0';
    return kept;
}

__attribute__((format(printf, 1, 2))) static const char *keep_format(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    const char *kept = keep(text, (size_t)length);
    free(text);
    return kept;
}

/* Up to the first `end` that is not in brackets, or all.  Sets *rest behind it and the blanks. */
static const char *cut(const char *text, char end, const char **rest)
{
    int depth = 0;
    const char *at = text;
    for (; *at != '\0' && (depth > 0 || *at != end); at++) {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
    }
    *rest = *at == '\0' ? at : at + 1;
    *rest += strspn(*rest, " ");
    return keep(text, (size_t)(at - text));
}

/* Behind the word and a blank; NULL: the text begins otherwise. */
static const char *after(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length] == ' ' ? text + length + 1 : NULL;
}

/* --- the files --- */

static void add_line(struct line line)
{
    ck_assert_int_lt(line_count, LINE_MAX);
    here = &line;
    expect(line.is_inside || after(line.text, "let") || after(line.text, "usual") ||
               after(line.text, "story") || after(line.text, "test"),
           "'%s' is no test, story, word or usual", line.text);
    if (!line.is_inside && after(line.text, "test") != NULL) {
        ck_assert_int_lt(test_count, TEST_MAX);
        tests[test_count++] = line_count;
    }
    lines[line_count++] = line;
}

static void read_file(int file)
{
    char text[1024];
    const char *path = keep_format("%s/tests/checker/checks/%s.checks", HBMSTRESS_SOURCE_DIR,
                                   file_names[file]);
    FILE *in = fopen(path, "r");
    ck_assert_msg(in != NULL, "%s is not there", path);
    for (int number = 1; fgets(text, sizeof text, in) != NULL; number++) {
        const size_t indent = strspn(text, " ");
        text[strcspn(text, "\n")] = '\0';
        if (text[indent] == '\0' || text[indent] == '#') {
            continue;
        }
        if (indent >= 4) {
            struct line *last = &lines[line_count - 1];
            last->text = keep_format("%s %s", last->text, text + indent);
        } else {
            add_line((struct line){file, number, indent > 0,
                                   keep(text + indent, strlen(text + indent))});
        }
    }
    fclose(in);
}

/* The words of a file are its own, but for those of words.checks. */
static const char *find_word(const char *name)
{
    const char *text = NULL;
    for (int i = 0; i < line_count; i++) {
        const char *word = lines[i].is_inside ? NULL : after(lines[i].text, "let");
        const char *own = word == NULL ? NULL : after(word, name);
        text = own != NULL && (lines[i].file == 0 || lines[i].file == here->file) ? own : text;
    }
    return text;
}

/* --- words with their arguments --- */

static const char *expand_list(const char *text, const char *key);

/* The place of <name=, or the first without a default; *value is the argument without name. */
static const char *find_place(const char *text, const char *argument, const char **value)
{
    const size_t length = strcspn(argument, "=");
    const char *place = strstr(text, keep_format("<%.*s=", (int)length, argument));
    *value = argument + length + 1;
    if (place == NULL || argument[length] == '\0') {
        *value = argument;
        place = strchr(text, '<');
        while (place != NULL && place[strcspn(place, "=>")] == '=') {
            place = strchr(place + 1, '<');
        }
    }
    expect(place != NULL, "there is no place for '%s' in %s", argument, text);
    return place;
}

static const char *put_argument(const char *text, const char *argument)
{
    const char *value, *place = find_place(text, argument, &value);
    if (*value == '[') {
        value = keep_format("[%s]", expand_list(keep(value + 1, strlen(value) - 2), NULL));
    }
    return keep_format("%.*s%s%s", (int)(place - text), text, value, strchr(place, '>') + 1);
}

static const char *put_defaults(const char *text)
{
    for (const char *place; (place = strchr(text, '<')) != NULL;) {
        const char *value = place + strcspn(place, "=>"), *end = strchr(place, '>');
        expect(*value == '=', "an argument is missing in %s", text);
        text = keep_format("%.*s%.*s%s", (int)(place - text), text, (int)(end - value) - 1,
                           value + 1, end + 1);
    }
    return text;
}

/* A text as it is, a word with its arguments, or the arguments of the word `key`. */
static const char *expand(const char *item, const char *key)
{
    const char *rest, *text = find_word(cut(item, ' ', &rest));
    if (text == NULL && key != NULL && strchr("{['", *item) == NULL) {
        text = find_word(key);
        rest = item;
    }
    if (text == NULL) {
        return item;
    }
    while (*rest != '\0') {
        text = put_argument(text, cut(rest, ' ', &rest));
    }
    return put_defaults(text);
}

static const char *expand_list(const char *text, const char *key)
{
    const char *all = "";
    while (*text != '\0') {
        const char *item = expand(cut(text, ',', &text), key);
        all = keep_format("%s%s%s", all, *all == '\0' ? "" : ", ", item);
    }
    return all;
}

/* --- what is inside of a test --- */

static void read_parts(struct setup *setup, const char *text)
{
    while (*text != '\0') {
        const char *part = cut(text, ';', &text), *value = NULL;
        for (int i = 0; i < PART_COUNT && value == NULL; i++) {
            value = after(part, part_names[i]);
            if (value != NULL) {
                setup->parts[i] = strcmp(value, "nothing") == 0 ? ""
                                                                : expand_list(value, part_names[i]);
            }
        }
        expect(value != NULL, "'%s' is no part", part);
    }
}

/* NUMBER: OP, and what it was answered: -> [ANSWER] [ADDRESS SIZE] [@TIME] ['MORE'] */
static void read_op(struct setup *setup, const char *text)
{
    const char *op = strchr(text, ' ') + 1, *rest = strstr(op, " -> ");
    struct step step = {.answer = "ok", .now = "0", .more = ""};
    expect(atoi(text) <= setup->step_count && atoi(text) <= STORY_STEPS_MAX, "number of '%s'",
           text);
    setup->step_count = atoi(text);
    step.op = rest == NULL ? op : keep(op, (size_t)(rest - op));
    for (rest = rest == NULL ? "" : rest + 4; *rest != '\0';) {
        if (*rest == '\'') {
            step.more = keep_format("%s, %s", step.more, rest);
            rest = "";
        } else if (isdigit(*rest)) {
            const char *address = cut(rest, ' ', &rest);
            step.more = keep_format(", 'address': %s, 'size': %s", address, cut(rest, ' ', &rest));
        } else if (*rest == '@') {
            step.now = cut(rest + 1, ' ', &rest);
        } else {
            step.answer = cut(rest, ' ', &rest);
        }
    }
    setup->steps[setup->step_count++] = step;
}

static void write_texts(const struct setup *setup)
{
    const char *const *parts = setup->parts;
    if (setup->step_count == 0) {
        document_write(
            (struct document){parts[CLAIM], parts[DEVICE], parts[CONTRACTED], parts[DENIED],
                              parts[REQUESTED], parts[BLOCKS], parts[PROOF],
                              parts[MORE] == NULL ? NULL : keep_format(", %s", parts[MORE])});
        ck_assert_uint_lt(strlen(document_text), sizeof texts.document);
        strcpy(texts.document, document_text);
        return;
    }
    const struct step *last = &setup->steps[setup->step_count - 1];
    expect(strcmp(last->answer, "no_memory") == 0, "the last op is not out of memory");
    const char *host = strstr(last->op, " host=");
    struct story story = {.head = setup->head,
                          .hosts = parts[HOSTS],
                          .last = last->op,
                          .last_more = last->more,
                          .contract = parts[CONTRACTED],
                          .refused = parts[DENIED],
                          .request = parts[REQUESTED],
                          .blocks = parts[BLOCKS],
                          .proof = parts[PROOF],
                          .list = parts[LIST],
                          .claim = parts[CLAIM],
                          .host = host == NULL ? 0 : atoi(host + strlen(" host="))};
    memcpy(story.steps, setup->steps, (size_t)(setup->step_count - 1) * sizeof *story.steps);
    story_write(&story, &texts);
    if (parts[LOG] != NULL && strcmp(parts[LOG], "head") == 0) {
        *(strchr(texts.log, '\n') + 1) = '\0';
    }
}

/* \n, \t and \xHH are what they are in C; ' is " but in a list. */
static char *plain(const char *text, bool is_list)
{
    char *all = (char *)keep(text, strlen(text)), *to = all;
    for (; *text != '\0'; text++, to++) {
        *to = *text == '\'' && !is_list ? '"' : *text;
        if (*text == '\\' && text[1] == 'x') {
            *to = (char)strtol(keep(text + 2, 2), NULL, 16);
            text += 3;
        } else if (*text == '\\' && text[1] != '\0') {
            *to = *++text == 'n' ? '\n' : '\t';
        }
    }
    *to = '\0';
    return all;
}

/* OLD => NEW, in the first place where OLD is. */
static void edit(char *text, const char *words)
{
    const char *arrow = strstr(words, " =>");
    expect(arrow != NULL, "no => in '%s'", words);
    const char *old = plain(keep(words, (size_t)(arrow - words)), text == texts.list);
    const char *new = plain(arrow[3] == ' ' ? arrow + 4 : "", text == texts.list);
    const char *at = strstr(text, old);
    expect(at != NULL, "%s is not in\n%s", old, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    memcpy(text, changed, sizeof changed);
}

static const char *answer_of(const struct setup *setup)
{
    static const char *const names[] = {"valid", "refuted", "unreadable"};
    static char reason[CERTIFICATE_REASON_BYTES];
    const bool has_log = setup->parts[LOG] == NULL || strcmp(setup->parts[LOG], "none") != 0;
    const enum certificate_result result = setup->step_count > 0
                                               ? story_check(texts.list, has_log ? texts.log : NULL,
                                                             texts.document, reason)
                                               : certificate_check(texts.document,
                                                                   strlen(texts.document), reason);
    return keep_format("%s: %s", names[result], reason);
}

static void expect_answer(const struct setup *setup, const char *answer)
{
    const char *got = answer_of(setup), *dots = strstr(answer, " ...");
    const size_t length = dots == NULL ? strlen(got) + 1 : (size_t)(dots - answer);
    expect(strncmp(got, answer, length) == 0, "expected %s\ngot %s\nfor %s\n%s\n%s", answer, got,
           texts.document, texts.list, texts.log);
}

/* What is free are exactly that many bytes, which stand for * in the request. */
static void expect_bytes(struct setup setup, int bytes)
{
    const char *request = setup.parts[REQUESTED], *star = strchr(request, '*');
    for (int more = 0; more < 2; more++) {
        setup.parts[REQUESTED] = keep_format("%.*s%d%s", (int)(star - request), request,
                                             bytes + more, star + 1);
        write_texts(&setup);
        expect_answer(&setup, more == 0 ? "refuted: proof: the request fits ..."
                                        : "valid: justified, spans");
    }
}

static void run_row(struct setup setup, const char *row)
{
    static const char *const kinds[] = {"document:", "log:", "list:", "relist:"};
    char *const edited[] = {texts.document, texts.log, texts.list, texts.list};
    const char *answer = strncmp(row, "-> ", 3) == 0 ? row : strstr(row, " -> ") + 1,
               *change = NULL;
    expect(answer != (const char *)1, "no -> in '%s'", row);
    const char *left = keep(row, (size_t)(answer - row) - (answer > row));
    answer += 3;
    answer = find_word(answer) == NULL ? answer : find_word(answer);
    for (int i = 0; i < 4; i++) {
        change = after(left, kinds[i]);
        if (change != NULL) {
            write_texts(&setup);
            edit(edited[i], change);
            if (i == 3) {
                story_name_list(&texts);
            }
            expect_answer(&setup, answer);
            return;
        }
    }
    read_parts(&setup, left);
    if (after(answer, "takes") != NULL) {
        expect_bytes(setup, atoi(after(answer, "takes")));
        return;
    }
    write_texts(&setup);
    expect_answer(&setup, answer);
    if (setup.step_count > 0 && setup.parts[LOG] == NULL && after(answer, "valid:") != NULL) {
        setup.parts[LOG] = "none";
        ck_assert_ptr_nonnull(strstr(answer_of(&setup), "; the op is that of the list"));
        if (on_valid != NULL) {
            on_valid(&texts);
        }
    }
}

/* Gives how many rows there were.  A story has none. */
static int run_block(struct setup *setup, const struct line *first, bool has_rows)
{
    int row_count = 0;
    for (const struct line *line = first + 1; line < lines + line_count && line->is_inside;
         line++) {
        const char *rest;
        here = line;
        if ((rest = after(line->text, "usual")) != NULL) {
            read_parts(setup, rest);
        } else if ((rest = after(line->text, "head")) != NULL) {
            setup->head = "";
            while (*rest != '\0') {
                setup->head = keep_format("%s%s\n", setup->head, cut(rest, ';', &rest));
            }
        } else if ((rest = after(line->text, "as")) != NULL) {
            const struct line *story = lines;
            while (story->is_inside || strcmp(story->text, keep_format("story %s", rest)) != 0) {
                story++;
                expect(story < lines + line_count, "no story %s", rest);
            }
            (void)run_block(setup, story, false);
            here = line;
        } else if (isdigit(line->text[0])) {
            read_op(setup, line->text);
        } else {
            expect(has_rows, "a story has no rows");
            run_row(*setup, line->text);
            row_count++;
        }
    }
    return row_count;
}

int checks_count(void)
{
    if (line_count == 0) {
        for (int file = 0; file < FILE_COUNT; file++) {
            read_file(file);
        }
    }
    return test_count;
}

void checks_run(int test, void (*on_valid_story)(struct story_texts *texts))
{
    on_valid = on_valid_story;
    struct setup setup = {.step_count = 0};
    here = &lines[tests[test]];
    for (int i = 0; i < line_count; i++) {
        const char *usual = lines[i].is_inside ? NULL : after(lines[i].text, "usual");
        if (usual != NULL && lines[i].file == here->file) {
            read_parts(&setup, usual);
        }
    }
    const int row_count = run_block(&setup, here, true);
    expect(row_count > 0, "the test has no rows");
}
