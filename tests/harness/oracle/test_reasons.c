/* Verdicts in words: why an out-of-memory is justified or open, and what to do about a premature
 * one. */
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <check.h>

enum { G = SMALL_GRANULE, NODES_MAX = 10000 };

/* An out-of-memory as a drawing (small_oom.h) under everything that a contract may promise, but for
 * how blocks move; the request in granules. */
struct row {
    const char *drawing;
    enum defrag_contract defrag;
    struct oom_request request;
    bool is_absent;     /* the last block is in host memory */
    const char *judged; /* by the judgement alone */
    const char *proved; /* after the proof; NULL: the same */
};

static void draw_row(struct small_oom *small, const struct row *row)
{
    struct oom like = {
        .defrag = row->defrag, .drains = true, .evicts = true, .request = row->request};
    like.request.size_bytes *= G;
    like.request.asked_bytes *= G;
    like.request.stack_bytes *= G;
    small_oom_draw(small, &like, row->drawing);
    if (row->is_absent) {
        small->blocks[small->oom.block_count - 1].address = OOM_IN_HOST_MEMORY;
    }
}

static void check_rows(const struct row *rows, size_t count)
{
    struct oracle *oracle = oracle_create();
    for (size_t i = 0; i < count; i++) {
        struct small_oom small;
        struct verdict verdict = {.reason = ""};
        draw_row(&small, &rows[i]);
        oracle_judge(oracle, &small.oom, NODES_MAX, &verdict);
        ck_assert_str_eq(verdict.reason, rows[i].judged);
        (void)oracle_prove(oracle, &small.oom, NODES_MAX, &verdict);
        ck_assert_str_eq(verdict.reason, rows[i].proved == NULL ? rows[i].judged : rows[i].proved);
    }
    oracle_destroy(oracle);
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(rows)[0])

TEST(a_justified_one_says_what_is_in_the_way)
{
    /* clang-format off */
    static const struct row rows[] = {
        {"..h.", DEFRAG_NONE, {.size_bytes = 3}, false,
         "no hole offers more than 1.0K of the 1.5K free",
         NULL},
        {"..m.", DEFRAG_NONE, {.size_bytes = 3}, false,
         "no hole offers more than 1.0K of the 1.5K free",
         NULL},
        {".mh.", DEFRAG_SLIDE, {.size_bytes = 3}, false,
         "no span between unmovable blocks offers more than 512B of the 1.0K free",
         NULL},
        {"mm.hm.h..", DEFRAG_REPACK, {.size_bytes = 4}, false,
         "no packing of the movable blocks and the request exists (largest item)",
         NULL},
        {"dp.h.l.x", DEFRAG_SLIDE, {.size_bytes = 5}, false,
         "with 1 queued frees awaited and 1 idle programs evicted, no span between unmovable "
         "blocks offers more than 1.5K of the 2.5K free",
         NULL},
        {"hh", DEFRAG_SLIDE, {.size_bytes = 2, .asked_bytes = 1}, false,
         "no span between unmovable blocks offers more than 0B of the 0B free; by its "
         "contract's rounding the request needs 1.0K",
         NULL},
        {"..", DEFRAG_NONE, {.size_bytes = 3, .asked_bytes = 3}, false,
         "the request is larger than the device",
         NULL},
        {"..", DEFRAG_NONE, {.class = REQUEST_PROGRAM, .size_bytes = 1, .stack_bytes = 3}, false,
         "the stack is larger than the device",
         NULL},
        {".h..", DEFRAG_NONE, {.class = REQUEST_PROGRAM, .size_bytes = 1, .stack_bytes = 2}, false,
         "an unmovable block lies at 0x200, below the end of the stack at 0x400",
         NULL},
    };
    /* clang-format on */
    CHECK_ROWS(rows);
}

TEST(a_premature_one_says_what_to_do)
{
    /* clang-format off */
    static const struct row rows[] = {
        {"h..", DEFRAG_NONE, {.size_bytes = 2}, false,
         "the request fits into [0x200, 0x600) next to the movable blocks there (0)",
         "with no mitigation the request fits at 0x200"},
        {"hd.", DEFRAG_NONE, {.size_bytes = 2}, false,
         "with 1 queued frees awaited and 0 idle programs evicted, the request fits into "
         "[0x200, 0x600) next to the movable blocks there (0)",
         "await queued frees (1), then the request fits at 0x200"},
        {"hp.", DEFRAG_NONE, {.size_bytes = 2}, false,
         "with 0 queued frees awaited and 1 idle programs evicted, the request fits into "
         "[0x200, 0x600) next to the movable blocks there (0)",
         "evict idle programs (1, 512B), then the request fits at 0x200"},
        {"h.m.", DEFRAG_SLIDE, {.size_bytes = 2}, false,
         "the request fits into [0x200, 0x800) next to the movable blocks there (1)",
         "move blocks (1, 512B), then the request fits at 0x200"},
        {"d.m.p", DEFRAG_SLIDE, {.size_bytes = 4}, false,
         "with 1 queued frees awaited and 1 idle programs evicted, the request fits into "
         "[0x0, 0xa00) next to the movable blocks there (1)",
         "await queued frees (1), evict idle programs (1, 512B), move blocks (1, 512B), then "
         "the request fits at 0x0"},
        {"..o", DEFRAG_NONE, {.class = REQUEST_PROGRAM, .stack_bytes = 2}, false,
         "the request fits into [0x400, 0x400) next to the movable blocks there (0)",
         "with no mitigation the stack fits"},
        {"mmm.hmm.h", DEFRAG_REPACK, {.size_bytes = 2}, false,
         "the movable blocks and the request fit into the spans between unmovable blocks "
         "(greedy)",
         "move blocks (2, 2.5K, 1 of them through host memory), then the request fits at 0x400"},
        {".h..m", DEFRAG_REPACK, {.size_bytes = 2}, true,
         "the movable blocks and the request fit into the spans between unmovable blocks "
         "(greedy)",
         "bring blocks back from host memory (1), then the request fits at 0x400"},
        {"mm.h.mh..m", DEFRAG_REPACK, {.size_bytes = 3}, true,
         "the movable blocks and the request fit into the spans between unmovable blocks "
         "(greedy)",
         "move blocks (2, 1.5K, 1 of them through host memory), bring blocks back from host "
         "memory (1), then the request fits at 0xe00"},
    };
    /* clang-format on */
    CHECK_ROWS(rows);
}
