/* What the sums of items say about bins: the answer where there are two, a bound where there are
 * more, against trying all and against sums that are counted otherwise. */
#include "harness/base/random.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/packing/packing.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/harness/oracle/plan_simulator.h"
#include "tests/harness/packing/packing_list.h"
#include "tests/harness/packing/packing_proof.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- against trying all --- */

/* Sizes are multiples of a few granules, or nearly so, and bins hold a little more than all. */
static void draw_list(struct random *random, size_t item_count_max, size_t bin_count,
                      struct packing_list *list)
{
    const uint64_t layer = random_between(random, 1, 24);
    const bool is_exact = random_chance(random, 1, 3);
    uint64_t sum = 0;
    *list = (struct packing_list){0};
    while (list->item_count < item_count_max) {
        const uint64_t size = layer * random_between(random, 1, 6) +
                              (is_exact ? 0 : random_below(random, 2));
        list_add_items(list, size, 1);
        sum += size;
    }
    sum += random_below(random, layer + 1);
    for (; bin_count > 1; bin_count--) {
        const uint64_t most = sum - (bin_count - 1);
        const uint64_t length = random_between(random, 1, most / bin_count * 2 + 1);
        list_add_bin(list, length < most ? length : most);
        sum -= length < most ? length : most;
    }
    list_add_bin(list, sum);
}

enum { SMALL_COUNT = 100000 };
struct small_lists {
    size_t item_count_max, bin_count_min, bin_count_max;
    uint64_t fits_min, none_min; /* settled by fills */
};
static const struct small_lists small_lists[] = {{10, 2, 2, 100, 3000}, {7, 3, 5, 0, 2000}};

EVERY_TEST(.timeout_s = 300, .setup = packing_begin, .teardown = packing_end);

/* With budgets so small that the search bin by bin seldom ends first. */
TEST(small_lists_are_decided_as_by_trying_all, .to = sizeof small_lists / sizeof small_lists[0])
{
    const struct small_lists *lists = &small_lists[_i];
    struct random random;
    uint64_t by_fills[2] = {0};
    const uint64_t count = draws_count(SMALL_COUNT, 1);
    random_init(&random, 1 + (uint64_t)_i);
    for (uint64_t i = 0; i < count; i++) {
        struct packing_list list;
        draw_list(&random, random_between(&random, 5, lists->item_count_max),
                  random_between(&random, lists->bin_count_min, lists->bin_count_max), &list);
        const struct packing_answer answer = list_answer(&list, random_between(&random, 50, 400));
        const bool truth = list_fits(&list);
        ck_assert(answer.result == PACKING_UNKNOWN ||
                  answer.result == (truth ? PACKING_FITS : PACKING_NONE));
        by_fills[truth] += answer.method == PACKING_BY_FILLS && answer.result != PACKING_UNKNOWN;
    }
    printf("fills: %" PRIu64 " small lists of %zu to %zu bins, %" PRIu64 " fit and %" PRIu64
           " do not by fills\n",
           count, lists->bin_count_min, lists->bin_count_max, by_fills[1], by_fills[0]);
    ck_assert_uint_ge(by_fills[1], lists->fits_min / draws_period());
    ck_assert_uint_ge(by_fills[0], lists->none_min / draws_period());
}

/* --- lists that the searches leave open --- */

/* Begins a list with pairs of a size in granules and how often it is there; returns the sum. */
static uint64_t add_sizes(struct packing_list *list, const uint64_t sizes[][2], size_t count)
{
    uint64_t sum = 0;
    *list = (struct packing_list){0};
    for (size_t i = 0; i < count; i++) {
        list_add_items(list, sizes[i][0], sizes[i][1]);
        sum += sizes[i][0] * sizes[i][1];
    }
    return sum;
}

enum { SLACK = 1364 };

/* Layers of 7614 granules, some a granule larger, and two spans.  A night of libhbm met this list
 * with all sizes ten times as large. */
static void fill_two_spans(struct packing_list *list)
{
    static const uint64_t sizes[][2] = {{7614, 18},  {15228, 18}, {22842, 18}, {30456, 17},
                                        {38071, 17}, {45685, 17}, {53299, 17}, {60686, 3},
                                        {60913, 17}, {68527, 17}, {76142, 17}, {7044965, 1}};
    const uint64_t sum = add_sizes(list, sizes, sizeof sizes / sizeof sizes[0]);
    list_add_bin(list, 6443457);
    list_add_bin(list, sum + SLACK - 6443457);
}

