/* The checker makes facts again from a list and its log: what checks/history.checks leaves out. */
#include "tests/checker/checks.h"
#include "tests/helpers/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct story_texts texts;
static char reason[CERTIFICATE_REASON_BYTES], changed[STORY_TEXT_BYTES];

/* Replaces text[at, at + length) of the document by `by`. */
static void replace(size_t at, size_t length, const char *by)
{
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)at, texts.document, by,
             texts.document + at + length);
    memcpy(texts.document, changed, sizeof changed);
}

/* What else may stand in the place of a number, a flag or a kind; 0: it is none of these. */
static size_t find_other(const char *at, char other[32])
{
    static const char *const words[][2] = {{"true", "false"},
                                           {"false", "true"},
                                           {"\"buffer\"", "\"output\""},
                                           {"\"output\"", "\"buffer\""},
                                           {"\"live\"", "\"dying\""},
                                           {"\"dying\"", "\"live\""},
                                           {"\"kept\"", "\"dying\""}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(at, words[i][0], strlen(words[i][0])) == 0) {
            snprintf(other, 32, "%s", words[i][1]);
            return strlen(words[i][0]);
        }
    }
    const size_t digits = strspn(at, "-0123456789");
    const long long number = digits == 0 ? 0 : strtoll(at, NULL, 10);
    snprintf(other, 32, "%lld", number == -1 ? 0 : number + 512);
    return digits;
}

static void expect_each_other_fact_refused(struct story_texts *good)
{
    char other[32];
    size_t tried = 0;
    texts = *good;
    const char *const facts = strstr(texts.document, "\"device\"");
    size_t at = (size_t)(facts - texts.document);
    for (; strncmp(texts.document + at, "\"proof\"", 7) != 0; at++) {
        const bool is_value = strncmp(texts.document + at - 2, ": ", 2) == 0;
        const size_t length = is_value ? find_other(texts.document + at, other) : 0;
        if (length > 0) {
            replace(at, length, other);
            ck_assert_msg(story_check(texts.list, texts.log, texts.document, reason) !=
                              CERTIFICATE_VALID,
                          "%s at %zu of\n%s", other, at, texts.document);
            texts = *good;
            tried++;
        }
    }
    ck_assert_uint_ge(tried, 10);
}

TEST(each_other_fact_is_refused, .count = checks_count)
{
    checks_run(_i, expect_each_other_fact_refused);
}

/* --- what is in a list, by the tables of the page --- */

static bool can_read_list(const char *op)
{
    char text[512];
    const int length = snprintf(
        text, sizeof text,
        "hbmstress-ops 1\ntarget t\ncapacity 1M\nhosts 64\n0: alloc size=1\n"
        "1: use block=0 delay=1s\n2: %s\n",
        op);
    ck_assert_int_lt(length, (int)sizeof text);
    const struct certificate_text list = {"list", text, (size_t)length};
    struct certificate_history *history = certificate_history_read(&list, NULL, reason);
    certificate_history_destroy(history);
    return history != NULL;
}

static const struct {
    const char *name, *required, *either, *optional;
} kinds[] = {
    {"alloc", "size", "", "align tag unpadded retry stream"},
    {"output", "size", "", "align tag unpadded retry stream"},
    {"load", "size stack", "", "tag retry"},
    {"execute", "program delay", "", "collective retry"},
    {"donate", "block size", "", "tag unpadded"},
    {"free", "block", "", ""},
    {"hold", "block", "", ""},
    {"release", "block", "", ""},
    {"touch", "block", "", ""},
    {"use", "block", "delay event", "stream"},
    {"free_after", "block", "delay event", "stream"},
    {"unload", "program", "", ""},
    {"complete", "event", "", ""},
    {"advance", "delay", "", ""},
    {"retire", "size address", "", ""},
    {"fault", "call nth", "", "delay for_ever"},
    {"defragment", "", "", ""},
    {"report", "", "", ""},
    {"switch", "point", "to event", "op"},
    {"sleep", "", "", ""},
    {"wake", "", "", ""},
    {"record", "", "", ""},
    {"record_end", "", "", ""},
    {"record_drop", "recording", "", ""},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static const char *const field_values[][2] = {
    {"block", "0"},   {"program", "0"}, {"event", "1"},       {"delay", "1s"},     {"size", "1"},
    {"address", "0"}, {"stack", "0"},   {"unpadded", "1"},    {"align", "2"},      {"tag", "1"},
    {"retry", "yes"}, {"call", "copy"}, {"nth", "1"},         {"for_ever", "yes"}, {"op", "1"},
    {"point", "1"},   {"to", "1"},      {"collective", "1"},  {"lane", "1"},       {"host", "1"},
    {"spmd", "1"},    {"stream", "63"}, {"recording", "none"}};
enum { FIELD_COUNT = sizeof field_values / sizeof *field_values };

static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The op with what it must have, with (or without) one field more (or less). */
static bool can_read_with(size_t kind, size_t changed_field, bool is_there)
{
    char op[256];
    const char *either = kinds[kind].either;
    size_t used = (size_t)snprintf(op, sizeof op, "%s", kinds[kind].name);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *name = field_values[i][0];
        const bool is_usual = has_word(kinds[kind].required, name) ||
                              (*either != '\0' && strncmp(either, name, strlen(name)) == 0);
        if (i == changed_field ? is_there : is_usual) {
            used += (size_t)snprintf(op + used, sizeof op - used, " %s=%s", name,
                                     field_values[i][1]);
        }
    }
    return can_read_list(op);
}

TEST(an_op_has_the_fields_of_its_kind, .to = KIND_COUNT)
{
    const size_t kind = (size_t)_i;
    ck_assert_msg(can_read_with(kind, FIELD_COUNT, false), "%s: %s", kinds[kind].name, reason);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *name = field_values[i][0], *either = kinds[kind].either;
        const bool is_first = *either != '\0' && strncmp(either, name, strlen(name)) == 0;
        const bool is_required = has_word(kinds[kind].required, name) || is_first;
        const bool may_be = is_required || has_word(kinds[kind].optional, name) ||
                            has_word("lane host spmd", name);
        ck_assert_msg(can_read_with(kind, i, true) == may_be, "%s with %s", kinds[kind].name, name);
        ck_assert_msg(can_read_with(kind, i, false) == !is_required, "%s without %s",
                      kinds[kind].name, name);
    }
}

TEST(a_list_may_be_any_bytes)
{
    struct certificate_text list = {"a\tb", "", 0};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "a?b:0: the first line is not 'hbmstress-ops 1'");
    list.name = "a\x7f~";
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "a?~:0: the first line is not 'hbmstress-ops 1'");
    list = (struct certificate_text){"list", "hbmstress-ops 1\nseed 1\0\n", 25};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: a control character");
    list = (struct certificate_text){"list", "hbmstress-ops 1\n\xff\n", 18};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: this is neither an op nor a line of the head");
}

TEST(a_line_may_have_a_mebibyte)
{
    enum { LINE_BYTES = 1 << 20 };
    static char text[LINE_BYTES + 64];
    const int head = snprintf(text, sizeof text, "hbmstress-ops 1\n");
    memset(text + head, '9', LINE_BYTES);
    text[head + LINE_BYTES] = '\n';
    const struct certificate_text list = {"list", text, (size_t)head + LINE_BYTES + 1};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: the head has no line capacity");
}
