/* What an unknown says of its search; and it is refused where a look at the sizes settles it. */
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

START_TEST(a_limit_that_is_not_used_up_is_no_excuse)
{
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 11, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 11 steps is not used up");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 9, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 9 steps is not used up");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 0, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 0 steps is not used up");
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

/* --- what takes no search --- */

#define UNKNOWN(bytes, blocks_text, nodes, need, have)                   \
    .claim = "unknown", .request = BUFFER(bytes), .blocks = blocks_text, \
    .proof = BUDGET(nodes, need, have)

START_TEST(a_search_takes_a_step_at_least)
{
    accepts(OPEN_QUESTION(BUDGET(1, 20, 20)));
    refutes("nodes", OPEN_QUESTION(BUDGET(0, 20, 20)));
}
END_TEST

START_TEST(what_best_fit_places_is_no_open_question)
{
    /* Spans of 20, 40 and 38; the request finds no room in place. */
    const char *blocks = LIVE(5, 10) "," HELD(20, 1) "," LIVE(21, 15) "," LIVE(41, 15) "," HELD(
        61, 1) "," LIVE(62, 30);
    refutes("trivial: best fit", UNKNOWN(20, blocks, 9, 90, 98));
}
END_TEST

START_TEST(best_fit_leaves_room_to_align_each_item)
{
    /* 5 bytes at a multiple of 4 count as 8.  In 7 they fit, but best fit does not see it. */
    const char *request = REQUEST(buffer, 5, 4, 0, -1);
    refutes("trivial: best fit", .claim = "unknown", .device = "{'capacity': 13, 'granule': 1}",
            .request = request, .blocks = LIVE(0, 4) "," HELD(8, 1), .proof = BUDGET(9, 9, 12));
    accepts(.claim = "unknown", .device = "{'capacity': 12, 'granule': 1}", .request = request,
            .blocks = LIVE(0, 4) "," HELD(7, 1), .proof = BUDGET(9, 9, 11));
}
END_TEST

START_TEST(what_rounding_refutes_is_no_open_question)
{
    /* Spans of 50 and 30, and four items of 20. */
    const char *twenties = LIVE(0, 20) "," LIVE(20, 20) "," HELD(50, 20) "," LIVE(70, 20);
    refutes("trivial: rounding by 20", UNKNOWN(20, twenties, 9, 80, 80));
    /* The divisor: 6 and 4 are multiples of 2, and spans of 5 and 5 are not. */
    refutes("trivial: rounding by 2", .device = "{'capacity': 11, 'granule': 1}",
            UNKNOWN(4, LIVE(0, 4) "," HELD(5, 1) "," LIVE(6, 2), 9, 10, 10));
    /* Larger than every span. */
    refutes("trivial: rounding by 51",
            UNKNOWN(51, LIVE(0, 10) "," HELD(50, 1) "," LIVE(60, 3), 9, 64, 99));
}
END_TEST

START_TEST(what_fits_in_place_is_no_open_question)
{
    /* Best fit, with room to align, does not see it. */
    refutes("trivial: the request fits where", .claim = "unknown",
            .device = "{'capacity': 16, 'granule': 1}", .request = REQUEST(buffer, 8, 8, 0, -1),
            .blocks = LIVE_ALIGNED(8, 8, 8), .proof = BUDGET(9, 16, 16));
}
END_TEST

Suite *suite_of_certificate_budget(void)
{
    Suite *suite = suite_create("certificate_budget");
    TCase *budget = tcase_create("budget");
    tcase_add_test(budget, the_steps_of_all_methods_add_up);
    tcase_add_test(budget, a_limit_that_is_not_used_up_is_no_excuse);
    tcase_add_test(budget, until_is_the_time_that_decides);
    tcase_add_test(budget, the_class_is_that_of_the_state);
    tcase_add_test(budget, each_version_has_its_own_members);
    suite_add_tcase(suite, budget);
    TCase *trivial = tcase_create("trivial");
    tcase_add_test(trivial, a_search_takes_a_step_at_least);
    tcase_add_test(trivial, what_best_fit_places_is_no_open_question);
    tcase_add_test(trivial, best_fit_leaves_room_to_align_each_item);
    tcase_add_test(trivial, what_rounding_refutes_is_no_open_question);
    tcase_add_test(trivial, what_fits_in_place_is_no_open_question);
    suite_add_tcase(suite, trivial);
    return suite;
}
