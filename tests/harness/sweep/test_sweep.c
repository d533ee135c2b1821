/* The sweep: it fails each device call of a list, finds what an allocator does wrong after a
 * refusal, and keeps a list that shows it by itself. */
#include "harness/generate/variation.h"
#include "harness/sweep/sweep.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { G = 512, CAPACITY = 32 * G, NOTE_COUNT_MAX = 64 };

extern struct target hbmstress_target; /* tests/helpers/flawed_target.c */

/* --- what is swept --- */

static struct op_list list;
static struct setup setup;
static struct sweep_result result;

/* The findings that were told. */
static struct note {
    struct sweep_place place;
    enum rule rule;
    uint32_t op;
    struct op_list ops;
} notes[NOTE_COUNT_MAX];
static size_t note_count;
static uint64_t begin_count, step_count;
static bool is_lifted; /* a fault was, in this replay */
static uint64_t spmd_count,
    spmd_after_count; /* ops that ask hosts to agree: all, and after a fault was lifted */

static void take_begin(void *context, const struct setup *taken)
{
    (void)context;
    ck_assert_uint_eq(taken->granule_bytes, G);
    begin_count++;
    is_lifted = false;
}

static void take_step(void *context, const struct op *op)
{
    (void)context;
    step_count++;
    is_lifted |= op->kind == OP_FAULT && op->size_bytes == 0;
    spmd_count += (op->flags & OP_SPMD) != 0;
    spmd_after_count += (op->flags & OP_SPMD) != 0 && is_lifted;
}

static void take_finding(void *context, const struct sweep_finding *finding)
{
    (void)context;
    ck_assert_uint_lt(note_count, NOTE_COUNT_MAX);
    struct note *note = &notes[note_count++];
    *note = (struct note){
        .place = finding->place, .rule = finding->verdict->rule, .op = finding->verdict->op};
    op_list_init(&note->ops);
    op_list_copy(&note->ops, finding->ops);
}

/* Moves, waits, evictions and host memory, each twice, and references from one op to the next. */
static const char everything[] = "0: alloc size=3K\n1: alloc size=4K\n2: alloc size=5K\n"
                                 "3: load size=2K stack=0\n4: execute program=3 delay=0ns\n"
                                 "5: free block=1\n"
                                 "6: alloc size=5K\n" /* what is free lies in two holes */
                                 "7: use block=2 delay=1us\n8: free_after block=2 delay=2us\n"
                                 "9: alloc size=4608\n" /* only the queued free makes room */
                                 "10: hold block=9\n11: release block=9\n"
                                 "12: alloc size=2K\n" /* and now only the program does */
                                 "13: touch block=6\n14: free block=0\n"
                                 "15: execute program=3 delay=100ns\n16: free block=6\n"
                                 "17: free block=9\n18: free block=12\n19: unload program=3\n";

static void begin_list(void)
{
    setup_init(&setup);
    setup.capacity_bytes = CAPACITY;
    op_list_init(&list);
}

static void end_list(void)
{
    for (size_t i = 0; i < note_count; i++) {
        op_list_deinit(&notes[i].ops);
    }
    op_list_deinit(&list);
}

static void run_sweep(const struct target *target)
{
    char reason[RUN_REASON_BYTES] = "";
    const struct sweep sweep = {.target = target,
                                .setup = &setup,
                                .ops = &list,
                                .listener = {NULL, take_begin, take_step, take_finding}};
    ck_assert_msg(sweep_run(&sweep, &result, reason), "%s", reason);
    ck_assert_int_eq(result.place.phase, SWEEP_DONE);
}

static void sweep_everything(const struct target *target)
{
    struct setup usual;
    struct op_list round;
    read_list(everything, &usual, &round);
    variation_repeat(&round, 2, false, &list);
    op_list_deinit(&round);
    run_sweep(target);
}

static void sweep_flaw(const char *flaw)
{
    ck_assert(setup_set_option(&setup, "flaw", flaw));
    sweep_everything(&hbmstress_target);
}

/* --- nothing to find --- */

EVERY_TEST(.timeout_s = 60, .setup = begin_list, .teardown = end_list);

