/* The decoder of fuzz inputs: total, stable, and the way back. */
#include "fuzz/input.h"
#include "harness/op/chip.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 4096 };

static struct input input;

static void set_up(void)
{
    input_init(&input);
}

static void tear_down(void)
{
    input_deinit(&input);
}

static void check_equal(const struct input *one, const struct input *other)
{
    ck_assert_uint_eq(one->ops.count, other->ops.count);
    for (size_t i = 0; i < one->ops.count; i++) {
        ck_assert_msg(op_equal(&one->ops.ops[i], &other->ops.ops[i]), "op %zu differs", i);
    }
    ck_assert_int_eq(memcmp(&one->setup, &other->setup, sizeof one->setup), 0);
    ck_assert_uint_eq(one->faults.kinds, other->faults.kinds);
    ck_assert_uint_eq(one->lane_count, other->lane_count);
    ck_assert_uint_eq(one->choice_count, other->choice_count);
    ck_assert(one->choice_count == 0 ||
              memcmp(one->choices, other->choices, one->choice_count) == 0);
}

/* Encodes into memory of exactly the length, so that a byte too many is seen, and decodes again. */
static void check_there_and_back(const struct input *given)
{
    struct input back;
    input_init(&back);
    const size_t length = input_encode(given, NULL, 0);
    uint8_t *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(input_encode(given, bytes, length), length);
    input_decode(bytes, length, &back);
    check_equal(given, &back);
    free(bytes);
    input_deinit(&back);
}

/* Random bytes, now and then with a head that a run would have. */
static size_t draw_bytes(struct random *random, uint8_t bytes[BYTES_MAX])
{
    const size_t length = (size_t)random_below(random, BYTES_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)random_bits(random);
    }
    if (length > INPUT_HEADER_BYTES && random_chance(random, 3, 4)) {
        bytes[24] = (uint8_t)random_below(random, 64);
        bytes[25] = 0;
    }
    return length;
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(any_bytes_are_a_legal_list, .to = 400)
{
    struct random random;
    uint8_t bytes[BYTES_MAX];
    random_init(&random, (uint64_t)_i);
    const size_t length = draw_bytes(&random, bytes);
    input_decode(bytes, length, &input);
    for (size_t i = 0; i < input.ops.count; i++) {
        ck_assert_uint_lt(input.ops.ops[i].kind, OP_KIND_COUNT);
        ck_assert_uint_lt(input.ops.ops[i].lane, input.lane_count);
        ck_assert_uint_lt(input.ops.ops[i].host, input.setup.host_count);
    }
    ck_assert_uint_ge(input.setup.capacity_bytes, 1);
    ck_assert_uint_le(input.setup.capacity_bytes, (uint64_t)1 << 50);
    struct run *run = NULL;
    char reason[RUN_REASON_BYTES];
    run = run_create(&target_null, &input.setup, reason);
    ck_assert(run == NULL || strstr(reason, "granule") == NULL);
    run_destroy(run);
    check_there_and_back(&input);
}

TEST(what_is_missing_counts_as_zero)
{
    struct random random;
    struct input cut;
    struct input padded;
    uint8_t bytes[BYTES_MAX] = {0};
    random_init(&random, 7);
    input_init(&cut);
    input_init(&padded);
    for (size_t length = 0; length < INPUT_HEADER_BYTES + 2 * INPUT_WIDE_BYTES; length++) {
        memset(bytes, 0, sizeof bytes);
        for (size_t i = 0; i < length; i++) {
            bytes[i] = (uint8_t)random_bits(&random);
        }
        bytes[24] = bytes[25] = 0;
        input_decode(bytes, length, &cut);
        input_decode(bytes, length + INPUT_WIDE_BYTES, &padded);
        ck_assert_uint_ge(padded.ops.count, cut.ops.count);
        padded.ops.count = cut.ops.count;
        check_equal(&cut, &padded);
    }
    input_decode(NULL, 0, &cut);
    ck_assert_uint_eq(cut.ops.count, 0);
    ck_assert_uint_eq(cut.setup.capacity_bytes,
                      INPUT_CAPACITY_GRANULES_DEFAULT * INPUT_GRANULE_BYTES);
    input_deinit(&cut);
    input_deinit(&padded);
}

