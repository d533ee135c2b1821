/* Which search is too large, for an unknown: heaps of thousands of items or spans.  The small ones
 * are in checks/budget.checks. */
#include "tests/checker/document.h"
#include "tests/checker/story.h"
#include "tests/helpers/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

EVERY_TEST(.timeout_s = 60);

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

/* The question has `bytes` in the bytes before `begin`. */
static void expect_filled(const char *question, int begin, int bytes, struct filling filling,
                          int limit, enum certificate_result result, const char *part)
{
    char proof[256];
    bytes += write_filling(question, begin, filling);
    snprintf(proof, sizeof proof,
             "{'kind': 'budget', 'nodes': 1, 'need': %d, 'have': %d, 'limit': %d, 'until': 0, "
             "'class': 'held', 'tried': {'greedy': 1, 'search': 0, 'fills': 0, 'table': 0}}",
             bytes, bytes, limit);
    document_expect((struct document){.claim = "unknown",
                                      .device = device,
                                      .request = BUFFER(3),
                                      .blocks = heap,
                                      .proof = proof},
                    result, part);
}

TEST(what_is_too_large_for_a_search_need_not_use_up_its_limit)
{
    /* 4, 4, 3, 3, 3 and the request of 3 fill two spans of 10, but not in the order of their
     * sizes. */
    static const char tens[] = LIVE(0, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(11, 3) "," LIVE(
        14, 3) "," LIVE(17, 3);
    static const struct {
        struct filling filling;
        int limit;
        bool is_valid;
    } rows[] = {
        /* Six items are of the question. */
        {{8186, 11, 0, false}, 2, false},
        {{8187, 11, 0, false}, 2, true},
        /* (items + 1) * spans: 2050 * 2045, then 2051 * 2046. */
        {{2043, 12, 0, true}, 2, false},
        {{2044, 12, 0, true}, 2, true},
        /* Nothing takes more steps than its limit. */
        {{2044, 12, 0, true}, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char unused[64];
        snprintf(unused, sizeof unused, "proof: trivial: the limit of %d steps is not used up",
                 rows[i].limit);
        expect_filled(tens, 21, 20, rows[i].filling, rows[i].limit,
                      rows[i].is_valid ? CERTIFICATE_VALID : CERTIFICATE_REFUTED,
                      rows[i].is_valid ? "unknown, budget" : unused);
    }
}

/* Spans of 5 and 5 for 3, 1, 3 and 3: rounding by 3 refutes it, and fills the rest. */
TEST(rounding_by_each_size_is_for_few_spans_and_sizes)
{
    static const char fives[] = LIVE(0, 3) "," LIVE(3, 1) "," HELD(5, 1) "," LIVE(6, 3);
    /* Two sizes are of the question. */
    static const struct filling fillings[] = {
        {62, 12, 0, true}, {63, 12, 0, true}, {1022, 12, 3, false}, {1023, 12, 3, false}};
    for (size_t i = 0; i < 4; i++) {
        expect_filled(fives, 11, 10, fillings[i], 1,
                      i % 2 == 0 ? CERTIFICATE_REFUTED : CERTIFICATE_VALID,
                      i % 2 == 0 ? "trivial: rounding by 3 " : "unknown, budget");
    }
}
