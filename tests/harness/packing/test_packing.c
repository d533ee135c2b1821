/* The packing decision against exhaustive search on small problems, and its proofs on larger ones.
 */
#include "harness/base/random.h"
#include "harness/oracle/packing/packing.h"
#include "tests/harness/packing/packing_list.h"
#include "tests/harness/packing/packing_proof.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEM_COUNT_MAX = 8, BIN_COUNT_MAX = 4 };

/* Problems near the edge: items are drawn first, bins hold about their sum.  In a third of them
 * bins are equal, as far as that goes. */
static void draw_problem(struct random *random, struct packing_list *problem)
{
    uint64_t sum = 0;
    const uint64_t largest = random_between(random, 2, 30);
    *problem = (struct packing_list){0};
    for (size_t left = random_between(random, 1, ITEM_COUNT_MAX); left > 0; left--) {
        const uint64_t size = random_between(random, 1, largest);
        list_add_items(problem, size, 1);
        sum += size;
    }
    sum += random_below(random, 4);
    const size_t bin_count_max = random_between(random, 1, BIN_COUNT_MAX);
    const bool are_equal = random_chance(random, 1, 3);
    for (uint64_t left = bin_count_max; left > 0; left--) {
        const uint64_t share = left == 1   ? sum
                               : are_equal ? sum / left
                                           : random_below(random, 2 * sum / left + 1);
        const uint64_t room = share > sum ? sum : share;
        if (room > 0) {
            list_add_bin(problem, room);
        }
        sum -= room;
    }
}

/* Answers twice, without and with a proof; the answers must be equal and the proof hold. */
static struct packing_answer answer_and_prove(const struct packing_list *list, uint64_t nodes_max)
{
    struct packing_answer answer;
    struct packing_problem question = list_question(list, nodes_max);
    question.wants_proof = false;
    packing_solve(packing, &question, &answer);
    const struct packing_answer proved = list_answer(list, nodes_max);
    ck_assert_int_eq(answer.result, proved.result);
    ck_assert_int_eq(answer.method, proved.method);
    ck_assert_uint_eq(answer.number, proved.number);
    ck_assert_uint_eq(answer.nodes, proved.nodes);
    ck_assert(answer.result != PACKING_UNKNOWN || answer.nodes == nodes_max);
    return answer;
}

static void print_refuted(const uint64_t refuted[PACKING_BY_PATTERNS + 1])
{
    for (int i = 0; i <= PACKING_BY_PATTERNS; i++) {
        printf(", %s %" PRIu64, packing_method_name((enum packing_method)i), refuted[i]);
    }
    printf("\n");
}

EVERY_TEST(.timeout_s = 120, .setup = packing_begin, .teardown = packing_end);

TEST(every_small_problem_is_decided_as_by_trying_all)
{
    struct random random;
    uint64_t fits = 0;
    uint64_t refuted[PACKING_BY_PATTERNS + 1] = {0};
    const uint64_t count = draws_count(100000, 1);
    random_init(&random, 1);
    for (uint64_t i = 0; i < count; i++) {
        struct packing_list problem;
        draw_problem(&random, &problem);
        struct packing_answer answer = answer_and_prove(&problem, 1000000);
        const bool truth = list_fits(&problem);
        ck_assert_int_eq(answer.result, truth ? PACKING_FITS : PACKING_NONE);
        fits += truth;
        refuted[answer.method] += !truth;
        /* So small a budget leaves each search next to nothing: it decides at once, or says
         * unknown. */
        answer = answer_and_prove(&problem, i % 100);
        ck_assert(answer.result == PACKING_UNKNOWN ||
                  answer.result == (truth ? PACKING_FITS : PACKING_NONE));
        refuted[answer.method] += answer.result == PACKING_NONE;
    }
    printf("packing: %" PRIu64 " problems, %" PRIu64 " fit; refuted", count, fits);
    print_refuted(refuted);
    ck_assert_uint_gt(refuted[PACKING_BY_ROUNDING], count / 100);
    ck_assert_uint_gt(refuted[PACKING_BY_SEARCH], count / 100);
}

