/* Static planning on real instances: with moves, the peak of live bytes is enough; without, how much more is needed. */
#include "formats/formats.h"
#include "harness/run.h"
#include "targets/targets.h"
#include "tests/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/static_planning/"
#define DATA HBMSTRESS_FIELD_DATA "/data/static_planning/"
enum { STEP_BYTES = 512 }; /* of the search for the smallest capacity: all sizes are multiples of it */

static struct import import;

static void load(const char *path)
{
    struct import_error error = {0};
    char text[4096];
    const struct setup fixed = {.granule_bytes = 1}; /* what these instances are measured in */
    const struct import_options options = {.fixed = &fixed};
    import_init(&import);
    const enum import_result result = import_file(path, "static_planning", &options, &import, &error);
    ck_assert_msg(result == IMPORT_OK, "%s", import_error_print(path, &error, text, sizeof text));
}

/* Runs the imported ops; OOMs are counted, every other broken promise fails the test. */
static uint64_t count_ooms(const char *target_name, const char *defrag, uint64_t capacity_bytes)
{
    struct setup setup = import.setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    setup.capacity_bytes = capacity_bytes;
    ck_assert(setup_set_option(&setup, "defrag", defrag));
    snprintf(setup.target, sizeof setup.target, "%s", target_name);
    const struct target *target = target_find(target_name);
    ck_assert_ptr_nonnull(target);
    ck_assert_msg(trial_replay(target, &setup, &import.ops, NULL, &trial, reason), "%s", reason);
    const uint64_t ooms = trial.totals.ooms;
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s at %" PRIu64 ": %s: %s", target_name, capacity_bytes,
                  verdict_name(trial.first.kind), trial.first.reason);
    trial_deinit(&trial);
    return ooms;
}

/* The smallest capacity, in steps from the peak, at which no op runs out of memory, found by halving: below it
 * one step less was too little, which is as much as halving can say of an allocator that is not monotone. */
static uint64_t smallest_capacity(const char *target_name, uint64_t peak_bytes)
{
    uint64_t low = 0; /* steps above the peak: too little */
    uint64_t high = 1;
    if (count_ooms(target_name, "none", peak_bytes) == 0) {
        return peak_bytes;
    }
    while (count_ooms(target_name, "none", peak_bytes + high * STEP_BYTES) > 0) {
        low = high;
        high *= 2;
        ck_assert_uint_lt(high * STEP_BYTES, 16 * peak_bytes + STEP_BYTES * 2);
    }
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (count_ooms(target_name, "none", peak_bytes + middle * STEP_BYTES) > 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return peak_bytes + high * STEP_BYTES;
}

/* a / b with three decimals, rounded up. */
static void print_ratio(uint64_t a, uint64_t b)
{
    const uint64_t thousandths = (a * 1000 + b - 1) / b;
    printf("  %9" PRIu64 " (%" PRIu64 ".%03" PRIu64 ")", a, thousandths / 1000, thousandths % 1000);
}

static void measure(const char *name, const char *path)
{
    load(path);
    const uint64_t peak_bytes = import.setup.capacity_bytes;
    const uint64_t ooms = count_ooms("hbm", "repack", peak_bytes);
    printf("%-10s %4zu ops, peak %8" PRIu64 ", hbm repack at the peak: %" PRIu64 " OOMs; without moves:", name,
           import.ops.count, peak_bytes, ooms);
    print_ratio(smallest_capacity("hbm", peak_bytes), peak_bytes);
    printf(" hbm");
    print_ratio(smallest_capacity("first_fit", peak_bytes), peak_bytes);
    printf(" first_fit\n");
    fflush(stdout);
    ck_assert_uint_eq(ooms, 0);
    import_deinit(&import);
}

START_TEST(the_peak_is_enough_with_moves_on_our_own_instances)
{
    measure("exclusive", FIELD "exclusive.csv");
    measure("odd_sizes", FIELD "odd_sizes.csv");
}
END_TEST

START_TEST(the_peak_is_enough_with_moves_on_instances_a_to_f)
{
    static const char letters[] = "ABCDEF";
    for (const char *letter = letters; *letter != '\0'; letter++) {
        char path[4096];
        char name[2] = {*letter, '\0'};
        snprintf(path, sizeof path, DATA "%c.1048576.csv", *letter);
        if (access(path, R_OK) != 0) {
            printf("skipped: no %s\n", path);
            continue;
        }
        measure(name, path);
    }
}
END_TEST

static Suite *suite_make(void)
{
    Suite *suite = suite_create("static_planning");
    TCase *cases = tcase_create("static_planning");
    tcase_set_timeout(cases, 600);
    tcase_add_test(cases, the_peak_is_enough_with_moves_on_our_own_instances);
    tcase_add_test(cases, the_peak_is_enough_with_moves_on_instances_a_to_f);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return suite_run(suite_make());
}
