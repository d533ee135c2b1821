#include "infer/experiment.h"

#include "infer/private/experiments.h"

#include "harness/base/check.h"

#include <stdlib.h>

const struct experiment experiments[] = {
#define EXPERIMENT(name, needs, question, bounds) \
    {#name, needs, question, bounds, experiment_##name},
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
    if ((needs & EXPERIMENT_QUEUES) != 0 && !contract->queues_frees) {
        return "its contract accepts no queued frees";
    }
    if ((needs & EXPERIMENT_PROGRAMS) != 0 && !contract->programs) {
        return "its contract has no programs";
    }
    if ((needs & EXPERIMENT_HOLDS) != 0 && target->hold == NULL) {
        return "it has no hold()";
    }
    if ((needs & EXPERIMENT_USES) != 0 && target->use == NULL) {
        return "it has no use()";
    }
    if ((needs & EXPERIMENT_STREAMS) != 0 && !contract->stream_ordered) {
        return "its contract orders no frees by streams";
    }
    if ((needs & EXPERIMENT_RECORDS) != 0 && !contract->records) {
        return "its contract has no recordings";
    }
    if ((needs & EXPERIMENT_SLEEPS) != 0 && contract->sleeps == SLEEP_NONE) {
        return "its contract never sleeps";
    }
    return NULL;
}

void experiment_make(enum experiment_number number, const struct target *target,
                     const struct setup *setup, const struct limits *limits,
                     struct journal *journal, struct trace *trace)
{
    const struct experiment *experiment = &experiments[number];
    struct lab lab;
    if (!lab_open(&lab, target, setup, limits, trace)) {
        return;
    }
    lab.journal = journal;
    const char *lack = find_lack(experiment->needs, target, &trace->contract);
    if (lack == NULL) {
        experiment->make(&lab);
    } else {
        lab_give_up(&lab, lack);
    }
    lab_close(&lab);
}

enum claim experiment_claim(enum experiment_number number)
{
    switch (number) {
    case EXPERIMENT_drain:
    case EXPERIMENT_drain_several:
    case EXPERIMENT_dying_blocks:
        return CLAIM_QUEUED_FREES;
    case EXPERIMENT_error_texts:
        return CLAIM_MESSAGES;
    case EXPERIMENT_partial_copy:
    case EXPERIMENT_partial_unload:
        return CLAIM_RESUMES;
    case EXPERIMENT_streams:
    case EXPERIMENT_stream_uses:
        return CLAIM_STREAMS;
    case EXPERIMENT_recordings:
        return CLAIM_RECORDS;
    case EXPERIMENT_many_blocks:
        return CLAIM_ACCESSES;
    default:
        return CLAIM_NONE;
    }
}

struct trace *experiment_traces_create(void)
{
    struct trace *traces = calloc(EXPERIMENT_COUNT, sizeof *traces);
    CHECK(traces != NULL);
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        trace_init(&traces[i]);
    }
    return traces;
}

void experiment_traces_destroy(struct trace *traces)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        trace_deinit(&traces[i]);
    }
    free(traces);
}

struct limits experiment_limits(const struct trace *traces)
{
    return (struct limits){
        .largest_request_bytes = traces[EXPERIMENT_largest_request].facts[FACT_LARGEST_REQUEST],
        .largest_align_bytes = traces[EXPERIMENT_largest_alignment].facts[FACT_LARGEST_ALIGN]};
}
