/* The sweep: it fails each device call of a list, finds what an allocator does wrong after a
 * refusal, and keeps a list that shows it by itself. */
#include "harness/sweep/sweep.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
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

static uint32_t append_op(struct op op)
{
    op_list_append(&list, &op);
    return (uint32_t)list.count - 1;
}

static uint32_t add_alloc(uint64_t granules)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = granules * G;
    return append_op(op);
}

static uint32_t add_load(uint64_t granules)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = granules * G;
    return append_op(op);
}

static uint32_t add_ref(enum op_kind kind, uint32_t ref, uint64_t delay_ns)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = delay_ns;
    return append_op(op);
}

/* Moves, waits, evictions and host memory, each twice, and references from one op to the next. */
static void add_everything(void)
{
    for (int round = 0; round < 2; round++) {
        const uint32_t low = add_alloc(6), middle = add_alloc(8), high = add_alloc(10);
        const uint32_t program = add_load(4);
        add_ref(OP_EXECUTE, program, 0);
        add_ref(OP_FREE, middle, 0);
        const uint32_t moved = add_alloc(10); /* what is free lies in two holes */
        add_ref(OP_USE, high, 1000);
        add_ref(OP_FREE_AFTER, high, 2000);
        const uint32_t waited = add_alloc(9); /* only the queued free makes room */
        add_ref(OP_HOLD, waited, 0);
        add_ref(OP_RELEASE, waited, 0);
        const uint32_t evicting = add_alloc(4); /* and now only the program does */
        add_ref(OP_TOUCH, moved, 0);
        add_ref(OP_FREE, low, 0);
        add_ref(OP_EXECUTE, program, 100);
        add_ref(OP_FREE, moved, 0);
        add_ref(OP_FREE, waited, 0);
        add_ref(OP_FREE, evicting, 0);
        add_ref(OP_UNLOAD, program, 0);
    }
}

