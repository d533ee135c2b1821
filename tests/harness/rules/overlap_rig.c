#include "tests/harness/rules/overlap_rig.h"

#include "harness/run/run_state.h"

#include <check.h>

struct overlap_rig rig;

void begin_lanes(uint32_t host_count)
{
    rig = (struct overlap_rig){.clients = clients_create(CALL_COUNT_MAX)};
    for (uint32_t i = 0; i < host_count; i++) {
        host_set_clients(&script.run->hosts[i], rig.clients);
    }
}

void open_lanes(uint32_t host_count)
{
    start_hosts(host_count);
    begin_lanes(host_count);
}

void stop_lanes(void)
{
    for (uint32_t i = 0; i < script.run->judge.host_count; i++) {
        host_set_clients(&script.run->hosts[i], NULL);
    }
    overlap_deinit(&rig.overlap);
    clients_destroy(rig.clients);
    stop();
}

uint32_t begin_call(struct op op)
{
    struct run *run = script.run;
    struct host *host = &run->hosts[op.host];
    const uint32_t number = (uint32_t)run->ops.count;
    ck_assert_uint_lt(number, CALL_COUNT_MAX);
    op_list_append(&run->ops, &op);
    for (uint32_t i = 0; rig.overlap.call_count == 0 && i < run->judge.host_count; i++) {
        host_begin_call(&run->hosts[i]);
    }
    rig.in_overlap[number] = overlap_begin(&rig.overlap, &run->judge, host, op.lane);
    clients_begin(rig.clients, &op);
    rig.handles[number] = driver_begin_call(host, &op, number, &rig.calls[number]);
    return number;
}

static bool note_verdict(void *context, const struct overlap_call *over)
{
    struct run *run = context;
    rig.verdicts[over->call.number] = run->verdict;
    if (rig.counts) {
        run_take_overlapping(run, over->host, &over->call, over->message);
        return !run_is_broken(run);
    }
    return !rig.ends && run->verdict.kind != VERDICT_BROKEN &&
           run->verdict.kind != VERDICT_PREMATURE;
}

void end_call(uint32_t number)
{
    struct run *run = script.run;
    struct call *call = &rig.calls[number];
    struct host *host = &run->hosts[call->op.host];
    driver_call_target(host, &run->setup, rig.handles[number], call);
    driver_end_call(host, call);
    clients_end(rig.clients, call);
    const struct overlap_answer answer = {rig.in_overlap[number], call,
                                          overlap_message(host, call)};
    overlap_end(&rig.overlap, &run->judge, &answer);
    if (rig.overlap.under_way_count == 0) {
        const struct overlap_teller teller = {run, note_verdict};
        for (uint32_t i = 0; i < run->judge.host_count; i++) {
            host_end_call(&run->hosts[i]);
        }
        rig.is_good = judge_overlap(&run->judge, &rig.overlap, &teller);
        overlap_clear(&rig.overlap);
    }
}

uint32_t begin_alloc(uint64_t size_bytes)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    return begin_call(op);
}

uint32_t begin_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    return begin_call(op);
}
