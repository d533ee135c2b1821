#include "infer/experiment.h"

#include "harness/base/check.h"

#include <stddef.h>
#include <stdlib.h>

const struct experiment experiments[] = {
#define EXPERIMENT(name, needs, claim, question, bounds) \
    {#name, needs, claim, question, bounds, experiment_##name},
#include "infer/list.h"
#undef EXPERIMENT
};

uint64_t experiment_capacity_bytes(bool has_regions)
{
    enum { BLOCK_COUNT = 16 };
    return BLOCK_COUNT * (has_regions ? TARGET_REGION_ALIGN_BYTES : UINT64_C(64) << 10);
}

/* NULL, or what the target lacks for the experiment. */
static const char *find_lack(unsigned needs, const struct target *target,
                             const struct target_contract *contract)
{
    const struct {
        unsigned need;
        bool is_there;
        const char *lack;
    } wants[] = {
        {EXPERIMENT_QUEUES, contract->queues_frees, "its contract accepts no queued frees"},
        {EXPERIMENT_PROGRAMS, contract->programs, "its contract has no programs"},
        {EXPERIMENT_HOLDS, target->hold != NULL, "it has no hold()"},
        {EXPERIMENT_USES, target->use != NULL, "it has no use()"},
        {EXPERIMENT_STREAMS, contract->stream_ordered, "its contract orders no frees by streams"},
        {EXPERIMENT_RECORDS, contract->records, "its contract has no recordings"},
        {EXPERIMENT_SLEEPS, contract->sleeps != SLEEP_NONE, "its contract never sleeps"}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        if ((needs & wants[i].need) != 0 && !wants[i].is_there) {
            return wants[i].lack;
        }
    }
    return NULL;
}

/* What the row says of the device before the experiment.  False: it gave up. */
static bool prepare(struct lab *lab, unsigned needs)
{
    const char *lack = find_lack(needs, lab->target, &lab->trace->contract);
    if (lack != NULL) {
        lab_give_up(lab, lack);
    }
    const unsigned units = (needs & EXPERIMENT_ASKS_TWO) != 0     ? 2
                           : (needs & EXPERIMENT_ASKS_THREE) != 0 ? 3
                                                                  : 0;
    if (lack == NULL && units > 0 && !lab_may_ask(lab, units)) {
        return false;
    }
    if (lack == NULL && (needs & EXPERIMENT_FULL) != 0) {
        lab_fill(lab);
    }
    return lab->trace->why[0] == '\0';
}

void experiment_make(enum experiment_number number, const struct target *target,
                     const struct setup *setup, const struct limits *limits,
                     struct journal *journal, struct lab_trace *trace)
{
    struct lab lab;
    if (!lab_open(&lab, target, setup, limits, trace)) {
        return;
    }
    lab.journal = journal;
    if (prepare(&lab, experiments[number].needs)) {
        experiments[number].make(&lab);
    }
    lab_close(&lab);
}

struct lab_trace *experiment_traces_create(void)
{
    struct lab_trace *traces = calloc(EXPERIMENT_COUNT, sizeof *traces);
    CHECK(traces != NULL);
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        trace_init(&traces[i]);
    }
    return traces;
}

void experiment_traces_destroy(struct lab_trace *traces)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        trace_deinit(&traces[i]);
    }
    free(traces);
}

struct limits experiment_limits(const struct lab_trace *traces)
{
    return (struct limits){.largest_request_bytes = traces[EXPERIMENT_largest_request]
                                                        .measured[MEASURED_LARGEST_REQUEST],
                           .largest_align_bytes = traces[EXPERIMENT_largest_alignment]
                                                      .measured[MEASURED_LARGEST_ALIGN]};
}

/* --- claims --- */

/* Of the target that claim_make() made last. */
static enum claim claim_now;
static const struct target *target_now;

/* The flag that the claim is about. */
static bool *find_flag(enum claim claim, struct target_contract *contract)
{
    static const size_t offsets[] = {
        [CLAIM_QUEUED_FREES] = offsetof(struct target_contract, queues_frees),
        [CLAIM_MESSAGES] = offsetof(struct target_contract, documented_messages),
        [CLAIM_RESUMES] = offsetof(struct target_contract, resumes),
        [CLAIM_STREAMS] = offsetof(struct target_contract, stream_ordered),
        [CLAIM_RECORDS] = offsetof(struct target_contract, records)};
    CHECK(claim > CLAIM_NONE && claim < CLAIM_ACCESSES);
    return (bool *)((char *)contract + offsets[claim]);
}

bool claim_is_declared(enum claim claim, const struct target_contract *contract)
{
    struct target_contract copy = *contract;
    return claim == CLAIM_ACCESSES ? contract->cost.accesses != TARGET_GROWTH_UNDECLARED
                                   : *find_flag(claim, &copy);
}

static enum target_result open_claiming(const struct target_setup *setup,
                                        const struct device_services *services,
                                        struct target_instance **instance,
                                        struct target_contract *contract, char *reason,
                                        size_t reason_bytes)
{
    const enum target_result result = target_now->open(setup, services, instance, contract, reason,
                                                       reason_bytes);
    if (result == TARGET_OK && claim_now == CLAIM_ACCESSES) {
        contract->cost.accesses = TARGET_GROWTH_LINEAR;
    } else if (result == TARGET_OK) {
        *find_flag(claim_now, contract) = true;
    }
    return result;
}

void claim_make(enum claim claim, const struct target *target, struct target *claiming)
{
    CHECK(claim != CLAIM_NONE);
    claim_now = claim;
    target_now = target;
    *claiming = *target;
    claiming->open = open_claiming;
}
