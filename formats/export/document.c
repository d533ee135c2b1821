#include "formats/export/private/document.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

#include <string.h>

void document_init(struct document *document, const struct document_encoding *encoding)
{
    *document = (struct document){.encoding = encoding};
    writing_init(&document->text);
}

void document_deinit(struct document *document)
{
    writing_deinit(&document->text);
}

void document_print(struct document *document, FILE *stream)
{
    (void)writing_print(&document->text, stream); /* a failure stays in the stream */
    writing_clear(&document->text);
}

/* --- JSON --- */

static void begin_json(struct document *document)
{
    (void)document;
}

/* The first bracket has no member before it. */
static void nest_json(struct document *document, const char *key, char bracket)
{
    if (document->depth++ == 0) {
        writing_append_bytes(&document->text, &bracket, 1);
    } else {
        json_nest(&document->text, key, bracket);
    }
}

static void unnest_json(struct document *document, char bracket)
{
    CHECK(document->depth > 0);
    document->depth--;
    json_unnest(&document->text, bracket);
}

static void add_json_string(struct document *document, const char *key, const char *value)
{
    json_add_string(&document->text, key, value);
}

static void add_json_number(struct document *document, const char *key, uint64_t value)
{
    json_add_number(&document->text, key, value);
}

static void add_json_false(struct document *document, const char *key)
{
    json_add_boolean(&document->text, key, false);
}

static void break_json_line(struct document *document)
{
    json_break(&document->text, 0);
}

static void end_json_lines(struct document *document)
{
    writing_append(&document->text, "\n");
}

static void separate_json(struct document *document)
{
    writing_append(&document->text, ",");
}

const struct document_encoding document_json = {
    .begin = begin_json,
    .nest = nest_json,
    .unnest = unnest_json,
    .add_string = add_json_string,
    .add_number = add_json_number,
    .add_false = add_json_false,
    .end = end_json_lines,
    .break_line = break_json_line,
    .end_lines = end_json_lines,
    .separate = separate_json,
};

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
/* As many elements as Python's own writer gives to an APPENDS: readers hold them on their stack. */
enum { PICKLE_BATCH_COUNT = 1000 };

static void append_byte(struct document *document, unsigned byte)
{
    const unsigned char bytes[] = {(unsigned char)byte};
    writing_append_bytes(&document->text, bytes, 1);
}

static void append_little_endian(struct document *document, uint64_t number, unsigned byte_count)
{
    for (unsigned i = 0; i < byte_count; i++) {
        append_byte(document, (unsigned)(number >> (8 * i) & 0xFF));
    }
}

static void append_pickle_string(struct document *document, const char *string)
{
    const size_t length = strlen(string);
    CHECK(length <= UINT32_MAX);
    append_byte(document, length <= 0xFF ? PICKLE_SHORT_BINUNICODE : 'X');
    append_little_endian(document, length, length <= 0xFF ? 1 : 4);
    writing_append_bytes(&document->text, string, length);
}

/* Before each member.  A list takes its elements in batches; a dictionary has few members. */
static void begin_pickle_member(struct document *document, const char *key)
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

static void begin_pickle(struct document *document)
{
    append_byte(document, PICKLE_PROTO);
    append_byte(document, PICKLE_PROTOCOL);
}

static void nest_pickle(struct document *document, const char *key, char bracket)
{
    CHECK(document->depth < DOCUMENT_DEPTH_MAX);
    begin_pickle_member(document, key);
    document->counts[document->depth++] = 0;
    writing_append(&document->text, bracket == '{' ? "}(" : "](");
}

static void unnest_pickle(struct document *document, char bracket)
{
    CHECK(document->depth > 0);
    document->depth--;
    writing_append(&document->text, bracket == '}' ? "u" : "e");
}

static void add_pickle_string(struct document *document, const char *key, const char *value)
{
    begin_pickle_member(document, key);
    append_pickle_string(document, value);
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

static void add_pickle_number(struct document *document, const char *key, uint64_t value)
{
    CHECK(value <= INT64_MAX);
    begin_pickle_member(document, key);
    if (value <= 0xFF) {
        append_byte(document, 'K');
        append_little_endian(document, value, 1);
    } else if (value <= 0xFFFF) {
        append_byte(document, 'M');
        append_little_endian(document, value, 2);
    } else if (value <= INT32_MAX) {
        append_byte(document, 'J');
        append_little_endian(document, value, 4);
    } else {
        append_byte(document, PICKLE_LONG1);
        append_byte(document, count_bytes(value));
        append_little_endian(document, value, count_bytes(value));
    }
}

static void add_pickle_false(struct document *document, const char *key)
{
    begin_pickle_member(document, key);
    append_byte(document, PICKLE_NEWFALSE);
}

static void end_pickle(struct document *document)
{
    writing_append(&document->text, ".");
}

static void lay_out_nothing(struct document *document)
{
    (void)document;
}

const struct document_encoding document_pickle = {
    .begin = begin_pickle,
    .nest = nest_pickle,
    .unnest = unnest_pickle,
    .add_string = add_pickle_string,
    .add_number = add_pickle_number,
    .add_false = add_pickle_false,
    .end = end_pickle,
    .break_line = lay_out_nothing,
    .end_lines = lay_out_nothing,
    .separate = lay_out_nothing,
};
