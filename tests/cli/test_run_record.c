/* What the record of a run keeps where it is too large: what lived long and is large, and all that
 * is near a failure or the peak. */
#include "page/run_record.h"

#include "harness/op/ops_file.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define HEAD "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget hbm\nseed 1\n"
enum { TURN_COUNT = 100000 };

static struct setup setup;
static struct op_list ops;
static struct run_record *record;

static void record_text(const char *text)
{
    struct ops_file_error error = {0};
    setup_init(&setup);
    op_list_init(&ops);
    ck_assert_int_eq(ops_file_parse(text, strlen(text), &setup, &ops, &error), OPS_FILE_OK);
    record = run_record_create(&setup, &ops);
    ck_assert_ptr_nonnull(record);
    run_record_run(record, target_find(setup.target));
}

/* A record of TURN_COUNT turns of which each made a block that lives for one turn; every tenth
 * lives for a hundred. */
static void make_long(void)
{
    const struct op free_op = op_make(OP_REPORT);
    op_list_init(&ops);
    for (uint32_t i = 0; i < TURN_COUNT; i++) {
        op_list_append(&ops, &free_op);
    }
    setup_init(&setup);
    record = run_record_create(&setup, &ops);
    ck_assert_ptr_nonnull(record);
    record->capacity_bytes[0] = 1 << 20;
    for (uint32_t i = 0; i < TURN_COUNT; i++) {
        record->ops[record->op_count++] = (struct record_op){.op = i, .in_use_bytes = 512};
        record->blocks[record->block_count++] = (struct record_block){
            .size_bytes = 512, .begin = i, .end = i + (i % 10 == 0 ? 100 : 1), .maker = i};
    }
    record->ops[TURN_COUNT - 10].in_use_bytes = 1024; /* the peak */
}

static void add_failure(uint32_t turn, enum verdict_kind kind)
{
    record->failures[record->failure_count++] = (struct record_failure){
        .turn = turn, .verdict.kind = kind, .is_oom = true, .is_judged = true};
}

static void forget(void)
{
    run_record_destroy(record);
    op_list_deinit(&ops);
}

static bool has_block(uint32_t begin)
{
    for (size_t i = 0; i < record->block_count; i++) {
        if (record->blocks[i].begin == begin) {
            return true;
        }
    }
    return false;
}

TEST(a_use_that_ends_by_itself_makes_the_block_movable_again)
{
    record_text(HEAD "0: alloc size=1K\n1: use block=0 delay=10ns\n2: advance delay=20ns\n"
                     "3: hold block=0\n4: free block=0\n5: release block=0\n6: report\n");
    static const uint8_t states[] = {RECORD_MOVABLE, RECORD_HELD, RECORD_MOVABLE, RECORD_HELD,
                                     RECORD_DYING};
    static const uint32_t ends[] = {1, 2, 3, 4, 5};
    ck_assert_uint_eq(record->op_count, 7);
    ck_assert_uint_eq(record->block_count, 5);
    for (size_t i = 0; i < record->block_count; i++) {
        ck_assert_uint_eq(record->blocks[i].state, states[i]);
        ck_assert_uint_eq(record->blocks[i].end, ends[i]);
        ck_assert_uint_eq(record->blocks[i].maker, 0);
    }
    ck_assert_uint_eq(record->ops[4].queued_bytes, 1024);
    ck_assert_uint_eq(record->ops[5].queued_bytes, 0);
    forget();
}

TEST(the_stack_is_a_block_for_each_of_its_sizes)
{
    record_text(HEAD "0: load size=1K stack=2K\n1: execute program=0 delay=10ns\n"
                     "2: advance delay=20ns\n3: report\n");
    uint32_t count = 0;
    for (size_t i = 0; i < record->block_count; i++) {
        if (record->blocks[i].state == RECORD_STACK) {
            ck_assert_uint_eq(record->blocks[i].size_bytes, 2048);
            ck_assert_uint_eq(record->blocks[i].begin, 1);
            ck_assert_uint_eq(record->blocks[i].end, 2);
            count++;
        }
    }
    ck_assert_uint_eq(count, 1);
    forget();
}

TEST(thinning_keeps_what_lived_long)
{
    make_long();
    run_record_thin(record, 20000);
    ck_assert_uint_le(record->block_count, 20000);
    ck_assert_uint_eq(record->block_count + record->left_out_count, TURN_COUNT);
    for (uint32_t begin = 0; begin < TURN_COUNT; begin += 10) {
        ck_assert(has_block(begin));
    }
    forget();
}

TEST(thinning_keeps_all_around_a_failure_and_the_peak)
{
    make_long();
    add_failure(50000, VERDICT_JUSTIFIED);
    run_record_thin(record, 20000);
    ck_assert_uint_le(record->block_count, 20000);
    for (uint32_t begin = 48000; begin <= 52000; begin++) {
        ck_assert(has_block(begin));
    }
    for (uint32_t begin = TURN_COUNT - 2000; begin < TURN_COUNT; begin++) {
        ck_assert(has_block(begin));
    }
    forget();
}

TEST(with_many_failures_the_windows_of_the_first_that_are_not_justified_stay)
{
    make_long();
    for (uint32_t i = 0; i < 100; i++) {
        add_failure(500 * i, VERDICT_JUSTIFIED);
    }
    add_failure(90000, VERDICT_PREMATURE);
    run_record_thin(record, 15000);
    ck_assert_uint_le(record->block_count, 15000);
    for (uint32_t begin = 89800; begin <= 90200; begin++) {
        ck_assert(has_block(begin));
    }
    forget();
}

TEST(a_limit_below_the_windows_is_kept_all_the_same)
{
    make_long();
    add_failure(50000, VERDICT_PREMATURE);
    run_record_thin(record, 1000);
    ck_assert_uint_le(record->block_count, 1000);
    ck_assert(has_block(50000));
    forget();
}