TEST(a_spent_budget_is_unknown_and_never_a_guess)
{
    struct random random;
    uint64_t searched = 0;
    const uint64_t count = draws_count(20000, 1);
    random_init(&random, 2);
    for (uint64_t i = 0; i < count; i++) {
        struct packing_list problem;
        struct packing_answer answer;
        draw_problem(&random, &problem);
        struct packing_problem question = list_question(&problem, 1000000);
        question.wants_proof = false;
        packing_solve(packing, &question, &answer);
        const bool by_search = answer.nodes > 0 && (answer.result == PACKING_FITS ||
                                                    answer.method >= PACKING_BY_SEARCH);
        if (by_search) {
            question.nodes_max = 0;
            packing_solve(packing, &question, &answer);
            ck_assert_int_eq(answer.result, PACKING_UNKNOWN);
            searched++;
        }
    }
    ck_assert_uint_gt(searched, count / 200);
}

/* Every order of items in every bin, each pushed down as far as its alignment allows. */
static bool aligned_fits_by_trying_all(const struct packing_list *problem, bool *used, size_t bin,
                                       uint64_t at)
{
    bool all_used = true;
    for (size_t i = 0; i < problem->item_count; i++) {
        if (used[i]) {
            continue;
        }
        all_used = false;
        const struct packing_item *item = &problem->items[i];
        const uint64_t start = (at + item->align_bytes - 1) / item->align_bytes * item->align_bytes;
        if (start + item->size_bytes <= problem->bins[bin].end) {
            used[i] = true;
            const bool fits = aligned_fits_by_trying_all(problem, used, bin,
                                                         start + item->size_bytes);
            used[i] = false;
            if (fits) {
                return true;
            }
        }
    }
    return all_used ||
           (bin + 1 < problem->bin_count &&
            aligned_fits_by_trying_all(problem, used, bin + 1, problem->bins[bin + 1].start));
}

TEST(alignments_are_decided_as_by_trying_all)
{
    struct random random;
    uint64_t fits = 0;
    uint64_t by_addresses = 0;
    const uint64_t count = draws_count(20000, 1);
    random_init(&random, 3);
    for (uint64_t i = 0; i < count; i++) {
        struct packing_list problem;
        bool used[ITEM_COUNT_MAX] = {false};
        draw_problem(&random, &problem);
        problem.item_count = problem.item_count > 6 ? 6 : problem.item_count;
        list_draw_alignments(&problem, &random, (uint32_t[]){6, 2, 2, 1});
        const struct packing_answer answer = answer_and_prove(&problem, 1000000);
        const bool truth = aligned_fits_by_trying_all(&problem, used, 0, problem.bins[0].start);
        ck_assert_int_eq(answer.result, truth ? PACKING_FITS : PACKING_NONE);
        fits += truth;
        by_addresses += answer.method == PACKING_BY_SEARCH_ALIGNED && !truth;
    }
    printf("packing with alignments: %" PRIu64 " problems, %" PRIu64 " fit, %" PRIu64
           " were refuted place by place\n",
           count, fits, by_addresses);
    ck_assert_uint_gt(by_addresses, count / 30);
}

/* Budgets so small that the branch and bound soon ends and the table has its turn. */
TEST(a_table_decides_as_trying_all_does)
{
    struct random random;
    uint64_t decided[2] = {0};
    random_init(&random, 5);
    for (int i = 0; i < 8000; i++) {
        struct packing_list problem;
        bool used[ITEM_COUNT_MAX] = {false};
        draw_problem(&random, &problem);
        problem.item_count = problem.item_count > 6 ? 6 : problem.item_count;
        list_draw_alignments(&problem, &random, (uint32_t[]){4, 1, 1, 1});
        const struct packing_answer answer = answer_and_prove(&problem, 100 + (uint64_t)i % 300);
        if (answer.method == PACKING_BY_TABLE && answer.result != PACKING_UNKNOWN) {
            const bool truth = aligned_fits_by_trying_all(&problem, used, 0, problem.bins[0].start);
            ck_assert_int_eq(answer.result, truth ? PACKING_FITS : PACKING_NONE);
            decided[truth]++;
        }
    }
    printf("tables: %" PRIu64 " problems fit, %" PRIu64 " do not\n", decided[1], decided[0]);
    ck_assert_uint_gt(decided[0], 300);
    ck_assert_uint_gt(decided[1], 30);
}

