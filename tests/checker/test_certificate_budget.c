/* What an unknown says of its search; and it is refused where a look at the sizes settles it. */
#include "tests/checker/document.h"
#include "tests/checker/story.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
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
                                     .proof = proof});
}

static void expect_unknown(const char *blocks, const char *proof, enum certificate_result result,
                           const char *part)
{
    write_unknown(blocks, proof);
    document_expect_text(result, part);
}

EVERY_TEST(.timeout_s = 60);

TEST(the_steps_of_all_methods_add_up)
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

TEST(a_limit_that_is_not_used_up_is_no_excuse)
{
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 11, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 11 steps is not used up");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 9, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 9 steps is not used up");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 0, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: trivial: the limit of 0 steps is not used up");
}

TEST(until_is_the_time_that_decides)
{
    static const char blocks[] = TENS(USED_FOREVER) "," DYING(20, 1, 0, 5);
    expect_unknown(blocks, EFFORT(10, 10, 5, plain, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(blocks, EFFORT(10, 10, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: until is 0, not 5");
}

TEST(the_class_is_that_of_the_state)
{
    static const char aligned[] = LIVE_ALIGNED(0, 4, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(
        11, 3) "," LIVE(14, 3) "," LIVE(17, 3);
    expect_unknown(TENS(HELD(10, 1)), EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(TENS(HELD(10, 1)), EFFORT(10, 10, 0, plain, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is held");
    expect_unknown(TENS(USED_FOREVER), EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is plain");
    /* In host memory even a held block is not fixed. */
    expect_unknown(LIVE(0, 4) "," LIVE(4, 4) "," USED_FOREVER "," LIVE(11, 3) "," LIVE(
                       14, 3) "," BLOCK(buffer, live, -1, 3, 1, 0, 1, 0, 0),
                   EFFORT(10, 10, 0, plain, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(aligned, EFFORT(10, 10, 0, aligned, 10, 0, 0, 0), CERTIFICATE_VALID, "");
    expect_unknown(aligned, EFFORT(10, 10, 0, held, 10, 0, 0, 0), CERTIFICATE_REFUTED,
                   "proof: the class is aligned");
}

TEST(no_member_may_be_missing)
{
    expect_unknown(TENS(USED_FOREVER), "{'kind': 'budget', 'nodes': 10, 'need': 20, 'have': 20}",
                   CERTIFICATE_UNREADABLE,
                   "proof: a member is missing, unknown, or of the wrong type");
}

/* --- what takes no search --- */

#define UNKNOWN(bytes, blocks_text, nodes, need, have)                   \
    .claim = "unknown", .request = BUFFER(bytes), .blocks = blocks_text, \
    .proof = BUDGET(nodes, need, have)

TEST(a_search_takes_a_step_at_least)
{
    accepts(OPEN_QUESTION(BUDGET(1, 20, 20)));
    refutes("nodes", OPEN_QUESTION(BUDGET(0, 20, 20)));
    expect_unknown(TENS(USED_FOREVER), EFFORT(0, 0, 0, plain, 0, 0, 0, 0), CERTIFICATE_REFUTED,
                   "nodes");
}

TEST(what_best_fit_places_is_no_open_question)
{
    /* Spans of 20, 40 and 38; the request finds no room in place. */
    const char *blocks = LIVE(5, 10) "," HELD(20, 1) "," LIVE(21, 15) "," LIVE(41, 15) "," HELD(
        61, 1) "," LIVE(62, 30);
    refutes("trivial: best fit", UNKNOWN(20, blocks, 9, 90, 98));
}

TEST(best_fit_leaves_room_to_align_each_item)
{
    /* 5 bytes at a multiple of 4 count as 8.  In 7 they fit, but best fit does not see it. */
    const char *request = REQUEST(buffer, 5, 4, 0, -1);
    refutes("trivial: best fit", .claim = "unknown", .device = "{'capacity': 13, 'granule': 1}",
            .request = request, .blocks = LIVE(0, 4) "," HELD(8, 1), .proof = BUDGET(9, 9, 12));
    accepts(.claim = "unknown", .device = "{'capacity': 12, 'granule': 1}", .request = request,
            .blocks = LIVE(0, 4) "," HELD(7, 1), .proof = BUDGET_OF(aligned, 9, 9, 11));
}

TEST(what_rounding_refutes_is_no_open_question)
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

TEST(what_fits_in_place_is_no_open_question)
{
    /* Best fit, with room to align, does not see it. */
    refutes("trivial: the request fits where", .claim = "unknown",
            .device = "{'capacity': 16, 'granule': 1}", .request = REQUEST(buffer, 8, 8, 0, -1),
            .blocks = LIVE_ALIGNED(8, 8, 8), .proof = BUDGET(9, 16, 16));
    /* What was in host memory is gone. */
    refutes("trivial: the request fits where", .claim = "unknown",
            .device = "{'capacity': 16, 'granule': 1}", .request = REQUEST(buffer, 8, 8, 0, -1),
            .blocks = LIVE_ALIGNED(8, 8, 8) "," DYING(-1, 4, 0, 5), .proof = BUDGET(9, 16, 16));
}

/* --- many items or spans --- */

/* Behind an open question: items of `least`, least + step, ... that fill all the rest, each a span
 * of its own, or all together one. */
struct filling {
    int count, least, step;
    bool is_split;
};

/* With an op of its own: the sanitizers make each look for one take as long as the text. */
#define NUMBERED(kind, holds) FACT(% d, kind, live, % d, % d, 1, 0, holds, 0, 0)

static char heap[DOCUMENT_BYTES], device[64];

/* Gives the bytes of the items. */
static int write_filling(const char *question, int begin, struct filling filling)
{
    int at = begin, bytes = 0;
    size_t used = (size_t)snprintf(heap, sizeof heap, "%s," HELD(% d, 1), question, at++);
    for (int i = 0; i < filling.count; i++) {
        const int size = filling.least + i * filling.step;
        const bool is_split = filling.is_split && i > 0;
        used += (size_t)snprintf(heap + used, sizeof heap - used,
                                 is_split ? "," NUMBERED(output, 1) : "", 20000 + i, at, 1);
        at += is_split;
        used += (size_t)snprintf(heap + used, sizeof heap - used, "," NUMBERED(buffer, 0),
                                 10000 + i, at, size);
        at += size;
        bytes += size;
    }
    ck_assert_uint_lt(used, sizeof heap);
    snprintf(device, sizeof device, "{'capacity': %d, 'granule': 1}", at);
    return bytes;
}

static void expect_filled(struct filling filling, enum certificate_result result, const char *part)
{
    char proof[256];
    const int bytes = 20 + write_filling(TENS(HELD(10, 1)), 21, filling);
    snprintf(proof, sizeof proof,
             "{'kind': 'budget', 'nodes': 1, 'need': %d, 'have': %d, 'limit': 2, 'until': 0, "
             "'class': 'held', 'tried': {'greedy': 1, 'search': 0, 'fills': 0, 'table': 0}}",
             bytes, bytes);
    document_write((struct document){.claim = "unknown",
                                     .device = device,
                                     .request = BUFFER(3),
                                     .blocks = heap,
                                     .proof = proof});
    document_expect_text(result, part);
}

/* Where nothing is in its place, nothing is settled by it. */
TEST(blocks_in_host_memory_are_placed_by_a_search)
{
    const char *blocks = LIVE(0, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(11, 3) "," ABSENT(
        3) "," ABSENT(3);
    accepts(.device = "{'capacity': 21, 'granule': 1}", UNKNOWN(3, blocks, 1, 20, 20));
}

TEST(what_is_too_large_for_a_search_need_not_use_up_its_limit)
{
    static const char unused[] = "proof: trivial: the limit of 2 steps is not used up";
    /* Six items are of the question. */
    expect_filled((struct filling){8186, 11, 0, false}, CERTIFICATE_REFUTED, unused);
    expect_filled((struct filling){8187, 11, 0, false}, CERTIFICATE_VALID, "unknown, budget");
    /* (items + 1) * spans: 2050 * 2045, then 2051 * 2046. */
    expect_filled((struct filling){2043, 12, 0, true}, CERTIFICATE_REFUTED, unused);
    expect_filled((struct filling){2044, 12, 0, true}, CERTIFICATE_VALID, "unknown, budget");
    /* Nothing takes more steps than its limit. */
    document_replace("\"limit\": 2", "\"limit\": 0");
    document_expect_text(CERTIFICATE_REFUTED,
                         "proof: trivial: the limit of 0 steps is not used up");
}

/* Spans of 5 and 5 for 3, 1, 3 and 3: rounding by 3 refutes it, and fills the rest. */
static void expect_rounded(struct filling filling, enum certificate_result result)
{
    char proof[256];
    const int bytes = 10 + write_filling(LIVE(0, 3) "," LIVE(3, 1) "," HELD(5, 1) "," LIVE(6, 3),
                                         11, filling);
    snprintf(proof, sizeof proof,
             "{'kind': 'budget', 'nodes': 1, 'need': %d, 'have': %d, 'limit': 1, 'until': 0, "
             "'class': 'held', 'tried': {'greedy': 1, 'search': 0, 'fills': 0, 'table': 0}}",
             bytes, bytes);
    document_expect((struct document){.claim = "unknown",
                                      .device = device,
                                      .request = BUFFER(3),
                                      .blocks = heap,
                                      .proof = proof},
                    result,
                    result == CERTIFICATE_VALID ? "unknown, budget" : "trivial: rounding by 3 ");
}

TEST(rounding_by_each_size_is_for_few_spans_and_sizes)
{
    expect_rounded((struct filling){62, 12, 0, true}, CERTIFICATE_REFUTED);
    expect_rounded((struct filling){63, 12, 0, true}, CERTIFICATE_VALID);
    /* Two sizes are of the question. */
    expect_rounded((struct filling){1022, 12, 3, false}, CERTIFICATE_REFUTED);
    expect_rounded((struct filling){1023, 12, 3, false}, CERTIFICATE_VALID);
}
