/* A target that does something when it is asked where a block is.  tests/cases/rules/reported.case
 * has what reports show. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Two blocks of two granules are in host memory. */
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
    struct target own_target = scripted_target;
    struct setup setup;
    own_target.locate = locate_and_drop;
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    start_setup(&setup, &own_target);
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
    KEEPS(report());
    drops = true;
    const struct verdict *verdict = report();
    BREAKS(verdict, RULE_CONTENTS);
    ck_assert_str_eq(verdict->mechanism, "lost");
    ck_assert_str_eq(verdict->reason,
                     "block 1 has no address, and host memory does not hold its contents");
    stop();
}