static void begin_list(void)
{
    setup_init(&setup);
    setup.capacity_bytes = CAPACITY;
    op_list_init(&list);
    memset(&result, 0, sizeof result);
    note_count = 0;
    begin_count = step_count = spmd_count = spmd_after_count = 0;
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

static void sweep_flaw(const char *flaw)
{
    begin_list();
    ck_assert(setup_set_option(&setup, "flaw", flaw));
    add_everything();
    run_sweep(&hbmstress_target);
}

/* --- nothing to find --- */

EVERY_TEST(.timeout_s = 60);

TEST(reference_target_lives_through_every_refusal)
{
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
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
    end_list();
}

TEST(every_call_site_is_struck)
{
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
    const struct sweep_site_counts sites = sweep_sites_count(&result.sites,
                                                             (1u << FAULT_CALL_COUNT) - 1);
    ck_assert_uint_ge(sites.plain, FAULT_CALL_COUNT);
    ck_assert_uint_eq(sites.plain_struck, sites.plain);
    ck_assert_uint_eq(result.sites.is_full, 0);
    end_list();
}

/* Whatever names an op that failed names its repetition instead: nothing of the rest falls away. */
TEST(later_ops_name_the_repetition)
{
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
    ck_assert_uint_gt(result.kinds[FAULT_HOST_MEMORY].ops_failed, 0);
    /* What a refusal failed goes on by its repetition; only a block that an event's fault lets no
     * wait make room for is not there, and with it up to three ops, for two refusals each. */
    ck_assert_uint_le(result.totals.skipped, 2 * result.totals.ooms);
    ck_assert_uint_gt(result.kinds[FAULT_ANY].ops_failed, result.totals.skipped);
    end_list();
}

TEST(own_faults_of_the_list_are_left_out)
{
    begin_list();
    for (unsigned kind = 0; kind < FAULT_CALL_COUNT; kind++) {
        struct op fault = op_make(OP_FAULT);
        fault.tag = (uint8_t)kind;
        fault.size_bytes = 1;
        fault.flags = OP_FOR_EVER;
        append_op(fault);
    }
    add_everything();
    run_sweep(&target_hbm);
    ck_assert_uint_eq(result.op_count, list.count - FAULT_CALL_COUNT);
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert(sweep_is_complete(&result));
    end_list();
}

TEST(empty_list_is_swept_through_open_alone)
{
    begin_list();
    run_sweep(&target_hbm);
    ck_assert(sweep_is_complete(&result));
    ck_assert_uint_gt(result.open.failed[SWEEP_ONCE], 0);
    ck_assert_uint_eq(result.replays, 1 + result.open.replays);
    end_list();
}

TEST(same_list_gives_the_same_result)
{
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
    const uint64_t replays = result.replays, ops = result.totals.ops, steps = step_count;
    end_list();
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
    ck_assert_uint_eq(result.replays, replays);
    ck_assert_uint_eq(result.totals.ops, ops);
    ck_assert_uint_eq(step_count, steps);
    end_list();
}

/* Each host's device calls are failed, and hosts of which one met a fault need not answer alike. */
TEST(every_host_is_swept)
{
    begin_list();
    setup.host_count = 2;
    for (uint8_t round = 0; round < 4; round++) {
        for (uint8_t host = 0; host < 2; host++) {
            struct op op = op_make(OP_LOAD);
            op.host = host;
            op.size_bytes = 10 * G;
            op.flags = OP_SPMD;
            op.group = round;
            append_op(op);
        }
    }
    run_sweep(&target_hbm);
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert(sweep_is_complete(&result));
    ck_assert_uint_gt(result.calls[0][DEVICE_CALL_UNLOAD] + result.calls[0][DEVICE_CALL_HOST_ALLOC],
                      0);
    ck_assert_uint_gt(result.calls[1][DEVICE_CALL_UNLOAD] + result.calls[1][DEVICE_CALL_HOST_ALLOC],
                      0);
    ck_assert_uint_gt(spmd_count, 0);
    ck_assert_uint_eq(spmd_after_count, 0);
    end_list();
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
    end_list();
}

TEST(flaw_after_a_refusal_is_found, .to = FLAW_COUNT)
{
    sweep_flaw(flaws[_i].flaw);
    ck_assert_uint_gt(note_count, 0);
    ck_assert_msg(notes[0].rule == flaws[_i].rule, "%s breaks %s first", flaws[_i].flaw,
                  rule_info(notes[0].rule)->name);
    ck_assert_int_eq(notes[0].place.phase, flaws[_i].phase);
    ck_assert_uint_gt(result.found[flaws[_i].rule], 0);
    end_list();
}

/* The list of a finding is all that is needed to see it again. */
TEST(list_of_a_finding_replays_by_itself, .to = FLAW_COUNT)
{
    sweep_flaw(flaws[_i].flaw);
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
    end_list();
}

TEST(only_the_first_findings_of_a_rule_are_told)
{
    sweep_flaw("counters");
    ck_assert_uint_gt(result.found[RULE_COUNTERS], SWEEP_SAME_COUNT_MAX);
    ck_assert_uint_eq(note_count, SWEEP_SAME_COUNT_MAX);
    ck_assert(sweep_is_complete(&result)); /* each call was failed all the same */
    end_list();
}

/* What is broken without any fault is not the sweep's to find: it says so and stops. */
TEST(list_that_breaks_by_itself_ends_the_sweep)
{
    begin_list();
    add_everything();
    run_sweep(target_find("plant_counters"));
    ck_assert_uint_eq(note_count, 1);
    ck_assert_int_eq(notes[0].place.phase, SWEEP_PLAIN);
    ck_assert_uint_eq(result.replays, 1);
    end_list();
}

/* --- going on --- */

TEST(sweep_goes_on_behind_a_replay_that_never_ended)
{
    begin_list();
    add_everything();
    run_sweep(&target_hbm);
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
    end_list();
}

TEST(place_is_said_in_words)
{
    char text[SWEEP_PLACE_BYTES];
    ck_assert_str_eq(sweep_place_print(&(struct sweep_place){0}, text), "without a fault");
    const struct sweep_place open = {
        .phase = SWEEP_OPEN, .kind = FAULT_HOST_MEMORY, .mode = SWEEP_ONCE, .call = 3};
    ck_assert_str_eq(sweep_place_print(&open, text), "open: host_memory 3 once");
    const struct sweep_place wait = {
        .phase = SWEEP_LIST, .kind = FAULT_WAIT, .host = 1, .mode = SWEEP_FOR_EVER, .call = 12};
    ck_assert_str_eq(sweep_place_print(&wait, text), "wait 12 for ever on host 1");
}