/* --- lists from elsewhere --- */

static void check_list_survives(const struct setup *setup, const struct op_list *ops,
                                const char *name)
{
    ck_assert_msg(input_from_ops(setup, ops, &input), "%s", name);
    ck_assert_uint_eq(input.ops.count, ops->count);
    for (size_t i = 0; i < ops->count; i++) {
        ck_assert_msg(op_equal(&input.ops.ops[i], &ops->ops[i]), "%s: op %zu is another one", name,
                      i);
    }
    ck_assert_uint_eq(input.setup.capacity_bytes, setup->capacity_bytes);
    ck_assert_uint_eq(input.setup.granule_bytes, setup->granule_bytes);
    ck_assert_uint_eq(input.setup.host_count, setup->host_count);
    ck_assert_uint_eq(input.setup.seed, setup->seed);
    const char *const keys[] = {
        "defrag", "order", "drains", "evicts", "program_evicts_program", "message_code"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *was = setup_option(setup, keys[i]);
        const char *is = setup_option(&input.setup, keys[i]);
        ck_assert_msg((was == NULL) == (is == NULL) && (was == NULL || strcmp(was, is) == 0),
                      "%s: %s", name, keys[i]);
    }
    check_there_and_back(&input);
}

static int is_ops_file(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ops") == 0;
}

TEST(a_list_of_a_file_is_the_same_list_as_bytes, .to = 2)
{
    static const char *const folders[] = {HBMSTRESS_SOURCE_DIR "/corpus/regressions",
                                          HBMSTRESS_SOURCE_DIR "/corpus/field/ops"};
    struct dirent **entries = NULL;
    const int count = scandir(folders[_i], &entries, is_ops_file, alphasort);
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++) {
        char path[1024];
        struct setup setup;
        struct op_list ops;
        struct ops_file_error error;
        op_list_init(&ops);
        ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", folders[_i], entries[i]->d_name),
                         (int)sizeof path);
        ck_assert_msg(ops_file_read(path, &setup, &ops, &error) == OPS_FILE_OK, "%s: %s", path,
                      error.reason);
        check_list_survives(&setup, &ops, path);
        op_list_deinit(&ops);
        free(entries[i]);
    }
    free(entries);
}

TEST(a_list_of_a_scenario_is_the_same_list_as_bytes, .to = 10)
{
    for (uint64_t seed = 1; seed <= 5 && scenarios[_i] != NULL; seed++) {
        char reason[RUN_REASON_BYTES];
        struct setup setup;
        struct trial trial;
        setup_init(&setup);
        setup.seed = UINT64_MAX - seed;
        const struct trial_plan plan = {.target = &target_hbm,
                                        .scenario = scenarios[_i],
                                        .setup = &setup,
                                        .capacity_is_free = true,
                                        .op_count_max = 500,
                                        .faults = {FAULTING_ALL}};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        check_list_survives(&trial.setup, &trial.ops, scenarios[_i]->name);
        trial_deinit(&trial);
    }
}

