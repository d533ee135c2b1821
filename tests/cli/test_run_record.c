/* What the record of a run keeps where it is too large: what lived long and is large, and all that
 * is near a failure or the peak. */
#include "page/run_record.h"

#include "targets/targets.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define HEAD "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget hbm\nseed 1\n"
enum { TURN_COUNT = 100000 };

static struct setup setup;
static struct op_list ops;
static struct run_record *record;

static void record_text(const char *text)
{
    read_list(text, &setup, &ops);
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

static void end(void)
{
    snap_rest();
    run_record_destroy(record);
    op_list_deinit(&ops);
}

EVERY_TEST(.teardown = end);

static bool has_block(uint32_t begin)
{
    for (size_t i = 0; i < record->block_count; i++) {
        if (record->blocks[i].begin == begin) {
            return true;
        }
    }
    return false;
}

static void check_blocks(uint32_t begin, uint32_t end, uint32_t step)
{
    for (; begin < end; begin += step) {
        ck_assert_msg(has_block(begin), "%u", begin);
    }
}

static void thin(size_t block_count_max)
{
    run_record_thin(record, block_count_max);
    ck_assert_uint_le(record->block_count, block_count_max);
}

static void show_blocks(void)
{
    static const char *const states[RECORD_STATE_COUNT] = {"movable", "held",  "dying",  "idle",
                                                           "busy",    "stack", "retired"};
    for (size_t i = 0; i < record->block_count; i++) {
        const struct record_block *block = &record->blocks[i];
        show("%s: ", states[block->state]);
        SHOW(block->begin, block->end, block->maker, block->size_bytes);
    }
}

TEST(a_use_that_ends_by_itself_makes_the_block_movable_again)
{
    record_text(HEAD "0: alloc size=1K\n1: use block=0 delay=10ns\n2: advance delay=20ns\n"
                     "3: hold block=0\n4: free block=0\n5: release block=0\n6: report\n");
    show_blocks();
    SHOW(record->op_count, record->ops[4].queued_bytes, record->ops[5].queued_bytes);
}

TEST(the_stack_is_a_block_for_each_of_its_sizes)
{
    record_text(HEAD "0: load size=1K stack=2K\n1: execute program=0 delay=10ns\n"
                     "2: advance delay=20ns\n3: report\n");
    show_blocks();
}

TEST(thinning_keeps_what_lived_long)
{
    make_long();
    thin(20000);
    ck_assert_uint_eq(record->block_count + record->left_out_count, TURN_COUNT);
    check_blocks(0, TURN_COUNT, 10);
}

TEST(thinning_keeps_all_around_a_failure_and_the_peak)
{
    make_long();
    add_failure(50000, VERDICT_JUSTIFIED);
    thin(20000);
    check_blocks(48000, 52001, 1);
    check_blocks(TURN_COUNT - 2000, TURN_COUNT, 1);
}

TEST(with_many_failures_the_windows_of_the_first_that_are_not_justified_stay)
{
    make_long();
    for (uint32_t i = 0; i < 100; i++) {
        add_failure(500 * i, VERDICT_JUSTIFIED);
    }
    add_failure(90000, VERDICT_PREMATURE);
    thin(15000);
    check_blocks(89800, 90201, 1);
}

TEST(a_limit_below_the_windows_is_kept_all_the_same)
{
    make_long();
    add_failure(50000, VERDICT_PREMATURE);
    thin(1000);
    check_blocks(50000, 50001, 1);
}
