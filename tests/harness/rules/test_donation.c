/* Donations: what of the input the output takes over, and what it does not. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Op 0 made the block [4, 6) with handle 1, op 1 the block [8, 10) with handle 2. */
static void start_with_two(void)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    start_hosts(1);
    KEEPS(alloc_at(4, 2));
    KEEPS(alloc_at(8, 2));
}

/* An output of one granule takes over block 0; the answer is `size` granules at granule `at`. */
static uint64_t output_handle;
static const struct verdict *donate_0(uint64_t at, uint64_t size)
{
    struct op op = op_make(OP_DONATE);
    op.ref = 0;
    op.size_bytes = G;
    output_handle = next_handle();
    script.block = (struct target_block){output_handle, at * G, size * G};
    return step(op);
}

TEST(the_output_has_the_input_s_address_and_size)
{
    const struct {
        uint64_t at, size;
        enum rule rule;
    } rows[] = {
        {4, 2, RULE_NONE},
        {4, 3, RULE_MOVED_UNASKED},
        {4, 1, RULE_MOVED_UNASKED},
        {6, 2, RULE_MOVED_UNASKED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_two();
        const struct verdict *verdict = donate_0(rows[i].at, rows[i].size);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s", i, verdict->reason);
        stop();
    }
}

/* The target is not asked: it answers OK to everything. */
TEST(a_held_block_is_not_donated)
{
    start_with_two();
    KEEPS(on(OP_HOLD, 0));
    KEEPS(donate_0(4, 2));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    KEEPS(on(OP_RELEASE, 0));
    KEEPS(donate_0(4, 2));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 0);
    stop();
}

/* --- what host memory holds of the input --- */

static uint64_t stage;

static void take_block_out(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 4 * G, 2 * G, &stage), DEVICE_OK);
}

/* Block 1 is copied over the output, which the device does not take back from host memory. */
static void overwrite_output(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(copy(8, 4, 2), DEVICE_OK);
    script.at[2].address = 4 * G;
    ck_assert_int_eq(device->stage_in(device->context, stage, 12 * G), DEVICE_REFUSED);
    script.at[output_handle].address = TARGET_ADDRESS_NONE;
}

TEST(a_stage_of_the_input_is_not_the_output)
{
    start_with_two();
    script.act = take_block_out;
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    KEEPS(donate_0(4, 2));
    struct op fault = op_make(OP_FAULT);
    fault.tag = FAULT_COPY;
    fault.size_bytes = 2;
    KEEPS(step(fault));
    script.act = overwrite_output;
    script.result = TARGET_FAILED;
    BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_CONTENTS);
    stop();
}