TEST(reference_target_lives_through_every_refusal)
{
    sweep_everything(&target_hbm);
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert_uint_eq(note_count, 0);
    ck_assert(sweep_is_complete(&result));
    for (unsigned kind = 0; kind < FAULT_CALL_COUNT; kind++) {
        const struct sweep_count *count = &result.kinds[kind];
        ck_assert_msg(count->calls > 0, "the list makes no call of kind %s",
                      fault_info((enum fault_kind)kind)->name);
        ck_assert_uint_eq(count->failed[SWEEP_ONCE], count->calls);
        ck_assert_uint_eq(count->failed[SWEEP_FOR_EVER], count->calls);
        /* Once: the fault of a replay strikes one op. */
        ck_assert_uint_eq(count->strikes[SWEEP_ONCE], count->calls);
        ck_assert_uint_ge(count->strikes[SWEEP_FOR_EVER], count->calls);
        ck_assert_uint_eq(count->ops_failed + count->ops_succeeded + count->ooms,
                          count->strikes[SWEEP_ONCE] + count->strikes[SWEEP_FOR_EVER]);
        /* Each mode ends with the first replay in which nothing struck. */
        ck_assert_uint_eq(count->replays, 2 * (count->calls + 1));
    }
    ck_assert_uint_gt(result.open.failed[SWEEP_ONCE], 0);
    ck_assert_uint_eq(result.open.ops_failed,
                      result.open.strikes[SWEEP_ONCE] + result.open.strikes[SWEEP_FOR_EVER]);
    const struct sweep_count *memory = &result.kinds[FAULT_HOST_MEMORY];
    ck_assert_uint_gt(memory->ops_failed, 0);
    ck_assert_uint_gt(memory->strikes[SWEEP_FOR_EVER],
                      memory->calls); /* a fault for ever is armed again */
    ck_assert_uint_eq(begin_count, result.replays);
}

TEST(every_call_site_is_struck)
{
    sweep_everything(&target_hbm);
    const struct sweep_site_counts sites = sweep_sites_count(&result.sites,
                                                             (1u << FAULT_CALL_COUNT) - 1);
    ck_assert_uint_ge(sites.plain, FAULT_CALL_COUNT);
    ck_assert_uint_eq(sites.plain_struck, sites.plain);
    ck_assert_uint_eq(result.sites.is_full, 0);
}

/* Whatever names an op that failed names its repetition instead: nothing of the rest falls away. */
TEST(later_ops_name_the_repetition)
{
    sweep_everything(&target_hbm);
    ck_assert_uint_gt(result.kinds[FAULT_HOST_MEMORY].ops_failed, 0);
    /* What a refusal failed goes on by its repetition; only a block that an event's fault lets no
     * wait make room for is not there, and with it up to three ops, for two refusals each. */
    ck_assert_uint_le(result.totals.skipped, 2 * result.totals.ooms);
    ck_assert_uint_gt(result.kinds[FAULT_ANY].ops_failed, result.totals.skipped);
}

TEST(own_faults_of_the_list_are_left_out)
{
    for (unsigned kind = 0; kind < FAULT_CALL_COUNT; kind++) {
        struct op fault = op_make(OP_FAULT);
        fault.tag = (uint8_t)kind;
        fault.size_bytes = 1;
        fault.flags = OP_FOR_EVER;
        op_list_append(&list, &fault);
    }
    sweep_everything(&target_hbm);
    ck_assert_uint_eq(result.op_count, list.count - FAULT_CALL_COUNT);
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert(sweep_is_complete(&result));
}

TEST(empty_list_is_swept_through_open_alone)
{
    run_sweep(&target_hbm);
    ck_assert(sweep_is_complete(&result));
    ck_assert_uint_gt(result.open.failed[SWEEP_ONCE], 0);
    ck_assert_uint_eq(result.replays, 1 + result.open.replays);
}

TEST(same_list_gives_the_same_result)
{
    sweep_everything(&target_hbm);
    const struct sweep_result first = result;
    const uint64_t steps = step_count;
    memset(&result, 0, sizeof result);
    run_sweep(&target_hbm);
    ck_assert_uint_eq(result.replays, first.replays);
    ck_assert_uint_eq(result.totals.ops, first.totals.ops);
    ck_assert_uint_eq(step_count, 2 * steps);
}

/* Each host's device calls are failed, and hosts of which one met a fault need not answer alike. */
TEST(every_host_is_swept)
{
    read_list("capacity 16K\nhosts 2\n"
              "0: load size=5K stack=0 spmd=0\n1: load size=5K stack=0 spmd=0 host=1\n"
              "2: load size=5K stack=0 spmd=1\n3: load size=5K stack=0 spmd=1 host=1\n"
              "4: load size=5K stack=0 spmd=2\n5: load size=5K stack=0 spmd=2 host=1\n"
              "6: load size=5K stack=0 spmd=3\n7: load size=5K stack=0 spmd=3 host=1\n",
              &setup, &list);
    run_sweep(&target_hbm);
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert(sweep_is_complete(&result));
    ck_assert_uint_gt(result.calls[0][DEVICE_CALL_UNLOAD] + result.calls[0][DEVICE_CALL_HOST_ALLOC],
                      0);
    ck_assert_uint_gt(result.calls[1][DEVICE_CALL_UNLOAD] + result.calls[1][DEVICE_CALL_HOST_ALLOC],
                      0);
    ck_assert_uint_gt(spmd_count, 0);
    ck_assert_uint_eq(spmd_after_count, 0);
}

/* --- flaws --- */

