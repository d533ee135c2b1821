/* A leak is named among 40 tags and noise, and is not cried where there is none. */
#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "targets/targets.h"
#include "tests/diagnosis/leak_traces.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    STEP_COUNT = 20000,
    SEED_COUNT = 100,
    SEED_COUNT_MIN = 20,
    NAMED_PERCENT_MIN =
        85, /* nothing is told where too few steps are seen, or a quarter is replaced */
    CRIED_PERCENT_MAX = 3, /* never as sure */
    SEED_FIRST = 1000,     /* no threshold was chosen on these seeds */
    RUN_STEP_COUNT = 6000
};

static const char *const habit_names[HABIT_COUNT] = {
    "permanent", "batch",     "cache", "phases", "periodic",
    "walk",      "late step", "ring",  "pool",   "saturating"};

struct score {
    uint32_t named, by_trend, others, sure_others, trend_alone;
};

static bool trend_is_cried(const struct leak_trace *trace, int *tag)
{
    const uint32_t tag_count = leak_tag_count(&trace->evidence);
    struct trend trend;
    for (*tag = 0; *tag < LEAK_TRACE_TAG_COUNT; (*tag)++) {
        if (leak_trend(&trace->evidence, (uint8_t)*tag, tag_count, &trend) == TREND_GROWS) {
            return true;
        }
    }
    return false;
}

static void score_trace(const struct leak_trace *trace, uint64_t seed, struct score *score)
{
    struct diagnosis diagnosis;
    int tag;
    diagnosis_init(&diagnosis, &cause_leak);
    cause_leak.find(&trace->evidence, &diagnosis);
    const bool is_told = diagnosis.confidence >= DIAGNOSIS_POSSIBLE;
    const bool is_right = is_told && diagnosis.has_tag && diagnosis.tag == trace->leaking_tag;
    score->named += is_right;
    score->by_trend += is_right && diagnosis.confidence >= DIAGNOSIS_SURE;
    score->others += is_told && !is_right;
    score->sure_others += is_told && !is_right && diagnosis.confidence >= DIAGNOSIS_SURE;
    score->trend_alone += trend_is_cried(trace, &tag);
    if (trace->leaking_tag != LEAK_TRACE_LEAK_NONE && !is_right) {
        printf("  seed %" PRIu64 ": not named: tag %d, %s, %" PRIu64 " blocks, %" PRIu64 " bytes\n",
               seed, trace->leaking_tag, habit_names[trace->habit], trace->leaked_count,
               trace->leaked_bytes);
    }
    if (is_told && !is_right) {
        printf("  seed %" PRIu64 ": cried: %s\n", seed, diagnosis.text);
    }
}

static struct score judge_seeds(uint64_t first, uint32_t count, bool has_leak)
{
    static struct leak_trace trace;
    struct score score = {0};
    for (uint64_t seed = first; seed < first + count; seed++) {
        leak_trace_make(&trace, seed, STEP_COUNT, has_leak);
        score_trace(&trace, seed, &score);
        leak_trace_deinit(&trace);
    }
    printf(
        "%u traces %s a leak: named %u (%u of them by their trend, too), another tag cried %u, a trend seen in %u\n",
        count, has_leak ? "with" : "without", score.named, score.by_trend, score.others,
        score.trend_alone);
    return score;
}

EVERY_TEST(.timeout_s = 300);

TEST(the_leaking_tag_is_named)
{
    const uint32_t count = (uint32_t)draws_count(SEED_COUNT, SEED_COUNT_MIN);
    const struct score score = judge_seeds(SEED_FIRST, count, true);
    ck_assert_uint_ge(100 * score.named, count * NAMED_PERCENT_MIN);
    ck_assert_uint_le(100 * score.others, count * CRIED_PERCENT_MAX);
    ck_assert_uint_eq(score.sure_others, 0);
}

TEST(no_leak_is_cried_where_there_is_none)
{
    const uint32_t count = (uint32_t)draws_count(SEED_COUNT, SEED_COUNT_MIN);
    const struct score score = judge_seeds(SEED_FIRST, count, false);
    ck_assert_uint_le(100 * score.others, count * CRIED_PERCENT_MAX);
    ck_assert_uint_eq(score.sure_others, 0);
}

/* --- a run --- */

/* The same list through a target: what the run records gives the same answer as what the generator
 * noted. */
TEST(a_leak_is_named_from_a_run_as_well)
{
    static struct leak_trace trace;
    static struct history history;
    struct evidence evidence;
    struct diagnosis simulated;
    struct diagnosis run_through;
    char reason[RUN_REASON_BYTES];
    leak_trace_make(&trace, SEED_FIRST + 1, RUN_STEP_COUNT, true);
    diagnosis_init(&simulated, &cause_leak);
    cause_leak.find(&trace.evidence, &simulated);
    ck_assert_int_eq(simulated.tag, trace.leaking_tag);
    trace.setup.capacity_bytes = UINT64_C(1) << 40;
    struct run *run = run_create(target_find("hbm"), &trace.setup, reason);
    ck_assert_ptr_nonnull(run);
    history_init(&history);
    for (size_t i = 0; i < trace.ops.count; i++) {
        ck_assert_int_eq(run_step(run, &trace.ops.ops[i])->kind, VERDICT_NONE);
        history_step(&history, run);
    }
    evidence_take(&history, run, &trace.verdict, &evidence);
    ck_assert(history_invariants_hold(&history));
    ck_assert(evidence_invariants_hold(&evidence));
    diagnosis_init(&run_through, &cause_leak);
    cause_leak.find(&evidence, &run_through);
    ck_assert_str_eq(simulated.text, run_through.text);
    ck_assert_uint_eq(simulated.confidence, run_through.confidence);
    evidence_deinit(&evidence);
    history_deinit(&history);
    run_destroy(run);
    leak_trace_deinit(&trace);
}

/* --- the history --- */

TEST(a_history_of_any_length_stays_within_its_bound)
{
    static struct history history;
    uint64_t tag_bytes[OP_TAG_COUNT] = {0};
    history_init(&history);
    for (uint32_t op = 0; op < 100000; op++) {
        /* One op in 5000 brings the tag to its floor, another one to its top. */
        tag_bytes[7] = op % 5000 == 17 ? 1 : op % 5000 == 18 ? 999 : 500;
        history_take(&history, &(struct history_note){.op = op,
                                                      .makes = true,
                                                      .made_tag = 7,
                                                      .tag_bytes = tag_bytes,
                                                      .in_use_bytes = tag_bytes[7]});
    }
    const struct history_host *host = &history.hosts[0];
    ck_assert_uint_le(host->count, HISTORY_SAMPLE_COUNT_MAX);
    ck_assert_uint_gt(host->count, HISTORY_SAMPLE_COUNT_MAX / 2 - 1);
    uint32_t floors = 0;
    uint32_t tops = 0;
    uint64_t made = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        ck_assert_uint_eq(host->samples[i].first_op, i * host->interval);
        floors += host->samples[i].floor_bytes[7] == 1;
        tops += host->samples[i].top_bytes[7] == 999;
        made += host->samples[i].made_count;
    }
    ck_assert_uint_eq(floors, 20);
    ck_assert_uint_eq(tops, 20);
    ck_assert_uint_eq(made, 100000);
    ck_assert_uint_eq(host->peak_bytes, 999);
    ck_assert_uint_eq(host->peak_op, 18);
    ck_assert_uint_eq(host->rises[0].op, 18);
    ck_assert_uint_eq(host->rises[0].bytes, 998);
    history_deinit(&history);
}
