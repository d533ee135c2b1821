#include "harness/base/json.h"

#include "harness/base/check.h"

#include <inttypes.h>

/* A blank after each comma and colon is for documents that people read, too. */
static void append_sign(struct writing *text, const char *sign)
{
    writing_append(text, sign);
    if (text->is_spaced) {
        writing_append_bytes(text, " ", 1);
    }
}

/* True if a member stands before, which needs a comma: a bracket or a new line begins a list. */
static bool has_member_before(const struct writing *text)
{
    CHECK(text->length > 0);
    const char last = text->bytes[text->length - 1];
    return last != '{' && last != '[' && last != '\n' && last != ' ';
}

static void begin_member(struct writing *text, const char *key)
{
    if (has_member_before(text)) {
        append_sign(text, ",");
    }
    if (key != NULL) {
        writing_append_json(text, key);
        append_sign(text, ":");
    }
}

void json_open(struct writing *text, const char *type)
{
    writing_append_bytes(text, "{", 1);
    json_add_string(text, "type", type);
}

void json_close(struct writing *text)
{
    writing_append_bytes(text, "}\n", 2);
}

void json_add_string(struct writing *text, const char *key, const char *value)
{
    begin_member(text, key);
    writing_append_json(text, value);
}

void json_add_number(struct writing *text, const char *key, uint64_t value)
{
    begin_member(text, key);
    writing_append_number(text, value);
}

void json_add_digits(struct writing *text, const char *key, uint64_t value)
{
    begin_member(text, key);
    writing_append_bytes(text, "\"", 1);
    writing_append_number(text, value);
    writing_append_bytes(text, "\"", 1);
}

void json_add_no_number(struct writing *text, const char *key)
{
    begin_member(text, key);
    writing_append_bytes(text, "-1", 2);
}

void json_add_null(struct writing *text, const char *key)
{
    begin_member(text, key);
    writing_append(text, "null");
}

void json_add_boolean(struct writing *text, const char *key, bool value)
{
    begin_member(text, key);
    writing_append(text, value ? "true" : "false");
}

void json_add_fraction(struct writing *text, const char *key, uint64_t part, uint64_t whole)
{
    const uint64_t million = 1000000;
    const uint64_t share = whole == 0                    ? 0
                           : part > UINT64_MAX / million ? part / (whole / million)
                                                         : part * million / whole;
    begin_member(text, key);
    writing_append_format(text, "%" PRIu64 ".%06" PRIu64, share / million, share % million);
}

void json_add_seconds(struct writing *text, const char *key, uint64_t duration_ns)
{
    begin_member(text, key);
    writing_append_seconds(text, duration_ns);
}

void json_add_microseconds(struct writing *text, const char *key, uint64_t time_ns)
{
    begin_member(text, key);
    writing_append_format(text, "%" PRIu64 ".%03" PRIu64, time_ns / 1000, time_ns % 1000);
}

void json_nest(struct writing *text, const char *key, char bracket)
{
    CHECK(bracket == '{' || bracket == '[');
    begin_member(text, key);
    writing_append_bytes(text, &bracket, 1);
}

void json_unnest(struct writing *text, char bracket)
{
    CHECK(bracket == '}' || bracket == ']');
    writing_append_bytes(text, &bracket, 1);
}

void json_break(struct writing *text, unsigned indent)
{
    writing_append(text, has_member_before(text) ? ",\n" : "\n");
    for (unsigned i = 0; i < indent; i++) {
        writing_append_bytes(text, " ", 1);
    }
}
