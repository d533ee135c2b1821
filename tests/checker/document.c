#include "tests/checker/document.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

char document_text[DOCUMENT_BYTES], document_reason[CERTIFICATE_REASON_BYTES];

/* Three blocks of 4 for spans of 5 and 7. */
#define FOURS(proof_text)                                             \
    .device = "{'capacity': 13, 'granule': 1}", .request = BUFFER(4), \
    .blocks = LIVE(0, 4) "," HELD(7, 1) "," LIVE(8, 4), .proof = proof_text

/* 4, 4, 3, 3, 3 and a request of 3 fill two spans of 10 in pairs of equal sums, which neither best
 * fit nor rounding finds. */
const struct document document_good[DOCUMENT_GOOD_COUNT] = {
    {.contract = CONTRACT(none),
     .request = BUFFER(40),
     .blocks = LIVE(0, 10) "," HELD(20, 20) "," DYING(60, 10, 1, 0) "," IMAGE(90, 10, 0, -1),
     .proof = SPANS},
    {.claim = "premature",
     .request = BUFFER(60),
     .blocks = LIVE(0, 10) "," DYING(20, 10, 0, 5) "," LIVE(50, 20) "," IMAGE(80, 10, 0, 0),
     .proof =
         "{'kind': 'plan', 'until': 5, 'address': 0, 'evict': [3], 'moves': ["
         "{'block': 2, 'from': 50, 'to': -1, 'bytes': 20}, {'block': 0, 'from': 0, 'to': 80, 'bytes': 10}, "
         "{'block': 2, 'from': -1, 'to': 60, 'bytes': 20}]}"},
    {.request = REQUEST(program, 10, 1, 20, -1),
     .blocks = HELD(19, 1),
     .proof = "{'kind': 'stack'}"},
    {.request = BUFFER(101), .proof = "{'kind': 'rounding', 'unit': 1, 'need': 101, 'have': 100}"},
    {FOURS("{'kind': 'search', 'least': 0, 'plain': true, 'log': 'bff'}")},
    {.claim = "unknown",
     .device = "{'capacity': 21, 'granule': 1}",
     .request = BUFFER(3),
     .blocks = LIVE(0, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(11, 3) "," LIVE(14, 3) "," LIVE(
         17, 3),
     .proof =
         "{'kind': 'budget', 'nodes': 9, 'need': 20, 'have': 20, 'limit': 9, 'until': 0, 'class': 'held', "
         "'tried': {'greedy': 0, 'search': 9, 'fills': 0, 'table': 0}}"},
    {FOURS("{'kind': 'table', 'sets': 2}")},
    {FOURS("{'kind': 'fills', 'spans': 2, 'unit': 1, 'lost': 4}")},
    {FOURS("{'kind': 'patterns', 'sets': 1}")},
};

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
