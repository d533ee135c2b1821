/* What an unknown of version 2 says of its search. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* 4, 4, 3, 3, 3 and the request of 3 fill two spans of 10, but not in the order of their sizes. */
#define TENS(fixed) \
    LIVE(0, 4) "," LIVE(4, 4) "," fixed "," LIVE(11, 3) "," LIVE(14, 3) "," LIVE(17, 3)
#define USED_FOREVER USED(10, 1, -1)
#define EFFORT(nodes, limit, until, class, greedy, search, fills, table)                   \
    "{'kind': 'budget', 'nodes': " #nodes ", 'need': 20, 'have': 20, 'limit': " #limit     \
    ", 'until': " #until ", 'class': '" #class "', 'tried': {'greedy': " #greedy           \
                                               ", 'search': " #search ", 'fills': " #fills \
                                               ", 'table': " #table "}}"

static void write_unknown(const char *blocks, const char *proof)
{
    document_write((struct document){.claim = "unknown",
                                     .device = "{'capacity': 21, 'granule': 1}",
                                     .request = BUFFER(3),
                                     .blocks = blocks,
                                     .proof = proof,
                                     .more = ", 'list': null"});
    *strstr(document_text, "1, \"claim\"") = '2';
}

static void expect_unknown(const char *blocks, const char *proof, enum certificate_result result,
                           const char *part)
{
    write_unknown(blocks, proof);
    document_expect_text(result, part);
}

START_TEST(the_steps_of_all_methods_add_up)
{
    static const char steps[] = "tried: the steps do not add up to nodes";
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, plain, 1, 2, 3, 4), CERTIFICATE_VALID,
                   "unknown, budget");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, plain, 0, 0, 0, 10), CERTIFICATE_VALID,
                   "");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, plain, 1, 2, 3, 3), CERTIFICATE_REFUTED,
                   steps);
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, plain, 1, 2, 3, 5), CERTIFICATE_REFUTED,
                   steps);
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, plain, -1, 11, 0, 0), CERTIFICATE_REFUTED,
                   steps);
    expect_unknown(TENS(USED_FOREVER),
                   EFFORT(10, 10, 0, plain, 9223372036854775807, 9223372036854775807, 12, 0),
                   CERTIFICATE_REFUTED, steps);
}
END_TEST

START_TEST(a_limit_is_positive)
{
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 0, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the limit is out of range");
}
END_TEST

START_TEST(until_is_the_time_that_decides)
{
    static const char blocks[] = TENS(USED_FOREVER) "," DYING(20, 1, 0, 5);
    expect_unknown(blocks, EFFORT(10, 10, 5, plain, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(blocks, EFFORT(10, 10, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: until is 0, not 5");
}
END_TEST

START_TEST(the_class_is_that_of_the_state)
{
    static const char aligned[] = LIVE_ALIGNED(0, 4, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(
        11, 3) "," LIVE(14, 3) "," LIVE(17, 3);
    expect_unknown(TENS(HELD(10, 1)), EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(TENS(HELD(10, 1)), EFFORT(10, 10, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is held");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is plain");
    expect_unknown(aligned, EFFORT(10, 10, 0, aligned, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(aligned, EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is aligned");
}
END_TEST

START_TEST(each_version_has_its_own_members)
{
    static const char form[] = "proof: a member is missing, unknown, or of the wrong type";
    expect_unknown(TENS(USED_FOREVER), BUDGET(10, 20, 20), CERTIFICATE_UNREADABLE, form);
    rejects(form, .claim = "unknown", .device = "{'capacity': 21, 'granule': 1}",
            .request = BUFFER(3), .blocks = TENS(USED_FOREVER),
            .proof = EFFORT(10, 10, 0, plain, 1, 2, 3, 4));
}
END_TEST

Suite *suite_of_certificate_budget(void)
{
    Suite *suite = suite_create("certificate_budget");
    TCase *budget = tcase_create("budget");
    tcase_add_test(budget, the_steps_of_all_methods_add_up);
    tcase_add_test(budget, a_limit_is_positive);
    tcase_add_test(budget, until_is_the_time_that_decides);
    tcase_add_test(budget, the_class_is_that_of_the_state);
    tcase_add_test(budget, each_version_has_its_own_members);
    suite_add_tcase(suite, budget);
    return suite;
}
