#include "present/facts.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "present/screen.h"
#include "present/table.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum fact_kind {
    FACT_OPEN,
    FACT_CLOSE,
    FACT_NEST,
    FACT_UNNEST,
    FACT_MEMBER,
    FACT_TABLE,
    FACT_TABLE_END,
    FACT_HEADING,
    FACT_SAY,
    FACT_ANSWER,
    FACT_LINE,
    FACT_GIVEN
};

struct fact {
    enum fact_kind kind;
    enum fact_unit unit;                /* of a member */
    bool is_cell;                       /* a member that JSON does not have */
    char bracket;                       /* of a nest */
    const char *name;                   /* of a member or nest; the lead of a paragraph */
    uint64_t number, whole;             /* of a member; number: the indent of a paragraph; whole:
                                           that of a table */
    const char *type;                   /* of a record */
    size_t text;                        /* of a text or words: where it begins in facts->texts */
    const struct facts_column *columns; /* of a table: number of them */
};

static const char *fact_string(const struct facts *facts, const struct fact *fact)
{
    return facts->texts.bytes + fact->text;
}

/* --- filling --- */

void facts_clear(struct facts *facts)
{
    writing_clear(&facts->texts);
    facts->count = 0;
}

void facts_deinit(struct facts *facts)
{
    writing_deinit(&facts->texts);
    free(facts->facts);
    *facts = (struct facts){0};
}

static struct fact *add(struct facts *facts, struct fact fact)
{
    facts->facts = array_grown(facts->facts, facts->count, &facts->capacity, sizeof *facts->facts);
    facts->facts[facts->count] = fact;
    return &facts->facts[facts->count++];
}

void facts_open(struct facts *facts, const char *type)
{
    (void)add(facts, (struct fact){.kind = FACT_OPEN, .type = type});
}

void facts_close(struct facts *facts)
{
    (void)add(facts, (struct fact){.kind = FACT_CLOSE});
}

void facts_nest(struct facts *facts, const char *name, char bracket)
{
    (void)add(facts, (struct fact){.kind = FACT_NEST, .name = name, .bracket = bracket});
}

void facts_unnest(struct facts *facts, char bracket)
{
    (void)add(facts, (struct fact){.kind = FACT_UNNEST, .bracket = bracket});
}

static struct fact *add_member(struct facts *facts, const char *name, enum fact_unit unit,
                               uint64_t number)
{
    return add(facts,
               (struct fact){.kind = FACT_MEMBER, .unit = unit, .name = name, .number = number});
}

void facts_text(struct facts *facts, const char *name, const char *text)
{
    add_member(facts, name, FACT_TEXT, 0)->text = facts->texts.length;
    writing_append_bytes(&facts->texts, text, strlen(text) + 1);
}

void facts_text_if(struct facts *facts, const char *name, const char *text)
{
    if (text[0] != '\0') {
        facts_text(facts, name, text);
    }
}

void facts_count(struct facts *facts, const char *name, uint64_t count)
{
    (void)add_member(facts, name, FACT_COUNT, count);
}

void facts_size(struct facts *facts, const char *name, uint64_t size_bytes)
{
    (void)add_member(facts, name, FACT_SIZE, size_bytes);
}

void facts_share(struct facts *facts, const char *name, uint64_t part, uint64_t whole)
{
    add_member(facts, name, FACT_SHARE, part)->whole = whole;
}

void facts_digits(struct facts *facts, const char *name, uint64_t number)
{
    (void)add_member(facts, name, FACT_DIGITS, number);
}

void facts_seconds(struct facts *facts, const char *name, uint64_t duration_ns)
{
    (void)add_member(facts, name, FACT_SECONDS, duration_ns);
}

void facts_boolean(struct facts *facts, const char *name, bool is_true)
{
    (void)add_member(facts, name, FACT_BOOLEAN, is_true);
}

void facts_null(struct facts *facts, const char *name)
{
    (void)add_member(facts, name, FACT_NULL, 0);
}

void facts_count_or_null(struct facts *facts, const char *name, bool is_known, uint64_t count)
{
    (void)add_member(facts, name, is_known ? FACT_COUNT : FACT_NULL, count);
}

void facts_target(struct facts *facts, const struct setup *setup)
{
    facts_text(facts, "target", setup->target);
    facts_nest(facts, "options", '{');
    for (uint32_t i = 0; i < setup->option_count; i++) {
        facts_text(facts, setup->options[i].key, setup->options[i].value);
    }
    facts_unnest(facts, '}');
}

void facts_cell(struct facts *facts, const char *name, const char *text)
{
    facts_text(facts, name, text);
    facts->facts[facts->count - 1].is_cell = true;
}

