#include "tests/checker/document.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

char document_text[DOCUMENT_BYTES], document_reason[CERTIFICATE_REASON_BYTES];

static const char *or_usual(const char *part, const char *usual)
{
    return part == NULL ? usual : part;
}

void document_quote(char *letters)
{
    for (; *letters != '\0'; letters++) {
        *letters = *letters == '\'' ? '"' : *letters;
    }
}

/* No two blocks are of one op. */
static void number_ops(void)
{
    static const char unnumbered[] = "\"op\": 1000";
    int op = 1000;
    for (char *at = document_text; (at = strstr(at, unnumbered)) != NULL; op++) {
        char number[sizeof unnumbered];
        at += strlen(unnumbered) - 4;
        (void)snprintf(number, sizeof number, "%d", op);
        memcpy(at, number, 4);
    }
}

void document_write(struct document document)
{
    const int length = snprintf(
        document_text, sizeof document_text,
        "{'format': 'hbmstress-certificate', 'version': 1, 'list': null, 'claim': '%s',\n 'device': %s,\n 'contract': %s,\n"
        " 'refused': %s,\n 'request': %s,\n 'blocks': [%s],\n 'proof': %s%s}\n",
        or_usual(document.claim, "justified"),
        or_usual(document.device, "{'capacity': 100, 'granule': 1}"),
        or_usual(document.contract, CONTRACT(repack)),
        or_usual(document.refused, REFUSED(false, false, false, false)),
        or_usual(document.request, BUFFER(10)), or_usual(document.blocks, ""), document.proof,
        or_usual(document.more, ""));
    ck_assert_int_lt(length, DOCUMENT_BYTES);
    document_quote(document_text);
    number_ops();
}

void document_replace(const char *old, const char *new)
{
    char *at = NULL;
    for (char *next = document_text; (next = strstr(next, old)) != NULL; next++) {
        at = next;
    }
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_le(strlen(new), strlen(old));
    memcpy(at, new, strlen(new));
    memset(at + strlen(new), ' ', strlen(old) - strlen(new));
}

static const char *const result_names[] = {"valid", "refuted", "unreadable"};

enum certificate_result document_check(void)
{
    memset(document_reason, '\n', sizeof document_reason);
    const enum certificate_result result = certificate_check(document_text, strlen(document_text),
                                                             document_reason);
    for (const char *letter = document_reason; *letter != '\0'; letter++) {
        ck_assert(*letter >= ' ' && *letter <= '~');
    }
    return result;
}

void document_expect_text(enum certificate_result result, const char *part_of_reason)
{
    const enum certificate_result answer = document_check();
    ck_assert_msg(answer == result && strstr(document_reason, part_of_reason) != NULL,
                  "expected %s (%s), got %s (%s) for\n%s", result_names[result], part_of_reason,
                  result_names[answer], document_reason, document_text);
}

void document_expect(struct document document, enum certificate_result result,
                     const char *part_of_reason)
{
    document_write(document);
    document_expect_text(result, part_of_reason);
}
