/* What is followed of many blocks that move while calls overlap.  tests/cases/overlap has the other
 * promises. */
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Each has a place of its own above, in which another one is put. */
TEST(one_copy_may_move_many_blocks)
{
    enum { COUNT = 70, BLOCK_BYTES = 16 };
    for (int is_up = 0; is_up < 2; is_up++) {
        const uint64_t from = is_up != 0 ? 0 : 4096;
        const uint64_t to = is_up != 0 ? 512 : 4096 - 512;
        prepare();
        script.contract.granule_bytes = BLOCK_BYTES;
        open_lanes(1);
        for (uint64_t i = 0; i < COUNT; i++) {
            script.block = (struct target_block){i + 1, from + i * BLOCK_BYTES, BLOCK_BYTES};
            end_call(begin_alloc(BLOCK_BYTES));
        }
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const struct device_services *device = script.device[0];
        ck_assert_int_eq(device->copy(device->context, from, to, COUNT * BLOCK_BYTES), DEVICE_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            script.at[i + 1].address = to + i * BLOCK_BYTES;
        }
        /* The last one that a copy in this direction brings to safety. */
        const uint64_t last = is_up != 0 ? from : from + (COUNT - 1) * BLOCK_BYTES;
        script.block = (struct target_block){COUNT + 1, last, BLOCK_BYTES};
        end_call(begin_alloc(BLOCK_BYTES));
        end_call(move);
        for (uint32_t i = 0; i < script.run->ops.count; i++) {
            KEEPS(&rig.verdicts[i]);
            ck_assert_uint_eq(rig.verdicts[i].op, i);
        }
        stop_lanes();
    }
}