/* Layers of 32946 granules, many blocks of a sixth of one, and six spans: from such a night. */
static void fill_six_spans(struct packing_list *list)
{
    static const uint64_t sizes[][2] = {{5482, 48},   {32946, 18},  {65892, 18},  {98839, 18},
                                        {131785, 17}, {164732, 17}, {197678, 17}, {230624, 17},
                                        {263571, 17}, {296517, 17}, {329464, 17}};
    static const uint64_t spans[] = {4282066, 1431010, 12835234, 1664400, 8915032, 2143774};
    (void)add_sizes(list, sizes, sizeof sizes / sizeof sizes[0]);
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        list_add_bin(list, spans[i]);
    }
}

enum { NODES_EACH = 4000000 }; /* what each out-of-memory has */

TEST(layers_do_not_fit, .to = 2)
{
    struct packing_list list;
    (_i == 0 ? fill_two_spans : fill_six_spans)(&list);
    const struct packing_answer answer = list_answer(&list, NODES_EACH);
    ck_assert_int_eq(answer.result, PACKING_NONE);
    ck_assert_int_eq(answer.method, PACKING_BY_FILLS);
    ck_assert_uint_eq(answer.fills.bins, _i == 0 ? 1 : 3);
    ck_assert(_i == 1 || answer.fills.unit_bytes == GRANULE);
}

/* By how much the larger span is too short for the list in two spans. */
static uint64_t find_missing_bytes(void)
{
    struct packing_list list;
    fill_two_spans(&list);
    const struct packing_answer none = list_answer(&list, NODES_EACH);
    ck_assert_int_eq(none.method, PACKING_BY_FILLS);
    return none.fills.lost_bytes - SLACK * GRANULE;
}

/* The least room for which it is no longer refuted, and there it fits: nothing lies between. */
TEST(in_two_spans_a_granule_decides)
{
    struct packing_list list;
    fill_two_spans(&list);
    const uint64_t missing = find_missing_bytes();
    list.bins[1].end += missing - GRANULE;
    ck_assert_int_eq(list_answer(&list, NODES_EACH).result, PACKING_NONE);
    list.bins[1].end += GRANULE;
    const struct packing_answer fits = list_answer(&list, NODES_EACH);
    ck_assert_int_eq(fits.result, PACKING_FITS);
    ck_assert_int_eq(fits.method, PACKING_BY_FILLS);
}

/* --- as an out-of-memory --- */

enum { REQUEST = 22842, FIXED = 1000, BLOCKS_MAX = LIST_ITEMS_MAX + 1 };

static void add_block(struct oom *oom, uint64_t address, uint64_t size_bytes, uint32_t hold_count)
{
    ck_assert_uint_lt(oom->block_count, BLOCKS_MAX);
    oom->blocks[oom->block_count] = (struct oom_block){.address = address,
                                                       .size_bytes = size_bytes,
                                                       .align_bytes = GRANULE,
                                                       .op = (uint32_t)oom->block_count,
                                                       .hold_count = hold_count,
                                                       .kind = BLOCK_BUFFER,
                                                       .state = BLOCK_LIVE};
    oom->block_count++;
}

/* The layers in two spans, but for one that is asked for: the largest ones first, as many as fit
 * into the first span, then a held block, then the others. */
static void fill_oom(struct oom *oom, struct oom_block *blocks, uint64_t more)
{
    struct packing_list list;
    bool is_placed[LIST_ITEMS_MAX] = {false};
    fill_two_spans(&list);
    *oom = (struct oom){.granule_bytes = GRANULE, .defrag = DEFRAG_REPACK, .blocks = blocks};
    oom->request = (struct oom_request){.class = REQUEST_BUFFER,
                                        .size_bytes = REQUEST * GRANULE,
                                        .asked_bytes = REQUEST * GRANULE,
                                        .align_bytes = GRANULE,
                                        .own_op = OP_NONE};
    uint64_t at = 0;
    bool has_request = false;
    for (size_t i = list.item_count; i-- > 0;) {
        const uint64_t size = list.items[i].size_bytes;
        const bool is_request = !has_request && size == REQUEST * GRANULE;
        has_request = has_request || is_request;
        is_placed[i] = is_request || at + size <= list.bins[0].end;
        if (is_placed[i] && !is_request) {
            add_block(oom, at, size, 0);
            at += size;
        }
    }
    add_block(oom, list.bins[0].end, FIXED * GRANULE, 1);
    at = list.bins[0].end + FIXED * GRANULE;
    oom->capacity_bytes = at + (list.bins[1].end - list.bins[1].start) + more;
    for (size_t i = 0; i < list.item_count; i++) {
        if (!is_placed[i]) {
            add_block(oom, at, list.items[i].size_bytes, 0);
            at += list.items[i].size_bytes;
        }
    }
    ck_assert_uint_le(at, oom->capacity_bytes);
}

