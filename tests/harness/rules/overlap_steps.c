#include "tests/harness/rules/overlap_steps.h"

#include "harness/run/run_state.h"

#include <check.h>

uint32_t call_on(enum op_kind kind, uint32_t ref)
{
    const uint32_t number = begin_on(kind, ref);
    end_call(number);
    return number;
}

uint32_t call_alloc(uint64_t handle, uint64_t at, uint64_t size)
{
    const uint32_t number = begin_alloc(size * G);
    end_granted(number, handle, at, size);
    return number;
}

uint32_t call_refused(uint64_t size)
{
    const uint32_t number = begin_alloc(size * G);
    end_refused(number, TARGET_NO_MEMORY, "no room");
    return number;
}

uint32_t begin_load(uint64_t size)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = size * G;
    return begin_call(op);
}

uint32_t make_block(uint64_t handle, uint64_t at, uint64_t size)
{
    const uint32_t number = call_alloc(handle, at, size);
    KEEPS(&rig.verdicts[number]);
    return number;
}

uint32_t make_program(uint64_t handle, uint64_t at, uint64_t size)
{
    const uint32_t number = begin_load(size);
    end_granted(number, handle, at, size);
    KEEPS(&rig.verdicts[number]);
    return number;
}

void place(uint64_t handle, uint64_t at)
{
    script.at[handle].address = at == NOWHERE ? TARGET_ADDRESS_NONE : at * G;
}

uint64_t take_stage(uint64_t from, uint64_t size)
{
    const struct device_services *device = script.device[0];
    uint64_t stage = 0;
    ck_assert_int_eq(device->stage_out(device->context, from * G, size * G, &stage), DEVICE_OK);
    return stage;
}

enum device_result end_stage(uint64_t stage, uint64_t to)
{
    return script.device[0]->stage_in(script.device[0]->context, stage, to * G);
}

void strike(enum fault_kind kind)
{
    device_arm(script.run->hosts[0].device, &(struct device_fault){.kind = kind, .call = 1});
}

void expect_all_kept(void)
{
    for (uint32_t i = 0; i < script.run->ops.count; i++) {
        KEEPS(&rig.verdicts[i]);
        ck_assert_uint_eq(rig.verdicts[i].op, i);
    }
}