TEST(marked_bytes_give_hosts_their_time_and_groups)
{
    uint8_t bytes[INPUT_HEADER_BYTES] = {1, [6] = 195, [27] = 1 | 2 << 1, [28] = 0x93, [29] = 0x12};
    input_decode(bytes, sizeof bytes, &input);
    ck_assert(!input.setup.has_clocks);
    ck_assert_uint_eq(input.setup.group_count, 0);
    ck_assert_uint_eq(input.setup.collective_bound_ns, 0);
    bytes[31] = 'H';
    input_decode(bytes, sizeof bytes, &input);
    ck_assert_uint_eq(input.setup.host_count, 4);
    ck_assert(input.setup.has_clocks);
    ck_assert_uint_eq(input.setup.clocks[3].ahead_ns, 9000000);
    ck_assert_int_eq(input.setup.clocks[1].drift, 1000);
    ck_assert_uint_eq(input.setup.collective_bound_ns, 1000000);
    ck_assert_uint_eq(input.setup.group_count, 4);
    ck_assert_uint_eq(setup_members(&input.setup, 1), 0xC);
    ck_assert_uint_eq(setup_members(&input.setup, 64), 5);
    check_there_and_back(&input);
    input_set_host_count(&input, 3);
    ck_assert_uint_eq(setup_members(&input.setup, 1), 4);
    check_there_and_back(&input);
    bytes[7] = 1; /* two lanes share one time */
    input_decode(bytes, sizeof bytes, &input);
    ck_assert(!input.setup.has_clocks);
    ck_assert_uint_eq(input.setup.group_count, 4);
    check_there_and_back(&input);
}

TEST(each_mesh_and_each_clock_comes_back)
{
    struct random random;
    random_init(&random, 7);
    for (int i = 0; i < 100; i++) {
        uint8_t bytes[INPUT_HEADER_BYTES + 40 * INPUT_RECORD_BYTES] = {1, [31] = 'H'};
        bytes[6] = (uint8_t)random_bits(&random);
        for (size_t k = INPUT_HEADER_BYTES; k < sizeof bytes; k++) {
            bytes[k] = (uint8_t)random_bits(&random);
        }
        for (int k = 27; k < 31; k++) {
            bytes[k] = (uint8_t)random_bits(&random);
        }
        input_decode(bytes, sizeof bytes, &input);
        check_there_and_back(&input);
    }
}

TEST(time_and_groups_of_a_file_are_kept)
{
    static const char text[] =
        "hbmstress-ops 1\ncapacity 64K\ngranule 512\nhosts 4\nclocks own\n"
        "clock 1 ahead=5ms drift=-2000\nclock 2 ahead=10ms drift=-4000\n"
        "clock 3 ahead=15ms drift=0\ncollective_bound never\n"
        "group 0 0-1 \"data 0\"\ngroup 1 2-3 \"data 1\"\n\n0: report host=3\n";
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    op_list_init(&ops);
    ck_assert_msg(ops_file_parse(text, sizeof text - 1, &setup, &ops, &error) == OPS_FILE_OK, "%s",
                  error.reason);
    ck_assert(input_from_ops(&setup, &ops, &input));
    check_there_and_back(&input);
    ck_assert(input.setup.has_clocks);
    ck_assert_int_eq(memcmp(input.setup.clocks, setup.clocks, sizeof setup.clocks), 0);
    ck_assert_uint_eq(setup_members(&input.setup, 1), 0xC);
    ck_assert_uint_eq(input.setup.collective_bound_ns, DELAY_NEVER);
    /* What no mesh is, records say. */
    const size_t length = input_encode(&input, NULL, 0);
    ck_assert(setup_set_group(&setup, 7, 5, "odd"));
    ck_assert(setup_set_group(&setup, 700, 6, "even"));
    setup.clocks[2].drift = -SETUP_DRIFT_MAX;
    setup.collective_bound_ns = 12345678901;
    ck_assert(input_from_ops(&setup, &ops, &input));
    check_there_and_back(&input);
    ck_assert_uint_eq(input_encode(&input, NULL, 0), length + 8 * INPUT_RECORD_BYTES);
    ck_assert_uint_eq(input_head_bytes(&input), INPUT_HEADER_BYTES + 8 * INPUT_RECORD_BYTES);
    ck_assert_uint_eq(input.setup.group_count, 4);
    ck_assert_uint_eq(setup_members(&input.setup, 7), 5);
    ck_assert_str_eq(setup_group_name(&input.setup, 700), "group 700");
    ck_assert_int_eq(memcmp(input.setup.clocks, setup.clocks, sizeof setup.clocks), 0);
    ck_assert_uint_eq(input.setup.collective_bound_ns, 12345678901);
    op_list_deinit(&ops);
}

