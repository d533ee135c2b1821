/* Sweeps in processes of their own: which list is chosen, what is told, and what a death, a hang or
 * a fault of ours costs. */
#include "campaign/process/attempt.h"
#include "campaign/sweep/sweep_campaign.h"
#include "harness/base/check.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAR_NS UINT64_C(60000000000)

/* --- one list for each trial --- */

static struct part parts[2];
static struct plan plan;
static const char *texts[SWEEPS_TRIAL_COUNT]; /* NULL: one request */

/* A scenario has no context but its state. */
struct playing {
    struct op ops[64];
    uint32_t count;
};

static void begin_playing(void *state, struct random *random, struct setup *setup,
                          bool capacity_is_free)
{
    struct playing *playing = state;
    struct setup head;
    struct op_list ops;
    const char *text = NULL;
    (void)random;
    (void)capacity_is_free;
    for (uint64_t i = 0; i < SWEEPS_TRIAL_COUNT; i++) {
        text = setup->seed == plan_trial_seed(&parts[0], i) ? texts[i] : text;
    }
    char whole[2048];
    (void)snprintf(whole, sizeof whole, "hbmstress-ops 1\ncapacity 16K\ntarget hbm\n%s",
                   text == NULL ? "0: alloc size=1K\n" : text);
    read_list(whole, &head, &ops);
    CHECK(ops.count <= 64);
    memcpy(playing->ops, ops.ops, ops.count * sizeof *ops.ops);
    playing->count = (uint32_t)ops.count;
    op_list_deinit(&ops);
}

static bool play_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    const struct playing *playing = state;
    (void)random;
    if (view->op_number >= playing->count) {
        return false;
    }
    *op = playing->ops[view->op_number];
    /* One fault of ours, for the test that is about it. */
    CHECK(op->kind != OP_HOLD);
    return true;
}

static const struct scenario player = {.name = "player",
                                       .summary = "plays a list for each trial",
                                       .source = "none",
                                       .ops_per_trial = 1000,
                                       .begin = begin_playing,
                                       .next = play_next};

/* libhbm, but it dies in each defragment, and never returns from a retirement. */
static const struct target *honest;

static sem_t *gate; /* of all processes: lets one go on to its death; NULL = it is open */

DEFRAGMENT(die_in_defragment)
{
    if (gate != NULL) {
        (void)sem_wait(gate);
    }
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

RETIRE(stay_in_retire)
{
    for (volatile bool is_waiting = true; is_waiting;) {
        (void)pause();
    }
    return TARGET_OK;
}

static struct target deadly;

static void make_plan(size_t count)
{
    honest = target_find("hbm");
    deadly = *honest;
    deadly.defragment = die_in_defragment;
    deadly.retire = stay_in_retire;
    memset(texts, 0, sizeof texts);
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct part){.name = "the part",
                                 .scenario = &player,
                                 .target = &deadly,
                                 .op_count_max = 400,
                                 .trial_count_max = UINT64_MAX,
                                 .duration_ns = UINT64_MAX};
        setup_init(&parts[i].setup);
        parts[i].setup.capacity_bytes = 16 << 10;
    }
    plan = (struct plan){.parts = parts, .count = count, .shard_count = 1};
}

static struct sweep_campaign *sweeps;

static void end(void)
{
    snap_rest();
    sweep_campaign_destroy(sweeps);
}

EVERY_TEST(.teardown = end);

/* Returns the first part, when all are done. */
static struct sweep_part run_sweeps(uint64_t timeout_ns)
{
    const struct sweep_campaign_setup setup = {&plan, 1, timeout_ns};
    bool is_failed;
    if (sweeps != NULL) {
        sweep_campaign_destroy(sweeps);
    }
    sweeps = sweep_campaign_create(&setup);
    ck_assert_ptr_nonnull(sweeps);
    while (sweep_campaign_turn(sweeps, &is_failed)) {
    }
    ck_assert(!is_failed);
    return sweep_campaign_part(sweeps, 0);
}

