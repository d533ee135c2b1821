/* The packing decision against exhaustive search on small problems. */
#include "harness/packing.h"
#include "harness/random.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEM_COUNT_MAX = 8, BIN_COUNT_MAX = 4 };

/* Tries every assignment: what the search must agree with. */
static bool fits_by_trying_all(const uint64_t *items, size_t item_count, uint64_t *room, size_t bin_count)
{
    if (item_count == 0) {
        return true;
    }
    for (size_t bin = 0; bin < bin_count; bin++) {
        if (room[bin] >= items[0]) {
            room[bin] -= items[0];
            const bool fits = fits_by_trying_all(items + 1, item_count - 1, room, bin_count);
            room[bin] += items[0];
            if (fits) {
                return true;
            }
        }
    }
    return false;
}

struct random_problem {
    struct packing_bin bins[BIN_COUNT_MAX];
    struct packing_item items[ITEM_COUNT_MAX];
    uint64_t room[BIN_COUNT_MAX], sizes[ITEM_COUNT_MAX];
    size_t bin_count, item_count;
};

/* Problems near the edge: items are drawn first, bins hold about their sum. */
static void draw_problem(struct random *random, struct random_problem *problem)
{
    uint64_t sum = 0;
    const uint64_t largest = random_between(random, 2, 30);
    problem->item_count = random_between(random, 1, ITEM_COUNT_MAX);
    problem->bin_count = random_between(random, 1, BIN_COUNT_MAX);
    for (size_t i = 0; i < problem->item_count; i++) {
        problem->sizes[i] = random_between(random, 1, largest);
        problem->items[i] = (struct packing_item){problem->sizes[i] * 512, 512};
        sum += problem->sizes[i];
    }
    sum += random_below(random, 4);
    uint64_t at = 0;
    for (size_t i = 0; i < problem->bin_count; i++) {
        const uint64_t left = problem->bin_count - i;
        const uint64_t share = left == 1 ? sum : random_below(random, 2 * sum / left + 1);
        problem->room[i] = share > sum ? sum : share;
        sum -= problem->room[i];
        problem->bins[i] = (struct packing_bin){at * 512, (at + problem->room[i]) * 512};
        at += problem->room[i] + 1;
    }
}

START_TEST(every_small_problem_is_decided_as_by_trying_all)
{
    struct random random;
    uint64_t fits = 0;
    uint64_t searched = 0;
    uint64_t bin_by_bin = 0;
    random_init(&random, 1);
    for (int i = 0; i < 100000; i++) {
        struct random_problem problem;
        draw_problem(&random, &problem);
        const struct packing_problem question = {problem.bins,       problem.bin_count, problem.items,
                                                 problem.item_count, 512,               1000000};
        struct packing_answer answer;
        packing_solve(&question, &answer);
        const bool truth = fits_by_trying_all(problem.sizes, problem.item_count, problem.room, problem.bin_count);
        ck_assert_int_eq(answer.result, truth ? PACKING_FITS : PACKING_NONE);
        fits += truth;
        searched += answer.nodes > 0;
        /* So small a budget leaves the first search next to nothing: the second one decides, or says unknown. */
        struct packing_problem short_of_nodes = question;
        short_of_nodes.nodes_max = 4 + (uint64_t)(i % 400);
        packing_solve(&short_of_nodes, &answer);
        ck_assert(answer.result == PACKING_UNKNOWN ||
                  answer.result == (truth ? PACKING_FITS : PACKING_NONE));
        bin_by_bin += answer.result != PACKING_UNKNOWN && strcmp(answer.method, "search bin by bin") == 0;
    }
    printf("packing: 100000 problems, %llu fit, %llu needed a search, %llu were decided bin by bin\n",
           (unsigned long long)fits, (unsigned long long)searched, (unsigned long long)bin_by_bin);
    ck_assert_uint_gt(searched, 1000);
    ck_assert_uint_gt(bin_by_bin, 100);
}
END_TEST

START_TEST(a_spent_budget_is_unknown_and_never_a_guess)
{
    struct random random;
    struct random_problem problem;
    struct packing_answer answer = {0};
    random_init(&random, 2);
    uint64_t searched = 0;
    for (int i = 0; i < 20000; i++) {
        draw_problem(&random, &problem);
        struct packing_problem question = {problem.bins,       problem.bin_count, problem.items,
                                           problem.item_count, 512,               1000000};
        packing_solve(&question, &answer);
        if (answer.nodes > 0) {
            question.nodes_max = 0;
            packing_solve(&question, &answer);
            ck_assert_int_eq(answer.result, PACKING_UNKNOWN);
            searched++;
        }
    }
    ck_assert_uint_gt(searched, 100);
}
END_TEST

/* Every order of items in every bin, each pushed down as far as its alignment allows. */
static bool aligned_fits_by_trying_all(const struct random_problem *problem, bool *used, size_t bin, uint64_t at)
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
            const bool fits = aligned_fits_by_trying_all(problem, used, bin, start + item->size_bytes);
            used[i] = false;
            if (fits) {
                return true;
            }
        }
    }
    return all_used || (bin + 1 < problem->bin_count &&
                        aligned_fits_by_trying_all(problem, used, bin + 1, problem->bins[bin + 1].start));
}

START_TEST(alignments_are_decided_as_by_trying_all)
{
    struct random random;
    uint64_t fits = 0;
    random_init(&random, 3);
    for (int i = 0; i < 20000; i++) {
        struct random_problem problem;
        bool used[ITEM_COUNT_MAX] = {false};
        draw_problem(&random, &problem);
        problem.item_count = problem.item_count > 6 ? 6 : problem.item_count;
        for (size_t k = 0; k < problem.item_count; k++) {
            problem.items[k].align_bytes = (uint64_t)512 << random_weighted(&random, (uint32_t[]){6, 2, 2, 1}, 4);
        }
        const struct packing_problem question = {problem.bins,       problem.bin_count, problem.items,
                                                 problem.item_count, 512,               1000000};
        struct packing_answer answer;
        packing_solve(&question, &answer);
        const bool truth = aligned_fits_by_trying_all(&problem, used, 0, problem.bins[0].start);
        ck_assert_int_eq(answer.result, truth ? PACKING_FITS : PACKING_NONE);
        fits += truth;
    }
    printf("packing with alignments: 20000 problems, %llu fit\n", (unsigned long long)fits);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packing");
    TCase *tests = tcase_create("packing");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_small_problem_is_decided_as_by_trying_all);
    tcase_add_test(tests, a_spent_budget_is_unknown_and_never_a_guess);
    tcase_add_test(tests, alignments_are_decided_as_by_trying_all);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