/* Without and with the granules that decide: refuted, and moved by a plan that can be carried out.
 */
TEST(an_out_of_memory_of_layers_is_proved_and_planned, .to = 2)
{
    static struct oom_block blocks[BLOCKS_MAX];
    const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_PREMATURE};
    char reason[PLAN_SIMULATOR_REASON_BYTES] = "";
    struct oracle *oracle = oracle_create();
    struct verdict verdict = {.op = 1};
    struct oom oom;
    fill_oom(&oom, blocks, _i == 0 ? 0 : find_missing_bytes());
    oracle_judge(oracle, &oom, 0, &verdict);
    ck_assert_int_eq(verdict.kind, kinds[_i]);
    ck_assert_uint_le(verdict.nodes, NODES_EACH);
    const struct proof *proof = oracle_prove(oracle, &oom, verdict.nodes_max, &verdict);
    ck_assert_int_eq(verdict.kind, kinds[_i]);
    ck_assert_int_eq(proof->kind, _i == 0 ? PROOF_FILLS : PROOF_PLAN);
    require_certificate(&oom, proof, &verdict, NULL);
    ck_assert_msg(_i == 0 || plan_simulate(&oom, &proof->plan, reason), "%s", reason);
    ck_assert_ptr_nonnull(strstr(verdict.reason, _i == 0 ? "(fills)" : "move blocks"));
    oracle_destroy(oracle);
}

/* --- limits --- */

/* The same list in granules so small that its sums are more than a checker takes. */
TEST(sums_beyond_the_limit_are_not_counted)
{
    struct packing_answer answer;
    struct packing_list list;
    fill_two_spans(&list);
    struct packing_problem question = list_question(&list, 200000);
    question.granule_bytes = 16;
    list.items[0].size_bytes -= 16;
    list.bins[1].end -= 16;
    for (size_t i = 0; i < list.item_count; i++) {
        list.items[i].align_bytes = 16;
    }
    packing_solve(packing, &question, &answer);
    ck_assert_int_eq(answer.result, PACKING_UNKNOWN);
    ck_assert_uint_eq(answer.nodes, question.nodes_max);
}

/* The sums of this list take 21,000 steps, and the half of what is left may be spent on them. */
TEST(sums_that_cost_more_than_the_budget_are_not_counted)
{
    struct packing_list list;
    fill_two_spans(&list);
    const struct packing_answer open = list_answer(&list, 40000);
    ck_assert_int_eq(open.result, PACKING_UNKNOWN);
    ck_assert_uint_eq(open.nodes, 40000);
    ck_assert_int_eq(list_answer(&list, 60000).method, PACKING_BY_FILLS);
}

/* Wherever all sizes have a common unit, it is the sums of units that are counted. */
TEST(a_common_unit_makes_many_sums_few)
{
    enum { UNIT = 1 << 12 };
    struct packing_list list;
    fill_two_spans(&list);
    const uint64_t length = list.bins[1].end - list.bins[1].start;
    const uint64_t first_nodes = list_answer(&list, NODES_EACH).nodes;
    for (size_t i = 0; i < list.item_count; i++) {
        list.items[i].size_bytes *= UNIT;
    }
    list.bins[0].end *= UNIT;
    list.bins[1].start = list.bins[0].end + GRANULE;
    list.bins[1].end = list.bins[1].start + length * UNIT;
    const struct packing_answer answer = list_answer(&list, NODES_EACH);
    ck_assert_int_eq(answer.result, PACKING_NONE);
    ck_assert_int_eq(answer.method, PACKING_BY_FILLS);
    ck_assert_uint_eq(answer.fills.unit_bytes, UNIT * GRANULE);
    ck_assert_uint_eq(answer.nodes, first_nodes);
}