void facts_cell_format(struct facts *facts, const char *name, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    CHECK(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    facts_cell(facts, name, text);
    free(text);
}

void facts_cell_size(struct facts *facts, const char *name, uint64_t size_bytes)
{
    add_member(facts, name, FACT_SIZE, size_bytes)->is_cell = true;
}

void facts_cell_count(struct facts *facts, const char *name, uint64_t count)
{
    add_member(facts, name, FACT_COUNT, count)->is_cell = true;
}

void facts_cell_share(struct facts *facts, const char *name, uint64_t part, uint64_t whole)
{
    facts_share(facts, name, part, whole);
    facts->facts[facts->count - 1].is_cell = true;
}

void facts_table(struct facts *facts, const struct facts_column *columns, size_t count)
{
    facts_table_in(facts, 0, columns, count);
}

void facts_table_in(struct facts *facts, size_t indent, const struct facts_column *columns,
                    size_t count)
{
    CHECK(count >= 1 && count <= TABLE_COLUMN_COUNT_MAX);
    (void)add(facts, (struct fact){
                         .kind = FACT_TABLE, .columns = columns, .number = count, .whole = indent});
}

void facts_table_end(struct facts *facts)
{
    (void)add(facts, (struct fact){.kind = FACT_TABLE_END});
}

/* Adds words as of printf, made visible. */
static void add_words(struct facts *facts, struct fact fact, const char *format, va_list arguments)
{
    char *words = NULL;
    CHECK(vasprintf(&words, format, arguments) >= 0);
    fact.text = facts->texts.length;
    writing_append_visible(&facts->texts, words);
    writing_append_bytes(&facts->texts, "", 1);
    free(words);
    (void)add(facts, fact);
}

void facts_heading(struct facts *facts, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_words(facts, (struct fact){.kind = FACT_HEADING}, format, arguments);
    va_end(arguments);
}

void facts_say(struct facts *facts, const char *lead, size_t indent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_words(facts, (struct fact){.kind = FACT_SAY, .name = lead, .number = indent}, format,
              arguments);
    va_end(arguments);
}

void facts_answer(struct facts *facts, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_words(facts, (struct fact){.kind = FACT_ANSWER}, format, arguments);
    va_end(arguments);
}

void facts_line(struct facts *facts, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_words(facts, (struct fact){.kind = FACT_LINE}, format, arguments);
    va_end(arguments);
}

static void add_lines(struct facts *facts, enum fact_kind kind, const struct writing *lines)
{
    for (const char *line = writing_string(lines); *line != '\0';) {
        const size_t length = strcspn(line, "\n"), start = facts->texts.length;
        char *words = strndup(line, length);
        CHECK(words != NULL);
        writing_append_visible(&facts->texts, words);
        writing_append_bytes(&facts->texts, "", 1);
        (void)add(facts, (struct fact){.kind = kind, .text = start});
        free(words);
        line += length + (line[length] == '\n');
    }
}

void facts_answers(struct facts *facts, const struct writing *lines)
{
    add_lines(facts, FACT_ANSWER, lines);
}

void facts_lines(struct facts *facts, const struct writing *lines)
{
    add_lines(facts, FACT_LINE, lines);
}

/* It begins with a bracket that is not printed: json.h counts on something before a member. */
struct writing *facts_given(struct facts *facts)
{
    (void)add(facts, (struct fact){.kind = FACT_GIVEN, .text = facts->texts.length});
    writing_append(&facts->texts, "{");
    return &facts->texts;
}

void facts_given_end(struct facts *facts)
{
    writing_append_bytes(&facts->texts, "", 1);
}

/* --- what both forms need --- */

/* The member of that name in the record that begins at `open`; NULL: it has none. */
static const struct fact *find_member(const struct facts *facts, size_t open, const char *name)
{
    size_t depth = 0;
    for (size_t i = open + 1; i < facts->count && facts->facts[i].kind != FACT_CLOSE; i++) {
        const struct fact *fact = &facts->facts[i];
        depth += fact->kind == FACT_NEST;
        depth -= fact->kind == FACT_UNNEST;
        if (depth == 0 && fact->kind == FACT_MEMBER && strcmp(fact->name, name) == 0) {
            return fact;
        }
    }
    return NULL;
}

/* Appends the value as people read it on a terminal. */
static void append_value(const struct facts *facts, const struct fact *fact, struct writing *text)
{
    switch (fact->unit) {
    case FACT_TEXT:
        writing_append(text, fact_string(facts, fact));
        break;
    case FACT_SIZE:
        writing_append_size(text, fact->number);
        break;
    case FACT_SHARE:
        writing_append_share(text, fact->number, fact->whole);
        break;
    case FACT_SECONDS:
        writing_append_seconds(text, fact->number);
        break;
    case FACT_BOOLEAN:
        writing_append(text, fact->number != 0 ? "yes" : "no");
        break;
    case FACT_NULL:
        break;
    default:
        writing_append_number(text, fact->number);
    }
}

/* --- JSON --- */

static void add_json_member(const struct facts *facts, const struct fact *fact,
                            struct writing *text)
{
    switch (fact->unit) {
    case FACT_TEXT:
        json_add_string(text, fact->name, fact_string(facts, fact));
        break;
    case FACT_SHARE:
        json_add_fraction(text, fact->name, fact->number, fact->whole);
        break;
    case FACT_DIGITS:
        json_add_digits(text, fact->name, fact->number);
        break;
    case FACT_SECONDS:
        json_add_seconds(text, fact->name, fact->number);
        break;
    case FACT_BOOLEAN:
        json_add_boolean(text, fact->name, fact->number != 0);
        break;
    case FACT_NULL:
        json_add_null(text, fact->name);
        break;
    default:
        json_add_number(text, fact->name, fact->number);
    }
}

/* Behind a bracket no comma is needed, nor between lines. */
static void print_given(const char *given, bool is_in_record, struct writing *text)
{
    const char last = text->length == 0 ? '\0' : text->bytes[text->length - 1];
    if (is_in_record && given[0] != '\0' && last != '{' && last != '[') {
        writing_append(text, ",");
    }
    writing_append(text, given);
}

static void print_json(const struct facts *facts, struct writing *text)
{
    const struct fact *record = NULL; /* that is open */
    for (size_t i = 0; i < facts->count; i++) {
        const struct fact *fact = &facts->facts[i];
        record = fact->kind == FACT_OPEN ? fact : record;
        const bool is_told = record == NULL || record->type != NULL;
        record = fact->kind == FACT_CLOSE ? NULL : record;
        if (!is_told) {
            continue;
        }
        if (fact->kind == FACT_OPEN) {
            json_open(text, fact->type);
        } else if (fact->kind == FACT_CLOSE) {
            json_close(text);
        } else if (fact->kind == FACT_NEST) {
            json_nest(text, fact->name, fact->bracket);
        } else if (fact->kind == FACT_UNNEST) {
            json_unnest(text, fact->bracket);
        } else if (fact->kind == FACT_MEMBER && !fact->is_cell) {
            add_json_member(facts, fact, text);
        } else if (fact->kind == FACT_GIVEN) {
            print_given(fact_string(facts, fact) + 1, record != NULL, text);
        }
    }
}

/* --- words --- */

static void put_row(const struct facts *facts, size_t open, const struct fact *view,
                    struct table *table)
{
    struct writing cell = {0};
    for (size_t column = 0; column < view->number; column++) {
        const struct fact *member = find_member(facts, open, view->columns[column].name);
        writing_clear(&cell);
        if (member != NULL) {
            append_value(facts, member, &cell);
        }
        table_put(table, writing_string(&cell));
    }
    writing_deinit(&cell);
}

/* Prints the table that begins there, and returns where it ends. */
static size_t print_table(const struct facts *facts, size_t at, struct writing *text)
{
    const struct fact *view = &facts->facts[at];
    size_t left_count = 0;
    struct table table;
    while (left_count < view->number && view->columns[left_count].title[0] != '#') {
        left_count++;
    }
    table_init(&table, view->number, left_count);
    for (size_t column = 0; column < view->number; column++) {
        const char *title = view->columns[column].title;
        table_put(&table, title + (title[0] == '#'));
    }
    for (at++; facts->facts[at].kind != FACT_TABLE_END; at++) {
        if (facts->facts[at].kind == FACT_OPEN) {
            put_row(facts, at, view, &table);
        }
    }
    if (table.count > view->number) {
        table_print(&table, view->whole, text);
    }
    table_deinit(&table);
    return at;
}

static void print_words(const struct facts *facts, struct writing *text)
{
    for (size_t i = 0; i < facts->count; i++) {
        const struct fact *fact = &facts->facts[i];
        if (fact->kind == FACT_TABLE) {
            i = print_table(facts, i, text);
        } else if (fact->kind == FACT_SAY) {
            writing_append(text, fact->name);
            wrap_append(text, fact_string(facts, fact), fact->number, screen_columns());
            writing_append(text, "\n");
        } else if (fact->kind == FACT_LINE) {
            writing_append_format(text, "%s\n", fact_string(facts, fact));
        } else if (fact->kind == FACT_ANSWER || fact->kind == FACT_HEADING) {
            const size_t begin = text->length;
            writing_append_format(text, "%s%s\n", fact->kind == FACT_HEADING ? "\n" : "",
                                  fact_string(facts, fact));
            wrap_answer(text, begin);
        }
    }
}

void facts_print(const struct facts *facts, enum facts_form form, struct writing *text)
{
    if (form == FACTS_JSON) {
        print_json(facts, text);
    } else {
        print_words(facts, text);
    }
}
