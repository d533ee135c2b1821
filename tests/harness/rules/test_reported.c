/* What the target says of itself: the report row by row, handles and counters. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* The scripted target with calls of its own. */
static struct target own_target;
static void start_own(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.run = run_create(&own_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

static void add_row(struct target_row row)
{
    script.rows[script.row_count < 0 ? 0 : script.row_count] = row;
    script.row_count = script.row_count < 0 ? 1 : script.row_count + 1;
}

/* --- the report --- */

TEST(each_flaw_of_a_report_has_a_name)
{
    const struct target_row a = {0, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row b = {4 * G, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row c = {8 * G, G, BLOCK_BUFFER, 0};
    const struct target_row inside_a = {G, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row nowhere = {12 * G, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row outside = {TARGET_ADDRESS_NONE - 1, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row absent = {TARGET_ADDRESS_NONE, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row tagged_b = {4 * G, 2 * G, BLOCK_BUFFER, 3};
    const struct target_row small_b = {4 * G, G, BLOCK_BUFFER, 0};
    const struct {
        struct target_row rows[4];
        int count;
        const char *mechanism, *reason; /* NULL: it is right */
    } tables[] = {
        {{a, b, c}, 3, NULL, NULL},
        {{a, inside_a, c}, 3, "row without a block", "a row names 0x200, where no block begins"},
        {{a, nowhere, c}, 3, "row without a block", "a row names 0x1800, where no block begins"},
        {{a, outside, c},
         3,
         "row without a block",
         "a row names 0xfffffffffffffffe, where no block begins"},
        {{a, absent, c},
         3,
         "row without an address",
         "a row of 1024 bytes has no address, but no such block is in host memory"},
        {{a, tagged_b, c},
         3,
         "wrong row",
         "block 1 is reported with size 1024, kind 0, tag 3, but has 1024, 0, 0"},
        {{a, small_b, c},
         3,
         "wrong row",
         "block 1 is reported with size 512, kind 0, tag 0, but has 1024, 0, 0"},
        {{a, c, b}, 3, "order of the rows", "the rows do not begin with the largest"},
        {{a, b}, 2, "sums", "2 rows of 2048 bytes for 3 blocks of 2560"},
        {{a, b, c, c}, 4, "sums", "4 rows of 3072 bytes for 3 blocks of 2560"},
        {{a, b, b}, 3, "sums", "3 rows of 3072 bytes for 3 blocks of 2560"},
        {{a, a, c}, 3, "doubled row", "two rows name the block at 0x0"},
        {{b, b, c}, 3, "doubled row", "two rows name the block at 0x800"},
        /* The first flaw is told. */
        {{c, b, nowhere}, 3, "order of the rows", "the rows do not begin with the largest"},
        {{nowhere, tagged_b, c},
         3,
         "row without a block",
         "a row names 0x1800, where no block begins"},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        KEEPS(alloc_at(8, 1));
        memcpy(script.rows, tables[i].rows, sizeof tables[i].rows);
        script.row_count = tables[i].count;
        const struct verdict *verdict = report();
        if (tables[i].mechanism == NULL) {
            KEEPS(verdict);
        } else {
            BREAKS(verdict, RULE_REPORT);
            ck_assert_msg(strcmp(verdict->mechanism, tables[i].mechanism) == 0 &&
                              strcmp(verdict->reason, tables[i].reason) == 0,
                          "table %zu: %s, %s", i, verdict->mechanism, verdict->reason);
        }
        stop();
    }
}

/* Of three blocks of one size each order of rows is right, if it names each of them. */
TEST(no_row_is_doubled_wherever_the_two_stand)
{
    for (unsigned i = 0; i < 27; i++) {
        const unsigned order[] = {i % 3, i / 3 % 3, i / 9};
        start();
        for (uint64_t at = 0; at < 12; at += 4) {
            KEEPS(alloc_at(at, 2));
        }
        for (int k = 0; k < 3; k++) {
            add_row((struct target_row){4 * (uint64_t)order[k] * G, 2 * G, BLOCK_BUFFER, 0});
        }
        const bool is_right = order[0] != order[1] && order[1] != order[2] && order[0] != order[2];
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == (is_right ? RULE_NONE : RULE_REPORT), "%u: %s", i,
                      verdict->reason);
        stop();
    }
}

/* A run that goes on looks at all rows, and tells the gravest flaw, which is the first. */
TEST(a_report_is_read_to_its_end_where_a_run_goes_on)
{
    start();
    run_go_on(script.run);
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(4, 1));
    add_row((struct target_row){4 * G, G, BLOCK_BUFFER, 0});
    add_row((struct target_row){0, 2 * G, BLOCK_BUFFER, 0});
    BREAKS(report(), RULE_REPORT);
    ck_assert_uint_eq(run_findings(script.run)->count, 1);
    ck_assert_str_eq(run_findings(script.run)->findings[0].signature, "report: order of the rows");
    KEEPS(report()); /* it was told */
    script.row_count = 1;
    BREAKS(report(), RULE_REPORT);
    ck_assert_str_eq(run_findings(script.run)->findings[1].signature, "report: sums");
    stop();
}

/* Two blocks of two granules are in host memory: each row without an address stands for one. */
static uint64_t stages[2];
static void leave_both_in_host_memory(void)
{
    const struct device_services *device = script.device[0];
    for (int i = 0; i < 2; i++) {
        const uint64_t from = 4 * (uint64_t)i * G;
        ck_assert_int_eq(device->stage_out(device->context, from, 2 * G, &stages[i]), DEVICE_OK);
        script.at[i + 1].address = TARGET_ADDRESS_NONE;
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(device->stage_in(device->context, stages[i], 8 * G), DEVICE_REFUSED);
    }
}

static void start_with_two_absent(void)
{
    start_own();
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(4, 2));
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = 3;
    op.flags = OP_FOR_EVER;
    KEEPS(step(op));
    script.act = leave_both_in_host_memory;
    KEEPS(refuse(15));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 2);
}

static void prepare_repack(void)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    own_target = scripted_target;
}

TEST(each_row_without_an_address_stands_for_a_block_of_its_own)
{
    static const struct {
        int count;
        bool is_right;
        const char *mechanism;
    } rows[] = {{2, true, ""}, {1, false, "sums"}, {3, false, "row without an address"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare_repack();
        start_with_two_absent();
        script.row_count = 0;
        for (int k = 0; k < rows[i].count; k++) {
            add_row((struct target_row){TARGET_ADDRESS_NONE, 2 * G, BLOCK_BUFFER, 0});
        }
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == (rows[i].is_right ? RULE_NONE : RULE_REPORT), "row %zu: %s",
                      i, verdict->reason);
        ck_assert_str_eq(verdict->mechanism, rows[i].mechanism);
        stop();
    }
}

/* Asked where block 0 is, it drops what host memory holds of block 1, of which it was asked before.
 */
static bool drops;
static enum target_result locate_and_drop(struct target_instance *instance, uint64_t handle,
                                          struct target_block *block)
{
    if (drops && handle == 1) {
        script.device[0]->stage_drop(script.device[0]->context, stages[1]);
    }
    return scripted_target.locate(instance, handle, block);
}

TEST(a_block_in_host_memory_is_looked_for_once_all_places_are_known)
{
    prepare_repack();
    own_target.locate = locate_and_drop;
    drops = false;
    start_with_two_absent();
    KEEPS(report());
    drops = true;
    const struct verdict *verdict = report();
    BREAKS(verdict, RULE_CONTENTS);
    ck_assert_str_eq(verdict->mechanism, "lost");
    ck_assert_str_eq(verdict->reason,
                     "block 1 has no address, and host memory does not hold its contents");
    stop();
}

/* A report that could not be sorted is left out whole, or given whole. */
static bool gives_rows;
static void report_without_memory(struct target_instance *instance,
                                  void (*row)(void *context, const struct target_row *row),
                                  void *context)
{
    const struct device_services *device = script.device[0];
    void *room = device->host_alloc(device->context, 64);
    device->host_free(device->context, room, 64);
    if (room != NULL || gives_rows) {
        scripted_target.report(instance, row, context);
    }
}

TEST(a_report_without_memory_may_be_left_out_but_not_in_part)
{
    static const struct {
        enum fault_kind fault;
        bool gives_rows;
        int row_count; /* -1: the right ones */
        enum rule rule;
    } rows[] = {
        {FAULT_HOST_MEMORY, false, -1, RULE_NONE}, {FAULT_HOST_MEMORY, true, -1, RULE_NONE},
        {FAULT_HOST_MEMORY, true, 1, RULE_REPORT}, {FAULT_COPY, false, -1, RULE_NONE},
        {FAULT_COPY, false, 0, RULE_REPORT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        own_target = scripted_target;
        own_target.report = report_without_memory;
        gives_rows = rows[i].gives_rows;
        start_own();
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        script.rows[0] = (struct target_row){0, 2 * G, BLOCK_BUFFER, 0};
        script.row_count = rows[i].row_count;
        KEEPS(arm(rows[i].fault));
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* --- handles --- */

/* The target does not say where things are, so that nothing else tells the two apart. */
TEST(no_two_things_of_many_share_a_handle)
{
    static const struct {
        uint64_t handles[4]; /* of two blocks and two programs */
        bool shares;
    } rows[] = {
        {{1, 2, 3, 4}, false}, {{1, 1, 3, 4}, true},  {{4, 2, 3, 4}, true},
        {{1, 2, 3, 3}, true},  {{4, 3, 2, 1}, false}, {{2, 2, 2, 2}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_NONE;
        script.is_silent = true;
        start_hosts(1);
        for (unsigned k = 0; k < 4; k++) {
            struct op op = op_make(k < 2 ? OP_ALLOC : OP_LOAD);
            op.size_bytes = G;
            script.block = (struct target_block){rows[i].handles[k], 2 * (uint64_t)k * G, G};
            KEEPS(step(op));
        }
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == (rows[i].shares ? RULE_HANDLE : RULE_NONE), "row %zu: %s", i,
                      verdict->reason);
        stop();
    }
}

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

/* Where an evicted program is the target is not asked, so that a block may have its handle.  A
 * report that is wrong ends the run before that is looked at, even if what comes behind the flaw
 * would make up for it. */
TEST(a_report_is_wrong_whatever_comes_behind_its_flaw)
{
    for (int is_wrong = 0; is_wrong < 3; is_wrong++) {
        prepare_repack();
        start_own();
        KEEPS(load_at(0, 2, 0));
        script.act = evict_0;
        KEEPS(alloc_at(12, 2));
        script.block = (struct target_block){1, 8 * G, 2 * G};
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        KEEPS(step(op));
        const uint64_t at[] = {is_wrong == 1 ? 4 * G : 8 * G, is_wrong == 2 ? 4 * G : 12 * G};
        for (int i = 0; i < 2; i++) {
            add_row((struct target_row){at[i], 2 * G, BLOCK_BUFFER, 0});
        }
        const struct verdict *verdict = report();
        BREAKS(verdict, is_wrong != 0 ? RULE_REPORT : RULE_HANDLE);
        stop();
    }
}

static uint64_t stage_left;
static void leave_1_in_host_memory(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 12 * G, 2 * G, &stage_left), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage_left, 4 * G), DEVICE_REFUSED);
    script.at[2].address = TARGET_ADDRESS_NONE;
}

/* The same where the row behind the flaw is that of a block in host memory. */
TEST(a_row_without_an_address_makes_up_for_no_flaw)
{
    prepare_repack();
    start_own();
    KEEPS(load_at(0, 2, 0));
    script.act = evict_0;
    KEEPS(alloc_at(12, 2));
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = 2;
    KEEPS(step(op));
    script.act = leave_1_in_host_memory;
    KEEPS(refuse(15));
    op = op_make(OP_ALLOC);
    op.size_bytes = 15 * G;
    script.block = (struct target_block){1, G, 15 * G};
    KEEPS(step(op));
    add_row((struct target_row){4 * G, 15 * G, BLOCK_BUFFER, 0});
    add_row((struct target_row){TARGET_ADDRESS_NONE, 2 * G, BLOCK_BUFFER, 0});
    BREAKS(report(), RULE_REPORT);
    stop();
}

/* --- counters --- */

TEST(a_wrong_counter_has_its_name_and_its_numbers)
{
    static const struct {
        struct target_stats more;
        const char *mechanism, *reason;
    } rows[] = {
        {{.bytes_in_use = G}, "bytes_in_use", "bytes_in_use is 1536 but should be 1024"},
        {{.num_allocs = 1}, "num_allocs", "num_allocs is 2 but should be 1"},
        {{.bytes_limit = G}, "bytes_limit", "bytes_limit is 8704 but should be 8192"},
        {{.bytes_reserved = 1}, "bytes_reserved", "bytes_reserved is 1 but should be 0"},
        {{.peak_bytes_reserved = G},
         "peak_bytes_reserved",
         "peak_bytes_reserved is 512 but should be 0"},
        {{.peak_bytes_in_use = G},
         "peak_bytes_in_use",
         "peak_bytes_in_use is 1536 but should be 1024"},
        {{.largest_alloc_size = G},
         "largest_alloc_size",
         "largest_alloc_size is 1536 but should be 1024"},
        {{.largest_free_block_bytes = G},
         "largest_free_block_bytes",
         "largest_free_block_bytes is 5632 but should be 5120"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(4, 2));
        script.stats_more = rows[i].more;
        const struct verdict *verdict = report();
        BREAKS(verdict, RULE_COUNTERS);
        ck_assert_str_eq(verdict->mechanism, rows[i].mechanism);
        ck_assert_str_eq(verdict->reason, rows[i].reason);
        stop();
    }
}

/* Where nothing is left, or nothing but what went bad, the hole is a rule of its own. */
TEST(an_empty_heap_is_one_hole)
{
    for (int has_retired = 0; has_retired < 2; has_retired++) {
        for (uint64_t less = 0; less < 2; less++) {
            start();
            if (has_retired != 0) {
                struct op op = op_make(OP_RETIRE);
                op.address = 12 * G;
                op.size_bytes = G;
                KEEPS(step(op));
            }
            script.stats_more.largest_free_block_bytes = (uint64_t)0 - less;
            const struct verdict *verdict = report();
            if (less == 0) {
                KEEPS(verdict);
            } else {
                BREAKS(verdict, RULE_NOT_COALESCED);
                ck_assert_str_eq(verdict->reason,
                                 has_retired != 0
                                     ? "everything is free, yet the largest hole is 6143 of 6144"
                                     : "everything is free, yet the largest hole is 8191 of 8192");
                ck_assert_str_eq(verdict->mechanism, "empty heap");
            }
            stop();
        }
    }
}

/* Nothing is said of holes after an op that was granted. */
TEST(holes_are_compared_where_it_is_asked_for_alone)
{
    start();
    script.stats_more.largest_free_block_bytes = G;
    KEEPS(alloc_at(0, 2));
    KEEPS(on(OP_FREE, 0));
    BREAKS(report(), RULE_NOT_COALESCED);
    stop();
}

/* While a block is in host memory nobody can see which room is kept for it. */
TEST(holes_are_not_compared_while_a_block_is_in_host_memory)
{
    prepare_repack();
    start_with_two_absent();
    script.stats_more.largest_free_block_bytes = G;
    KEEPS(report());
    stop();
}
