/* The independent checker and bytes that are no certificate, or hardly one.  What it says of each
 * rule is in checks/documents.checks. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char changed[DOCUMENT_BYTES];

/* Puts new where the length letters at `at` were. */
static void replace_part(char *at, size_t length, const char *new)
{
    const int length_after = snprintf(changed, sizeof changed, "%.*s%s%s",
                                      (int)(at - document_text), document_text, new, at + length);
    ck_assert_int_lt(length_after, (int)sizeof changed);
    memcpy(document_text, changed, strlen(changed) + 1);
    document_quote(document_text);
}

static size_t member_length(const char *at)
{
    const size_t name = *at == '"' ? 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
    return name > 0 && strncmp(at + name, "\": ", 3) == 0 ? name + 3 : 0;
}

TEST(every_member_is_required_and_of_one_type_and_no_other_is_allowed, .to = DOCUMENT_GOOD_COUNT)
{
    static const char *const others[] = {"null", "1.5", "[]", "{}", "1e99", "99999999999999999999"};
    document_write(document_good[_i]);
    const size_t length = strlen(document_text);
    for (size_t at = 0; at < length; at++, document_write(document_good[_i])) {
        const size_t name = member_length(document_text + at);
        if (name == 0) {
            continue;
        }
        replace_part(document_text + at + name - 3, 0, "x");
        document_expect_text(CERTIFICATE_UNREADABLE, "a member is missing");
        document_write(document_good[_i]);
        replace_part(document_text + at, 0, "'more': 0, ");
        document_expect_text(CERTIFICATE_UNREADABLE, "unknown");
        document_write(document_good[_i]);
        const bool is_scalar = strchr("{[", document_text[at + name]) == NULL;
        const bool is_null = document_text[at + name] == 'n'; /* the list, which may be so */
        for (size_t i = is_null ? 1 : 0; is_scalar && i < sizeof others / sizeof *others;
             i++, document_write(document_good[_i])) {
            replace_part(document_text + at + name, strcspn(document_text + at + name, ",}"),
                         others[i]);
            document_expect_text(CERTIFICATE_UNREADABLE, "");
        }
    }
}

TEST(extreme_numbers_do_no_harm, .to = DOCUMENT_GOOD_COUNT)
{
    static const char *const numbers[] = {"-9223372036854775808",
                                          "-9223372036854775807",
                                          "-2",
                                          "-1",
                                          "0",
                                          "1",
                                          "5",
                                          "1073741824",
                                          "2147483648",
                                          "1125899906842624",
                                          "1125899906842625",
                                          "4611686018427387904",
                                          "4611686018427387905",
                                          "9223372036854775806",
                                          "9223372036854775807"};
    enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };
    document_write(document_good[_i]);
    for (size_t at = 0, length = strlen(document_text); at < length; at++) {
        const size_t name = member_length(document_text + at);
        if (name == 0 || strchr("-0123456789", document_text[at + name]) == NULL) {
            continue;
        }
        for (size_t i = 0; i < NUMBER_COUNT; i++, document_write(document_good[_i])) {
            replace_part(document_text + at + name,
                         strspn(document_text + at + name, "-0123456789"),
                         numbers[i % NUMBER_COUNT]);
            ck_assert_int_ne(document_check(), CERTIFICATE_UNREADABLE);
        }
    }
}

TEST(what_is_cut_off_is_unreadable, .to = DOCUMENT_GOOD_COUNT)
{
    document_write(document_good[_i]);
    const size_t length = strlen(document_text) - 1; /* all but the last end of line */
    for (size_t i = 0; i < length; i++) {
        char *copy = malloc(i + 1);
        memcpy(copy, document_text, i);
        ck_assert_int_eq(certificate_check(copy, i, document_reason), CERTIFICATE_UNREADABLE);
        free(copy);
    }
    ck_assert_int_eq(certificate_check(document_text, length, document_reason), CERTIFICATE_VALID);
}

static uint64_t random_below(uint64_t bound)
{
    static uint64_t random_state = 1;
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % bound;
}

TEST(changed_bytes_never_crash_and_leave_one_printable_line, .to = DOCUMENT_GOOD_COUNT)
{
    for (int round = 0; round < 2000; round++) {
        document_write(document_good[_i]);
        const size_t length = strlen(document_text);
        for (uint64_t count = 1 + random_below(3); count > 0; count--) {
            document_text[random_below(length)] = (char)(1 + random_below(255));
        }
        document_check();
    }
}

TEST(a_document_with_a_nul_is_unreadable, .to = DOCUMENT_GOOD_COUNT)
{
    document_write(document_good[_i]);
    const size_t length = strlen(document_text);
    for (char *at = document_text; at < document_text + length; at++) {
        char *copy = malloc(length + 1);
        const size_t before = (size_t)(at - document_text);
        memcpy(copy, document_text, before);
        copy[before] = '\0';
        memcpy(copy + before + 1, at, length - before);
        ck_assert_int_eq(certificate_check(copy, length + 1, document_reason),
                         CERTIFICATE_UNREADABLE);
        free(copy);
    }
}

TEST(what_is_no_document_is_unreadable)
{
    static const char *const texts[] = {
        "", " ", "null", "[]", "{}", "7", "\"x\"", "[[[[", "{\"format\": 1}", "\xff\xfe", "{}\n{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(certificate_check(texts[i], strlen(texts[i]), document_reason),
                         CERTIFICATE_UNREADABLE);
    }
    ck_assert_int_eq(certificate_check("\0", 1, document_reason), CERTIFICATE_UNREADABLE);
    ck_assert_int_eq(certificate_check("{\n \"a\": 1\0}", 11, document_reason),
                     CERTIFICATE_UNREADABLE);
    ck_assert_str_eq(document_reason, "line 2, column 7: this is not JSON");
    memset(document_text, '[', sizeof document_text);
    ck_assert_int_eq(certificate_check(document_text, sizeof document_text, document_reason),
                     CERTIFICATE_UNREADABLE);
}