/* What was chosen, how it ended, and each note. */
static void show_part(const struct sweep_part *part)
{
    const struct sweep_result *result = part->result;
    show("trial %u%s%s%s%s", (unsigned)part->trial, part->is_done ? ", is done" : "",
         part->is_faulty ? ", is faulty" : "", part->refusal[0] == '\0' ? "" : ": ", part->refusal);
    show("%s%s\n", result->place.phase == SWEEP_DONE ? ", at its end" : "",
         sweep_is_complete(result) ? ", complete" : "");
    GIVEN(result->found[RULE_CRASH], result->found[RULE_HANG], part->note_count);
    for (size_t i = 0; i < part->note_count; i++) {
        const struct sweep_note *note = &part->notes[i];
        show("trial %u, %s: ", (unsigned)note->trial, note->is_whole ? "whole" : "not whole");
        show_verdict(&note->verdict);
        show(", %zu ops of 16K%s%s\n", note->ops.count,
             note->setup.capacity_bytes == 16 << 10 ? "" : ", not",
             note->message[0] == '\0' ? "" : ", with words");
    }
}

/* --- which list --- */

#define WAITS_ONCE "0: alloc size=16K\n1: free_after block=0 delay=1ms\n2: alloc size=16K\n"
#define WAITS_TWICE WAITS_ONCE "3: free_after block=2 delay=1ms\n4: alloc size=16K\n"
#define EVICTS "0: load size=8K stack=0\n1: alloc size=16K\n"
#define EVICTS_AND_WAITS_TWICE                                                      \
    "0: load size=8K stack=0\n1: alloc size=16K\n2: free_after block=1 delay=1ms\n" \
    "3: alloc size=16K\n4: free_after block=3 delay=1ms\n5: alloc size=16K\n"
#define EVICTS_AND_WAITS_THRICE \
    EVICTS_AND_WAITS_TWICE "6: free_after block=5 delay=1ms\n7: alloc size=16K\n"

#define EVICTS_AND_WAITS_FOUR_TIMES \
    EVICTS_AND_WAITS_THRICE "8: free_after block=7 delay=1ms\n9: alloc size=16K\n"
#define EVICTS_TWICE_AND_WAITS_TWICE                                                         \
    "0: load size=8K stack=0\n1: alloc size=16K\n2: free block=1\n3: load size=8K stack=0\n" \
    "4: alloc size=16K\n5: free_after block=4 delay=1ms\n6: alloc size=16K\n"                \
    "7: free_after block=6 delay=1ms\n8: alloc size=16K\n"

