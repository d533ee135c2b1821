/* Training jobs as they are: nothing sure is told of a healthy one, and a planted cause is found.
 */
#include "tests/diagnosis/confusion.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <stdio.h>

enum {
    OP_COUNT_MAX = 4000,
    HEALTHY_SEED_COUNT = 100,
    HEALTHY_OP_COUNT_MAX = 1200,
    SICK_SEED_COUNT = 10,
    SICK_OP_COUNT_MAX = 1200,
    WRONG_COUNT_MAX = 1,
    COPIES_WRONG_COUNT_MAX = 3 /* of the first steps */
};

/* --- healthy jobs --- */

/* Sets *told; the trace is of a seed that tuned nothing. */
static void tell_seed(enum training_plant plant, uint32_t i, struct training_told *told)
{
    struct training_trace trace;
    training_trace_make(&trace, TRAINING_TEST_SEED + i, plant, HEALTHY_OP_COUNT_MAX);
    training_tell(&trace, told);
    training_trace_deinit(&trace);
}

EVERY_TEST(.timeout_s = 0);

TEST(nothing_is_sure_of_a_healthy_job)
{
    for (uint32_t i = 0; i < HEALTHY_SEED_COUNT; i++) {
        struct training_told told;
        tell_seed(TRAINING_HEALTHY, i, &told);
        ck_assert(!told.has_oom);
        for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
            ck_assert_msg(told.confidences[cause] < DIAGNOSIS_SURE, "seed %u: %s", i,
                          causes[cause]->name);
        }
    }
}

TEST(of_a_device_that_is_too_small_nothing_else_is_sure)
{
    const size_t exhausted = training_cause_index("exhausted");
    for (uint32_t i = 0; i < HEALTHY_SEED_COUNT / 2; i++) {
        struct training_told told;
        tell_seed(TRAINING_EXHAUSTED, i, &told);
        ck_assert(told.has_oom);
        for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
            ck_assert_msg(cause == exhausted || told.confidences[cause] < DIAGNOSIS_SURE,
                          "seed %u: %s", i, causes[cause]->name);
        }
    }
}

/* --- planted causes --- */

/* Of SICK_SEED_COUNT traces, so many must have the planted cause first. */
static const uint32_t right_counts_min[TRAINING_PLANT_COUNT] = {
    [TRAINING_LEAK] = 4,          [TRAINING_GROWING_SET] = 6,
    [TRAINING_STILL_GROWING] = 5, [TRAINING_COPIES] = 2,
    [TRAINING_SPIKE] = 8,         [TRAINING_REFERENCES] = 10,
    [TRAINING_QUEUED_FREES] = 10, [TRAINING_HEAD_OF_LINE] = 10,
    [TRAINING_PADDING] = 9,       [TRAINING_FRAGMENTED] = 10,
    [TRAINING_ROUNDED_UP] = 10,   [TRAINING_HOST_SKEW] = 8,
    [TRAINING_OUT_OF_PLACE] = 10, [TRAINING_REFUSED_THOUGH_IT_FITS] = 10,
};

TEST(a_planted_cause_is_told, .from = TRAINING_LEAK, .to = TRAINING_PLANT_COUNT)
{
    const uint32_t count = (uint32_t)draws_count(SICK_SEED_COUNT * 3, SICK_SEED_COUNT);
    const struct confusion_size size = {TRAINING_TEST_SEED, count, SICK_OP_COUNT_MAX};
    struct confusion_counts counts;
    confusion_count((enum training_plant)_i, &size, &counts);
    const uint32_t tens = count / SICK_SEED_COUNT;
    const uint32_t wrong_max = _i == TRAINING_COPIES ? COPIES_WRONG_COUNT_MAX : WRONG_COUNT_MAX;
    ck_assert_msg(counts.right >= right_counts_min[_i] * tens && counts.wrong <= wrong_max * tens &&
                      counts.sure_wrong == 0,
                  "%s: right %u, wrong %u (sure %u) of %u",
                  training_plant_name((enum training_plant)_i), counts.right, counts.wrong,
                  counts.sure_wrong, count);
}

/* The op that the others wait for is named. */
TEST(the_head_of_the_line_is_named)
{
    const size_t cause = training_cause_index("head_of_line");
    for (uint32_t i = 0; i < SICK_SEED_COUNT; i++) {
        struct training_trace trace;
        struct training_told told;
        training_trace_make(&trace, TRAINING_TEST_SEED + i, TRAINING_HEAD_OF_LINE,
                            SICK_OP_COUNT_MAX);
        training_tell(&trace, &told);
        if (told.has_oom) {
            ck_assert_uint_eq(told.ops[cause], trace.plant_op);
        }
        training_trace_deinit(&trace);
    }
}

TEST(a_seed_gives_the_same_trace, .to = 5)
{
    struct training_trace a, b;
    training_trace_make(&a, (uint64_t)_i, TRAINING_LEAK, SICK_OP_COUNT_MAX);
    training_trace_make(&b, (uint64_t)_i, TRAINING_LEAK, SICK_OP_COUNT_MAX);
    ck_assert_uint_eq(a.ops.count, b.ops.count);
    for (size_t i = 0; i < a.ops.count; i++) {
        ck_assert(op_equal(&a.ops.ops[i], &b.ops.ops[i]));
    }
    ck_assert_uint_eq(a.setup.capacity_bytes, b.setup.capacity_bytes);
    training_trace_deinit(&a);
    training_trace_deinit(&b);
}

/* --- the larger measurements, where the environment asks for them --- */

/* The variable has the number of traces; HBMSTRESS_CONFUSION_SEED chooses other seeds than those
 * that tuned nothing. */
static bool read_size(const char *variable, uint64_t first_seed, struct confusion_size *size)
{
    const char *count = getenv(variable);
    const char *seed = getenv("HBMSTRESS_CONFUSION_SEED");
    size->first_seed = seed == NULL ? first_seed : strtoull(seed, NULL, 10);
    size->trace_count = count == NULL ? 0 : (uint32_t)strtoul(count, NULL, 10);
    size->op_count_max = OP_COUNT_MAX;
    return count != NULL;
}

TEST(the_tables_of_the_page_are_printed_on_demand)
{
    struct confusion_size size;
    if (read_size("HBMSTRESS_CONFUSION", TRAINING_TEST_SEED, &size)) {
        confusion_print(&size);
    }
    if (read_size("HBMSTRESS_STRENGTHS", TRAINING_STRENGTH_SEED, &size)) {
        confusion_print_strengths(&size);
    }
}