static const struct {
    const char *flaw;
    enum rule rule;
    enum sweep_phase phase;
} flaws[] = {
    {"counters", RULE_COUNTERS, SWEEP_LIST},   {"contents", RULE_CONTENTS, SWEEP_LIST},
    {"status", RULE_OVERLAP, SWEEP_LIST},      {"stuck", RULE_STATUS, SWEEP_LIST},
    {"silent", RULE_MESSAGE, SWEEP_LIST},      {"open_leak", RULE_HOST_MEMORY, SWEEP_OPEN},
    {"open_silent", RULE_MESSAGE, SWEEP_OPEN},
};
enum { FLAW_COUNT = sizeof flaws / sizeof flaws[0] };

TEST(target_without_a_flaw_breaks_nothing)
{
    sweep_flaw("none");
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert(sweep_is_complete(&result));
}

/* The list of a finding is all that is needed to see it again. */
TEST(flaw_after_a_refusal_is_found_and_its_list_replays_by_itself, .to = FLAW_COUNT)
{
    sweep_flaw(flaws[_i].flaw);
    ck_assert_uint_gt(note_count, 0);
    ck_assert_msg(notes[0].rule == flaws[_i].rule, "%s breaks %s first", flaws[_i].flaw,
                  rule_info(notes[0].rule)->name);
    ck_assert_int_eq(notes[0].place.phase, flaws[_i].phase);
    ck_assert_uint_gt(result.found[flaws[_i].rule], 0);
    for (size_t i = 0; i < note_count; i++) {
        struct trial trial;
        char reason[RUN_REASON_BYTES] = "";
        if (notes[i].place.phase == SWEEP_OPEN) {
            ck_assert_uint_eq(notes[i].ops.count, 0);
            continue;
        }
        ck_assert(trial_replay(&hbmstress_target, &setup, &notes[i].ops, NULL, &trial, reason));
        ck_assert_int_eq(trial.first.rule, notes[i].rule);
        ck_assert_uint_eq(trial.first.op, notes[i].op);
        trial_deinit(&trial);
    }
}

TEST(only_the_first_findings_of_a_rule_are_told)
{
    sweep_flaw("counters");
    ck_assert_uint_gt(result.found[RULE_COUNTERS], SWEEP_SAME_COUNT_MAX);
    ck_assert_uint_eq(note_count, SWEEP_SAME_COUNT_MAX);
    ck_assert(sweep_is_complete(&result)); /* each call was failed all the same */
}

/* What is broken without any fault is not the sweep's to find: it says so and stops. */
TEST(list_that_breaks_by_itself_ends_the_sweep)
{
    sweep_everything(target_find("plant_counters"));
    ck_assert_uint_eq(note_count, 1);
    ck_assert_int_eq(notes[0].place.phase, SWEEP_PLAIN);
    ck_assert_uint_eq(result.replays, 1);
}

/* --- going on --- */

TEST(sweep_goes_on_behind_a_replay_that_never_ended)
{
    sweep_everything(&target_hbm);
    const uint64_t calls = result.kinds[FAULT_HOST_MEMORY].calls, replays = result.replays;
    ck_assert_uint_gt(calls, 2);

    result.place = (struct sweep_place){
        .phase = SWEEP_LIST, .kind = FAULT_HOST_MEMORY, .mode = SWEEP_ONCE, .call = calls - 1};
    ck_assert_uint_eq(sweep_skip(&result, RULE_CRASH, false), 1);
    ck_assert_uint_eq(result.place.call, calls);
    ck_assert_uint_eq(result.found[RULE_CRASH], 1);
    run_sweep(&target_hbm);
    ck_assert_uint_gt(result.replays, replays);

    result.place = (struct sweep_place){
        .phase = SWEEP_LIST, .kind = FAULT_COPY, .mode = SWEEP_FOR_EVER, .call = 1};
    ck_assert_uint_eq(sweep_skip(&result, RULE_CRASH, true), 2);
    ck_assert_int_eq(result.place.kind, FAULT_COPY);
    ck_assert_int_eq(result.place.mode, SWEEP_ONCE);
    ck_assert_uint_eq(result.place.call, 1);
    ck_assert_uint_eq(result.kinds[FAULT_COPY].findings, 1);
}

TEST(place_is_said_in_words)
{
    static const struct {
        struct sweep_place place;
        const char *words;
    } rows[] = {
        {{.call = 0}, "without a fault"},
        {{.phase = SWEEP_OPEN, .kind = FAULT_HOST_MEMORY, .mode = SWEEP_ONCE, .call = 3},
         "open: host_memory 3 once"},
        {{SWEEP_LIST, .kind = FAULT_WAIT, .host = 1, .mode = SWEEP_FOR_EVER, .call = 12},
         "wait 12 for ever on host 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[SWEEP_PLACE_BYTES];
        ck_assert_str_eq(sweep_place_print(&rows[i].place, text), rows[i].words);
    }
}