TEST(the_list_that_asks_most_of_the_device_is_swept)
{
    static const struct {
        const char *third, *fifth, *last;
    } rows[] = {
        {NULL, NULL, NULL},                     /* of equals the first */
        {NULL, NULL, WAITS_ONCE},               /* some calls, in the last trial */
        {WAITS_TWICE, WAITS_ONCE, WAITS_TWICE}, /* the rarest kind is less rare */
        {WAITS_ONCE, WAITS_TWICE, NULL},
        {WAITS_TWICE, EVICTS_AND_WAITS_TWICE, EVICTS},             /* more kinds */
        {EVICTS_AND_WAITS_TWICE, EVICTS_AND_WAITS_THRICE, EVICTS}, /* more of all */
        /* The rarest kind counts before all. */
        {EVICTS_AND_WAITS_FOUR_TIMES, EVICTS_TWICE_AND_WAITS_TWICE, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_plan(1);
        texts[3] = rows[i].third;
        texts[5] = rows[i].fifth;
        texts[15] = rows[i].last;
        const struct sweep_part part = run_sweeps(FAR_NS);
        show_part(&part);
    }
}

/* It breaks a promise by itself, which is no way to look at faults. */
TEST(a_list_that_breaks_a_promise_is_the_last_choice)
{
    make_plan(1);
    parts[0].target = target_find("plant_premature_undrained");
    texts[0] = texts[2] = WAITS_ONCE;
    ck_assert_uint_eq(run_sweeps(FAR_NS).trial, 1);
    for (size_t i = 0; i < SWEEPS_TRIAL_COUNT; i++) {
        texts[i] = WAITS_ONCE;
    }
    const struct sweep_part part = run_sweeps(FAR_NS);
    ck_assert_uint_eq(part.trial, 0);
    ck_assert_uint_ge(part.note_count, 1);
    const struct sweep_note *note = &part.notes[0];
    show_verdict(&note->verdict);
    show(": ");
    SHOW(note->place.phase == SWEEP_PLAIN, note->has_largest, note->is_whole, note->largest.bytes,
         note->ops.count, note->ops.ops[1].kind == OP_FREE_AFTER, note->setup.capacity_bytes,
         note->message);
}

/* --- what ends a process --- */

TEST(a_death_while_lists_are_tried_costs_its_trial)
{
    make_plan(1);
    texts[2] = "0: alloc size=1K\n1: defragment\n2: alloc size=1K\n";
    texts[4] = WAITS_ONCE;
    const struct sweep_part part = run_sweeps(FAR_NS);
    show_part(&part);
    ck_assert_uint_eq(part.notes[0].setup.seed, plan_trial_seed(&parts[0], 2));
    const char reason[] = "the target ended its process: SIGSEGV at die_in_defragment";
    ck_assert_str_eq(part.notes[0].verdict.reason, reason);
}

/* Each is the list that ran, requests that were made again included: run again it dies in the same
 * op. */
TEST(the_list_of_a_death_dies_again)
{
    make_plan(1);
    parts[0].scenario = scenario_find("queued_free_race");
    parts[0].target = target_find("plant_crash_segv");
    parts[0].capacity_is_free = true;
    ck_assert(parts[0].scenario != NULL && parts[0].target != NULL);
    strcpy(parts[0].setup.target, parts[0].target->name);
    const struct sweep_part part = run_sweeps(FAR_NS);
    size_t retry_count = 0;
    ck_assert_uint_gt(part.note_count, 0);
    for (size_t i = 0; i < part.note_count; i++) {
        const struct sweep_note *note = &part.notes[i];
        const struct attempt attempt = {
            .target = parts[0].target, .setup = &note->setup, .duration_ns = FAR_NS};
        struct attempt_result result;
        attempt_run(&attempt, &note->ops, NULL, &result);
        ck_assert_int_eq(result.end, ATTEMPT_DIED);
        ck_assert_uint_eq(result.first.op, note->verdict.op);
        for (size_t k = 0; k < note->ops.count; k++) {
            retry_count += (note->ops.ops[k].flags & OP_RETRY) != 0;
        }
    }
    ck_assert_uint_gt(retry_count, 0); /* the scenario alone has none */
}

/* It survives no refusal of the device. */
ALLOC(die_when_refused)
{
    const enum target_result result = honest->alloc(instance, request, block);
    if (result == TARGET_FAILED) {
        (void)raise(SIGSEGV);
    }
    return result;
}

TEST(a_death_in_a_replay_costs_that_replay)
{
    make_plan(1);
    deadly.alloc = die_when_refused;
    texts[0] = WAITS_TWICE;
    const struct sweep_part part = run_sweeps(FAR_NS);
    ck_assert(part.is_done && !part.is_faulty);
    ck_assert_int_eq(part.result->place.phase, SWEEP_DONE);
    const uint64_t found = part.result->found[RULE_CRASH];
    ck_assert_uint_ge(found, 4); /* each of two calls, once and for ever */
    ck_assert_uint_eq(part.note_count, found < SWEEP_SAME_COUNT_MAX ? found : SWEEP_SAME_COUNT_MAX);
    ck_assert_uint_gt(part.result->replays, found);
    for (size_t i = 0; i < part.note_count; i++) {
        ck_assert_int_eq(part.notes[i].place.phase, SWEEP_LIST);
        ck_assert(part.notes[i].is_whole);
        ck_assert_uint_eq(part.notes[i].trial, 0);
        ck_assert_uint_gt(part.notes[i].ops.count, 1);
        ck_assert(i == 0 || memcmp(&part.notes[i].place, &part.notes[i - 1].place,
                                   sizeof part.notes[i].place) != 0);
    }
}

/* Behind the fifth the rest of its mode is left out. */
TEST(a_mode_ends_with_its_fifth_death)
{
    char text[1024] = "0: alloc size=16K\n";
    enum { WAIT_COUNT = 9 };
    make_plan(1);
    deadly.alloc = die_when_refused;
    for (unsigned i = 0; i < WAIT_COUNT; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used,
                       "%u: free_after block=%u delay=1ms\n%u: alloc size=16K\n", 2 * i + 1, 2 * i,
                       2 * i + 2);
    }
    texts[0] = text;
    const struct sweep_part part = run_sweeps(FAR_NS);
    ck_assert(part.is_done);
    ck_assert_uint_eq(part.result->calls[0][DEVICE_CALL_WAIT], WAIT_COUNT);
    ck_assert_uint_eq(part.result->found[RULE_CRASH] % SWEEP_SAME_COUNT_MAX, 0);
    ck_assert_uint_le(part.result->found[RULE_CRASH], 4 * SWEEP_SAME_COUNT_MAX);
    ck_assert_uint_ge(part.result->found[RULE_CRASH], 2 * SWEEP_SAME_COUNT_MAX);
    ck_assert(!sweep_is_complete(part.result));
}

