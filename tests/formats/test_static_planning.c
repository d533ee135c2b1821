/* Static planning on real instances: with moves, the peak of live bytes is enough; without, how
 * much more is needed.  And what large files rest on: orders and doubles.  What rows become is in
 * tests/snap/formats_static_planning.snap. */
#include "formats/common/radix.h"
#include "formats/formats.h"
#include "harness/base/random.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/static_planning/"
#define DATA HBMSTRESS_FIELD_DATA "/data/static_planning/"
enum {
    STEP_BYTES = 512
}; /* of the search for the smallest capacity: all sizes are multiples of it */

static void load_instance(const char *path)
{
    char text[4096];
    const struct setup fixed = {.granule_bytes = 1}; /* what these instances are measured in */
    const struct import_options options = {.fixed = &fixed};
    const enum import_result result = import_file(path, "static_planning", &options, &import,
                                                  &refusal);
    ck_assert_msg(result == IMPORT_OK, "%s", import_error_print(path, &refusal, text, sizeof text));
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
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s at %" PRIu64 ": %s: %s", target_name,
                  capacity_bytes, verdict_name(trial.first.kind), trial.first.reason);
    trial_deinit(&trial);
    return ooms;
}

/* The smallest capacity, in steps from the peak, at which no op runs out of memory, found by
 * halving: below it one step less was too little, which is as much as halving can say of an
 * allocator that is not monotone. */
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

static void measure_instance(const char *name, const char *path)
{
    load_instance(path);
    const uint64_t peak_bytes = import.setup.capacity_bytes;
    const uint64_t ooms = count_ooms("hbm", "repack", peak_bytes);
    printf("%-10s %4zu ops, peak %8" PRIu64 ", hbm repack at the peak: %" PRIu64
           " OOMs; without moves:",
           name, import.ops.count, peak_bytes, ooms);
    print_ratio(smallest_capacity("hbm", peak_bytes), peak_bytes);
    printf(" hbm");
    print_ratio(smallest_capacity("first_fit", peak_bytes), peak_bytes);
    printf(" first_fit\n");
    fflush(stdout);
    ck_assert_uint_eq(ooms, 0);
}

EVERY_TEST(.timeout_s = 600, .setup = setup_import, .teardown = teardown_import);

TEST(the_peak_is_enough_with_moves_on_our_own_instances)
{
    measure_instance("exclusive", FIELD "exclusive.csv");
    measure_instance("odd_sizes", FIELD "odd_sizes.csv");
}

TEST(the_peak_is_enough_with_moves_on_instances_a_to_f)
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
        measure_instance(name, path);
    }
}

/* --- many buffers --- */

enum { KEY_COUNT = 50000 };

/* Keys as files have them: nearly sorted and close together, nearly sorted over a wide range, in no
 * order, with one far away from the others, of all 64 bits, all the same, sorted. */
static uint64_t draw_key(struct random *random, int shape, uint64_t i)
{
    switch (shape) {
    case 0:
        return i / 4 + random_below(random, 1000);
    case 1:
        return i * 1000003 + random_below(random, 100000000);
    case 2:
        return random_below(random, UINT64_C(1) << 40);
    case 3:
        return i == 77 ? UINT64_MAX : random_below(random, 1 << 20);
    case 4:
        return random_below(random, UINT64_MAX) ^ random_below(random, 4) << 62;
    case 5:
        return 7;
    default:
        return i * i;
    }
}

TEST(an_order_is_that_of_the_keys_and_equal_keys_keep_theirs, .to = 7)
{
    static uint64_t keys[KEY_COUNT];
    static uint64_t order[KEY_COUNT];
    static uint64_t other[KEY_COUNT];
    static bool seen[KEY_COUNT];
    static const size_t counts[] = {1, 2, 3, 100, 2049, KEY_COUNT};
    struct random random;
    random_init(&random, 1);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        const size_t count = counts[k];
        for (size_t i = 0; i < count; i++) {
            keys[i] = draw_key(&random, _i, i);
            seen[i] = false;
        }
        radix_order(keys, count, order, other);
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_lt(order[i], count);
            ck_assert(!seen[order[i]]);
            seen[order[i]] = true;
            ck_assert(i == 0 || keys[order[i - 1]] < keys[order[i]] ||
                      (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
        }
    }
}

TEST(the_earliest_name_that_came_before_is_found)
{
    enum { NAME_COUNT = 5000, NAME_BYTES = 16 };
    static char texts[NAME_COUNT][NAME_BYTES];
    struct double_name names[NAME_COUNT];
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const int length = snprintf(texts[i], NAME_BYTES, "b%zu", i * 7919 % NAME_COUNT);
        names[i] = (struct double_name){texts[i], (size_t)length};
    }
    ck_assert_uint_eq(doubles_find(names, NAME_COUNT), NAME_COUNT);
    names[4000] = names[3999];
    names[900] = names[17];
    names[2000] = names[17];
    ck_assert_uint_eq(doubles_find(names, NAME_COUNT), 900);
}