/* More different sizes than a row has bits for, so that there is no table. */
TEST(too_many_kinds_for_a_row_are_searched)
{
    enum { MANY = 64 };
    struct packing_list list = {.item_count = 0};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        list_add_items(&list, 1000 + 3 * i, 1);
        sum += 1000 + 3 * i;
    }
    list.items[0].align_bytes = 1024;
    list_add_bin(&list, sum / 2 + 1);
    list_add_bin(&list, sum - sum / 2);
    const struct packing_answer answer = answer_and_prove(&list, 20000);
    ck_assert_int_ne(answer.method, PACKING_BY_TABLE);
}

/* --- larger problems: too many ways to try, but an answer's proof can be checked --- */

enum { MEDIUM_ITEMS_MAX = 60, MEDIUM_BINS_MAX = 10 };

static uint64_t draw_size(struct random *random, uint32_t kind, const uint64_t *few)
{
    switch (kind) {
    case 0:
        return random_log_uniform(random, 1, 500);
    case 1:
        return few[random_below(random, 4)];
    case 2:
        return UINT64_C(1) << random_below(random, 9);
    default:
        return random_between(random, 1, 300);
    }
}

/* Sizes of one kind; bins of random lengths that hold a little more than all of them; sometimes two
 * bins of equal length, and sometimes alignments. */
static void draw_medium(struct random *random, struct packing_list *problem)
{
    const uint32_t kind = (uint32_t)random_below(random, 4);
    const bool is_aligned = random_chance(random, 1, 3);
    const uint64_t few[] = {random_between(random, 1, 400), random_between(random, 1, 400),
                            random_between(random, 1, 400), random_between(random, 1, 400)};
    uint64_t sum = 0;
    *problem = (struct packing_list){0};
    for (size_t left = random_between(random, 4, MEDIUM_ITEMS_MAX); left > 0; left--) {
        const uint64_t size = draw_size(random, kind, few);
        list_add_items(problem, size, 1);
        sum += size;
    }
    if (is_aligned) {
        list_draw_alignments(problem, random, (uint32_t[]){6, 2, 1, 1});
    }
    const size_t bin_count = random_between(random, 2, MEDIUM_BINS_MAX);
    sum += sum * random_below(random, 5) / 100 + bin_count;
    uint64_t at = random_below(random, 8), length = 0;
    for (size_t left = bin_count; left > 0; left--) {
        const bool repeats = left < bin_count && random_chance(random, 1, 4);
        length = left == 1 ? sum : repeats ? length : random_between(random, 1, 2 * sum / left);
        length = length > sum - (left - 1) ? sum - (left - 1) : length;
        problem->bins[problem->bin_count++] = (struct packing_bin){at * GRANULE,
                                                                   (at + length) * GRANULE};
        sum -= length;
        at += length + random_between(random, 1, 8);
    }
}

TEST(every_answer_on_a_larger_problem_is_proved)
{
    struct random random;
    uint64_t results[3] = {0};
    uint64_t refuted[PACKING_BY_PATTERNS + 1] = {0};
    const uint64_t count = draws_count(20000, 1);
    random_init(&random, 4);
    for (uint64_t i = 0; i < count; i++) {
        struct packing_list problem;
        draw_medium(&random, &problem);
        const struct packing_answer answer = answer_and_prove(&problem, 3000);
        results[answer.result]++;
        refuted[answer.method] += answer.result == PACKING_NONE;
    }
    printf("larger problems: %" PRIu64 ", %" PRIu64 " fit, %" PRIu64 " do not, %" PRIu64
           " unknown; refuted",
           count, results[0], results[1], results[2]);
    print_refuted(refuted);
    ck_assert_uint_gt(results[PACKING_FITS], count / 10);
    ck_assert_uint_gt(refuted[PACKING_BY_SEARCH], count / 200);
    if (draws_period() == 1) { /* a handful in all of them */
        ck_assert_uint_gt(refuted[PACKING_BY_SEARCH_ALIGNED], 1);
    }
}
