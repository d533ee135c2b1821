/* The table of causes, and which defect the numbers of a placement point to.  That every cause is
 * named first on its story is in tests/snap/diagnosis_causes.snap. */
#include "diagnosis/cause.h"
#include "tests/helpers/suite.h"

#include <string.h>

TEST(the_table_of_causes_is_complete)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        ck_assert_ptr_nonnull(causes[i]->find);
        ck_assert_uint_gt(strlen(causes[i]->summary), 0);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(causes[i]->name, causes[j]->name);
        }
    }
}

/* Placements in a heap of 512-byte granules, and the defect that each points to. */
TEST(the_numbers_of_a_placement_point_to_a_defect)
{
    enum { K = 1024 };
    static const struct {
        const char *kind;
        struct line_fit fit;
        uint64_t largest_hole_bytes, free_bytes, in_use_bytes;
    } cases[] = {
        {"stack", {.stack_bytes = 8 * K}, 64 * K, 64 * K, 0},
        {"not_searched_again",
         {.need_bytes = 9 * K, .hole_bytes = 10 * K, .waits_done = 1},
         10 * K,
         10 * K,
         K},
        {"alignment",
         {.need_bytes = 9 * K, .align_bytes = 4 * K, .hole_bytes = 12 * K},
         12 * K,
         12 * K,
         K},
        {"size_class", {.need_bytes = 33 * K, .hole_bytes = 35 * K}, 35 * K, 40 * K, K},
        {"rounding", {.need_bytes = 33 * K, .hole_bytes = 36 * K}, 36 * K, 40 * K, K},
        {"exact_fit", {.need_bytes = 32 * K, .hole_bytes = 32 * K}, 32 * K, 40 * K, K},
        /* A larger hole is there: the size of the one that the plan takes explains nothing. */
        {"search", {.need_bytes = 33 * K, .hole_bytes = 33 * K}, 64 * K, 100 * K, K},
        {"leak", {.need_bytes = 33 * K, .hole_bytes = 64 * K}, 64 * K, 140 * K, K},
        {"leak", {.need_bytes = 33 * K, .hole_bytes = 64 * K}, 64 * K, 64 * K, 0},
        {"drain",
         {.need_bytes = K, .hole_bytes = K, .awaited_count = 1, .moved_count = 1},
         0,
         0,
         K},
        {"defragment",
         {.need_bytes = K, .hole_bytes = K, .awaited_count = 1, .moved_count = 1, .waits_done = 1},
         0,
         K,
         K},
        {"evict", {.need_bytes = K, .hole_bytes = K, .evicted_count = 2}, 0, 0, K},
        {"evict",
         {.need_bytes = K, .hole_bytes = K, .moved_count = 1, .evictions_done = 1},
         0,
         0,
         K},
    };
    static const struct target_contract contract = {.granule_bytes = 512};
    static const struct verdict verdict = {.kind = VERDICT_PREMATURE};
    static const struct history history;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct evidence evidence = {.history = &history,
                                    .verdict = &verdict,
                                    .contract = &contract,
                                    .room = fit_has_efforts(&cases[i].fit) ? ROOM_AFTER_EFFORTS
                                                                           : ROOM_AT_ONCE,
                                    .fit = cases[i].fit,
                                    .requested_bytes = cases[i].fit.need_bytes,
                                    .largest_hole_bytes = cases[i].largest_hole_bytes,
                                    .free_bytes = cases[i].free_bytes,
                                    .in_use_bytes = cases[i].in_use_bytes};
        struct diagnosis diagnosis;
        diagnosis_init(&diagnosis, &cause_refused_though_it_fits);
        evidence.fit.align_bytes += evidence.fit.align_bytes == 0 ? contract.granule_bytes : 0;
        cause_refused_though_it_fits.find(&evidence, &diagnosis);
        ck_assert_msg(strcmp(diagnosis.kind, cases[i].kind) == 0, "case %zu: %s, not %s", i,
                      diagnosis.kind, cases[i].kind);
        ck_assert_ptr_nonnull(strstr(diagnosis.text, "Remedy: "));
    }
}