/* A record for host 9, one for no host, and half a record are nothing; what is behind is no op. */
TEST(records_of_hosts_that_are_not_there_say_nothing)
{
    enum { RECORDS = 4, KIND_CLOCK = 1, CUT = 5 };
    uint8_t bytes[INPUT_HEADER_BYTES + RECORDS * INPUT_RECORD_BYTES] = {
        1, [6] = 3, [27] = 1, [30] = RECORDS, [31] = 'H'};
    uint8_t *record = bytes + INPUT_HEADER_BYTES;
    record[0] = KIND_CLOCK;
    record[1] = 9;
    record[8] = 1;
    record[INPUT_RECORD_BYTES + 9] = 0xFF; /* hosts 8 to 15 */
    record[2 * INPUT_RECORD_BYTES + 8] = 0xE6;
    record[3 * INPUT_RECORD_BYTES + 2] = 1;
    record[3 * INPUT_RECORD_BYTES + 8] = 1;
    input_decode(bytes, sizeof bytes - (INPUT_RECORD_BYTES - CUT), &input);
    ck_assert_uint_eq(input.ops.count, 0);
    ck_assert(input.setup.has_clocks);
    ck_assert_uint_eq(input.setup.group_count, 1);
    ck_assert_uint_eq(setup_members(&input.setup, 0), 6);
    check_there_and_back(&input);
    bytes[31] = 0; /* without the mark they are ops */
    input_decode(bytes, sizeof bytes, &input);
    ck_assert_uint_eq(input.setup.group_count, 0);
    ck_assert_uint_eq(input.ops.count, RECORDS * INPUT_RECORD_BYTES / INPUT_SHORT_BYTES);
}

TEST(what_an_input_cannot_say_is_refused)
{
    struct setup setup;
    struct op_list none;
    op_list_init(&none);
    setup_init(&setup);
    setup.capacity_bytes = 1000; /* no whole number of granules */
    ck_assert(!input_from_ops(&setup, &none, &input));
    setup.granule_bytes = 8;
    ck_assert(input_from_ops(&setup, &none, &input));
    setup.capacity_bytes = (uint64_t)1 << 40; /* too many granules */
    ck_assert(!input_from_ops(&setup, &none, &input));
    setup.granule_bytes = 1 << 17;
    ck_assert(!input_from_ops(&setup, &none, &input));
}

/* --- what a corpus means --- */

