#include "formats/export/private/document.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void document_init(struct export_document *document, bool is_pickle)
{
    *document = (struct export_document){.is_pickle = is_pickle};
    writing_init(&document->text);
}

void document_deinit(struct export_document *document)
{
    writing_deinit(&document->text);
}

void document_print(struct export_document *document, FILE *stream)
{
    (void)writing_print(&document->text, stream); /* a failure stays in the stream */
    writing_clear(&document->text);
}

/* --- pickle --- */

/* Opcodes of protocol 4 by their names in Python's pickletools.  Protocol 5 is refused by readers
 * outside Python. */
enum {
    PICKLE_PROTOCOL = 4,
    PICKLE_PROTO = 0x80,
    PICKLE_LONG1 = 0x8A,
    PICKLE_NEWFALSE = 0x89,
    PICKLE_SHORT_BINUNICODE = 0x8C
};
/* Python's own writer gives as many elements to an APPENDS: readers hold them on their stack. */
enum { PICKLE_BATCH_COUNT = 1000 };

static void append_byte(struct export_document *document, unsigned byte)
{
    const unsigned char bytes[] = {(unsigned char)byte};
    writing_append_bytes(&document->text, bytes, 1);
}

/* An opcode, and its argument of so many bytes, the lowest first. */
static void append_opcode(struct export_document *document, unsigned opcode, uint64_t argument,
                          unsigned byte_count)
{
    append_byte(document, opcode);
    for (unsigned i = 0; i < byte_count; i++) {
        append_byte(document, (unsigned)(argument >> (8 * i) & 0xFF));
    }
}

static void append_pickle_string(struct export_document *document, const char *string)
{
    const size_t length = strlen(string);
    CHECK(length <= UINT32_MAX);
    append_opcode(document, length <= 0xFF ? PICKLE_SHORT_BINUNICODE : 'X', length,
                  length <= 0xFF ? 1 : 4);
    writing_append_bytes(&document->text, string, length);
}

/* Before each member.  A list takes its elements in batches; a dictionary has few members. */
static void begin_pickle_member(struct export_document *document, const char *key)
{
    if (key != NULL) {
        append_pickle_string(document, key);
        return;
    }
    if (document->depth > 0 && document->counts[document->depth - 1]++ == PICKLE_BATCH_COUNT) {
        writing_append(&document->text, "e(");
        document->counts[document->depth - 1] = 1;
    }
}

/* The bytes of a number with its sign, which is never set. */
static unsigned count_bytes(uint64_t value)
{
    unsigned count = 1;
    while (value >> (8 * count - 1) != 0) {
        count++;
    }
    return count;
}

static void append_pickle_number(struct export_document *document, uint64_t value)
{
    CHECK(value <= INT64_MAX);
    if (value <= INT32_MAX) {
        append_opcode(document,
                      value <= 0xFF     ? 'K'
                      : value <= 0xFFFF ? 'M'
                                        : 'J',
                      value,
                      value <= 0xFF     ? 1
                      : value <= 0xFFFF ? 2
                                        : 4);
        return;
    }
    append_byte(document, PICKLE_LONG1);
    append_opcode(document, count_bytes(value), value, count_bytes(value));
}

/* --- both --- */

void document_begin(struct export_document *document)
{
    if (document->is_pickle) {
        append_opcode(document, PICKLE_PROTO, PICKLE_PROTOCOL, 1);
    }
}

void document_end(struct export_document *document)
{
    writing_append(&document->text, document->is_pickle ? "." : "\n");
}

/* The first bracket of JSON has no member before it. */
static void open_bracket(struct export_document *document, const char *key, char bracket)
{
    CHECK(document->depth < DOCUMENT_DEPTH_MAX);
    if (document->is_pickle) {
        begin_pickle_member(document, key);
        writing_append(&document->text, bracket == '{' ? "}(" : "](");
    } else if (document->depth == 0) {
        writing_append_bytes(&document->text, &bracket, 1);
    } else {
        json_nest(&document->text, key, bracket);
    }
    document->counts[document->depth++] = 0;
}

static void close_bracket(struct export_document *document, char bracket)
{
    CHECK(document->depth > 0);
    document->depth--;
    if (document->is_pickle) {
        writing_append(&document->text, bracket == '}' ? "u" : "e");
    } else {
        json_unnest(&document->text, bracket);
    }
}

static void add_string(struct export_document *document, const char *key, const char *value)
{
    if (document->is_pickle) {
        begin_pickle_member(document, key);
        append_pickle_string(document, value);
    } else {
        json_add_string(&document->text, key, value);
    }
}

static void add_number(struct export_document *document, const char *key, uint64_t value)
{
    if (document->is_pickle) {
        begin_pickle_member(document, key);
        append_pickle_number(document, value);
    } else {
        json_add_number(&document->text, key, value);
    }
}

static void add_false(struct export_document *document, const char *key)
{
    if (document->is_pickle) {
        begin_pickle_member(document, key);
        append_byte(document, PICKLE_NEWFALSE);
    } else {
        json_add_boolean(&document->text, key, false);
    }
}

/* Lays the text out for people; a pickle has no layout. */
static void lay_out(struct export_document *document, char item)
{
    if (document->is_pickle) {
        return;
    }
    if (item == '~') {
        json_break(&document->text, 0);
    } else {
        writing_append(&document->text, item == '.' ? "\n" : ",");
    }
}

/* An item "key:KIND", "key=word" or "key#number"; kind points at the mark. */
static void write_member(struct export_document *document, const char *key, char mark,
                         const char *value, va_list *arguments)
{
    if (mark == '=') {
        add_string(document, key, value);
    } else if (mark == '#') {
        add_number(document, key, strtoull(value, NULL, 10));
    } else if (*value == 's') {
        add_string(document, key, va_arg(*arguments, const char *));
    } else if (*value == 'n') {
        add_number(document, key, va_arg(*arguments, uint64_t));
    } else if (*value == 'u') {
        json_add_microseconds(&document->text, key, va_arg(*arguments, uint64_t));
    } else if (*value == 'f') {
        add_false(document, key);
    } else {
        open_bracket(document, key, *value);
    }
}

void document_write(struct export_document *document, const char *pattern, ...)
{
    va_list arguments;
    va_start(arguments, pattern);
    while (*pattern != '\0') {
        char item[64];
        const size_t length = strcspn(pattern, " ");
        CHECK(length > 0 && length < sizeof item);
        memcpy(item, pattern, length);
        item[length] = '\0';
        char *mark = strpbrk(item, ":=#");
        if (mark != NULL) {
            const char kind = *mark;
            *mark = '\0';
            write_member(document, item[0] == '\0' ? NULL : item, kind, mark + 1, &arguments);
        } else if (item[0] == '{' || item[0] == '[') {
            open_bracket(document, NULL, item[0]);
        } else if (item[0] == '}' || item[0] == ']') {
            close_bracket(document, item[0]);
        } else {
            lay_out(document, item[0]);
        }
        pattern += length;
        pattern += *pattern == ' ' ? 1 : 0;
    }
    va_end(arguments);
}