TEST(five_deaths_are_noted_and_all_are_counted)
{
    make_plan(1);
    for (size_t i = 0; i < SWEEPS_TRIAL_COUNT; i++) {
        texts[i] = "0: defragment\n";
    }
    const struct sweep_part part = run_sweeps(FAR_NS);
    show_part(&part);
    ck_assert_uint_eq(part.result->replays, 0); /* there is no list */
}

TEST(a_trial_that_does_not_end_in_time_is_a_hang)
{
    make_plan(1);
    texts[15] = "0: alloc size=1K\n1: retire address=0 size=4K\n";
    const struct sweep_part part = run_sweeps(UINT64_C(150000000));
    show_part(&part);
    SHOW(part.notes[0].verdict.reason);
}

TEST(a_fault_of_ours_ends_its_sweep_with_a_message)
{
    struct sweep_part part;
    make_plan(1);
    texts[1] = "0: alloc size=1K\n1: hold block=0\n";
    HEAR(part = run_sweeps(FAR_NS));
    show_part(&part);
    const char *said = shown_take();
    ck_assert_ptr_nonnull(strstr(said, "op->kind != OP_HOLD does not hold, in the sweep of the "
                                       "part. Please report this.\n"));
    ck_assert_ptr_nonnull(strstr(said, ", is done, is faulty"));
    ck_assert_uint_eq(part.note_count, 0);
}

TEST(a_refused_setup_ends_its_sweep_with_the_reason)
{
    make_plan(2);
    strcpy(parts[0].note, "x"); /* left out */
    ck_assert(setup_set_option(&parts[1].setup, "colour", "red"));
    (void)run_sweeps(FAR_NS);
    for (size_t i = 0; i < 2; i++) {
        const struct sweep_part part = sweep_campaign_part(sweeps, i);
        ck_assert(i == 1 || part.result->replays == 0);
        show_part(&part);
    }
}

TEST(sweeps_that_are_stopped_are_not_done)
{
    bool is_failed;
    make_plan(2);
    texts[0] = "0: alloc size=1K\n1: retire address=0 size=4K\n"; /* for ever */
    const struct sweep_campaign_setup setup = {&plan, 1, FAR_NS};
    sweeps = sweep_campaign_create(&setup);
    ck_assert(sweep_campaign_turn(sweeps, &is_failed));
    sweep_campaign_stop(sweeps);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD); /* none runs */
    for (size_t i = 0; i < 2; i++) {
        const struct sweep_part part = sweep_campaign_part(sweeps, i);
        show_part(&part);
    }
    ck_assert(sweep_campaign_turn(sweeps, &is_failed)); /* again under way, and so destroyed */
}

/* It had ended by then, and nobody had looked. */
TEST(a_death_just_before_the_stop_is_noted)
{
    bool is_failed;
    siginfo_t ended;
    make_plan(1);
    texts[0] = "0: defragment\n";
    gate = mmap(NULL, sizeof *gate, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *)gate, MAP_FAILED);
    ck_assert_int_eq(sem_init(gate, 1, 0), 0);
    const struct sweep_campaign_setup setup = {&plan, 1, FAR_NS};
    sweeps = sweep_campaign_create(&setup);
    ck_assert(sweep_campaign_turn(sweeps, &is_failed)); /* it waits at the gate */
    ck_assert_int_eq(sem_post(gate), 0);
    ck_assert_int_eq(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
    sweep_campaign_stop(sweeps);
    const struct sweep_part part = sweep_campaign_part(sweeps, 0);
    ck_assert_uint_eq(part.note_count, 1);
    ck_assert_int_eq(part.notes[0].verdict.rule, RULE_CRASH);
}