/* One op of each kind; whatever changes what these bytes mean needs another version. */
static const uint8_t corpus[] = {
    /* version, defrag, order, flags, granule, chip, hosts, lanes; faults; capacity; seed; choices,
       unused */
    1,   2,    4,    0x12, 11, 0, 1,  2, 3, 0, 0, 0,  64,   0, 0, 0, 7, 0, 0,   0, 0,
    0,   0,    0,    3,    0,  0, 0,  0, 0, 0, 0, 0,  0x01, 4, 0, 3, 0, 2, 245, /* alloc: 4
                                                                                   granules,
                                                                                   unpadded 3, tag
                                                                                   2, align 2^11 */
    1,   0x02, 0,    0x08, 0,  0, 0,  0,                                        /* output: fitted */
    2,   0x01, 0,    0,    0,  0, 0,  0,                                        /* free */
    3,   0x00, 5,    0,    0,  0, 10, 0, /* free_after, relative, with a delay */
    4,   0x01, 1,    0,    3,  0, 0,  1, /* use, with an event */
    5,   0x21, 1,    0,    0,  0, 0,  0, /* hold on host 1 */
    6,   0x05, 1,    0,    0,  0, 0,  0, /* release in lane 1 */
    7,   0x03, 1,    0,    4,  0, 1,  0, /* donate: fitted */
    8,   0x01, 2,    0,    1,  0, 9,  0, /* load */
    9,   0x00, 0,    0,    0,  0, 0,  0, /* unload */
    10,  0x00, 0,    0,    6,  0, 40, 3, /* execute: collective and spmd 6, the longest delay */
    11,  0x01, 0,    0,    0,  0, 0,  0, /* defragment */
    12,  0x01, 3,    0,    0,  0, 0,  0, /* complete */
    13,  0x01, 0,    0,    0,  0, 3,  0, /* advance */
    14,  0x00, 9,    0,    0,  0, 0,  0, /* touch */
    15,  0x01, 0,    0,    0,  0, 0,  0, /* report */
    16,  0x01, 2,    0,    12, 0, 5,  0, /* fault: the second call, for ever */
    17,  0x00, 1,    0,    7,  0, 0,  0, /* retire */
    18,  0x01, 4,    0,    2,  0, 1,  0, /* switch */
    19,  0x01, 0,    0,    0,  0, 0,  0, /* sleep */
    20,  0x01, 0,    0,    0,  0, 0,  0, /* wake */
    21,  0x01, 0,    0,    0,  0, 0,  0, /* record */
    22,  0x01, 0,    0,    0,  0, 0,  0, /* record_end */
    23,  0x00, 2,    0,    0,  0, 0,  0, /* record_drop, relative */
    24,  0x01, 0xFF, 0xFF, 0,  0, 0,  0, /* byte 0 modulo 24: alloc, with a size in bytes */
    255, 0,    1,    1,    8,  7, 4,  0, 5, 0, 0, 0,  0,    0, 0, 0, 0, 0, 0,   0, 0,
    0,   0,    0,    21,   0,  0, 0,  0, 0, 0, 0, 22, 0,    0, 0, 0, 0, 0, 0, /* the wide form */
    255, 0,    0,    0,    64, 0, 0,  0, 3, 0, 0, 0,  0,    0, 0, 0, 0, 0, 0,   0, 0,
    0,   0,    0,    0,    4,  0, 0,  0, 0, 0, 0, 0,  0,    0, 0, 0, 0, 0, 0, /* stream 3 */
    9,   8,    7};

TEST(a_corpus_means_what_it_always_meant)
{
    char *text = NULL;
    size_t length = 0;
    input_decode(corpus, sizeof corpus, &input);
    FILE *stream = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(stream);
    ops_file_print(stream, &input.setup, &input.ops, NULL);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_uint_eq(input.lane_count, 3);
    ck_assert_uint_eq(input.faults.kinds, 3);
    ck_assert_uint_eq(input.choice_count, 3);
    ck_assert_uint_eq(input.choices[2], 7);
    snap(text);
    free(text);
    check_there_and_back(&input);
}

TEST(each_chip_has_a_code)
{
    uint8_t bytes[INPUT_HEADER_BYTES] = {1};
    for (uint8_t i = 0; chips[i] != NULL; i++) {
        bytes[5] = i + 1;
        input_decode(bytes, sizeof bytes, &input);
        ck_assert_str_eq(input.setup.chip, chips[i]->name);
        check_there_and_back(&input);
    }
}

/* 0, never, and 1, 2 or 5 times a power of ten. */
TEST(each_delay_with_a_code_takes_8_bytes)
{
    enum { DELAY_CODE_COUNT = 41, SHORT_BYTES = 8, WIDE_BYTES = 40 };
    uint8_t bytes[INPUT_HEADER_BYTES + SHORT_BYTES] = {1};
    bytes[INPUT_HEADER_BYTES] = OP_ADVANCE;
    for (uint8_t code = 0; code < DELAY_CODE_COUNT; code++) {
        bytes[INPUT_HEADER_BYTES + 6] = code;
        input_decode(bytes, sizeof bytes, &input);
        ck_assert_uint_eq(input.ops.count, 1);
        ck_assert_uint_eq(input_op_bytes(&input, &input.ops.ops[0]), SHORT_BYTES);
        check_there_and_back(&input);
        struct op between = input.ops.ops[0];
        between.delay_ns += between.delay_ns == DELAY_NEVER ? 0 : 3;
        const bool has_code = between.delay_ns == DELAY_NEVER || between.delay_ns == 5;
        ck_assert_uint_eq(input_op_bytes(&input, &between), has_code ? SHORT_BYTES : WIDE_BYTES);
    }
}
