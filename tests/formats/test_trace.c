/* Events of a log become ops: what was there before, queued frees, failures, sums, and streams as
 * lanes in the order of the log. */
#include "formats/common/import.h"
#include "formats/common/trace.h"
#include "harness/base/random.h"
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct setup nothing_fixed;
static struct setup fixed;
static struct import import;
static struct import_error error;
static struct import_input input;
static struct event_trace *trace;
static struct trace_totals totals;

static void begin_trace(void)
{
    trace_abandon(trace);
    import_deinit(&import);
    import_init(&import);
    error = (struct import_error){0};
    input = (struct import_input){.text = "", .fixed = &fixed};
    trace = trace_begin(&input, &import, &error);
    ck_assert_ptr_nonnull(trace);
}

static void setup_test(void)
{
    fixed = nothing_fixed;
    import_init(&import);
    begin_trace();
}

static void teardown_test(void)
{
    trace_abandon(trace);
    trace = NULL;
    import_deinit(&import);
}

static void end_trace(void)
{
    ck_assert_int_eq(trace_end(trace, &totals), IMPORT_OK);
    trace = NULL;
}

/* --- events, shortly --- */

static struct trace_event event_of(uint64_t address, uint64_t size_bytes, uint64_t stream)
{
    return (struct trace_event){
        .address = address, .size_bytes = size_bytes, .stream = stream, .line = 7};
}

static void add_alloc(uint64_t address, uint64_t size_bytes)
{
    const struct trace_event event = event_of(address, size_bytes, 0);
    ck_assert_int_eq(trace_alloc(trace, &event), IMPORT_OK);
}

static void free_at_once(uint64_t address, uint64_t size_bytes)
{
    const struct trace_event event = event_of(address, size_bytes, 0);
    ck_assert_int_eq(trace_free(trace, &event), IMPORT_OK);
}

/* --- what events become --- */

EVERY_TEST(.setup = setup_test, .teardown = teardown_test);

TEST(tags_have_a_number_each_until_there_are_no_more)
{
    char name[128];
    ck_assert_uint_eq(trace_tag(trace, "", 0), 0);
    for (unsigned i = 1; i <= 300; i++) {
        const int length = snprintf(name, sizeof name, "name %u", i);
        ck_assert_uint_eq(trace_tag(trace, name, (size_t)length), i <= 254 ? i : 255);
    }
    ck_assert_uint_eq(trace_tag(trace, "name 17", 7), 17);
    ck_assert_str_eq(import.setup.tags[17], "name 17");
    ck_assert_str_eq(import.setup.tags[255], "other");
    begin_trace();
    memset(name, 'x', sizeof name);
    ck_assert_uint_eq(trace_tag(trace, name, sizeof name), 1);
    ck_assert_uint_eq(trace_tag(trace, name, 64), 1);
    ck_assert_uint_eq(trace_tag(trace, "a\0b\n", 4), 2);
    ck_assert_str_eq(import.setup.tags[2], "a_b_");
}

/* --- contradictions --- */

/* --- many --- */

static uint64_t undo_shift(uint64_t value, unsigned shift)
{
    uint64_t result = value;
    for (unsigned i = shift; i < 64; i += shift) {
        result = value ^ result >> shift;
    }
    return result;
}

static uint64_t find_inverse(uint64_t odd)
{
    uint64_t result = odd; /* Newton: each step doubles the bits that are right */
    for (int i = 0; i < 6; i++) {
        result *= 2 - odd * result;
    }
    return result;
}

/* The address that the table with seed 0 hashes to that number; address ^ seed is that of another
 * seed. */
static uint64_t address_of_hash(uint64_t hash)
{
    hash *= find_inverse(UINT64_C(0x94D049BB133111EB));
    hash = undo_shift(hash, 27) * find_inverse(UINT64_C(0xBF58476D1CE4E5B9));
    return undo_shift(hash, 30) - UINT64_C(0x9E3779B97F4A7C15);
}

TEST(addresses_that_are_chosen_to_meet_are_as_fast_as_others)
{
    enum { COUNT = 200000 }; /* by linear probing 2 * 10^10 looks */
    for (uint64_t i = 0; i < COUNT; i++) {
        add_alloc(address_of_hash(i), 512);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        ck_assert(trace_is_live(trace, 0, address_of_hash(i)));
        free_at_once(address_of_hash(i), 512);
    }
    end_trace();
    ck_assert_uint_eq(totals.frees, COUNT);
    ck_assert_uint_eq(totals.live_count, 0);
}

/* For more seeds than anybody would try: whoever knows the next one knows which addresses meet. */
TEST(addresses_that_meet_for_many_seeds_are_as_fast_as_others)
{
    enum { SEED_COUNT = 64, FOR_EACH = 140, COUNT = 200000 };
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        for (uint64_t i = 0; i < FOR_EACH; i++) {
            add_alloc(address_of_hash(UINT64_C(0x123456) << 40 | i) ^ seed, 512);
        }
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        add_alloc(address_of_hash(UINT64_C(0xABCDEF) << 40 | i) ^ SEED_COUNT, 512);
    }
    end_trace();
    ck_assert_uint_eq(totals.live_count, SEED_COUNT * FOR_EACH + COUNT);
}

/* A log drawn at random, with what it must come to counted on the side. */
enum { NAME_COUNT = 64 };
struct drawn {
    struct random random;
    uint64_t stream_count;
    struct {
        uint64_t size_bytes, stream;
        bool is_live, is_queued;
    } names[NAME_COUNT];
    uint64_t live_bytes, peak_bytes, allocs, frees;
};

static void draw_event(struct drawn *drawn)
{
    struct random *random = &drawn->random;
    const uint64_t name = random_below(random, NAME_COUNT);
    struct trace_event event = event_of(name * 4096, 0,
                                        random_below(random, drawn->stream_count) * 0x1000);
    if (drawn->names[name].is_queued) {
        drawn->names[name].is_queued = false;
        drawn->live_bytes -= drawn->names[name].size_bytes;
        event.stream = drawn->names[name].stream;
        ck_assert_int_eq(trace_free_completed(trace, &event), IMPORT_OK);
    } else if (!drawn->names[name].is_live) {
        event.size_bytes = random_between(random, 1, 64) * 512;
        if (random_chance(random, 1, 20)) {
            event.size_bytes = UINT64_C(512) << random_below(random, 12);
            ck_assert_int_eq(trace_failed(trace, &event), IMPORT_OK);
            return;
        }
        drawn->names[name].size_bytes = event.size_bytes;
        drawn->names[name].stream = event.stream;
        drawn->names[name].is_live = true;
        drawn->live_bytes += event.size_bytes;
        drawn->peak_bytes = drawn->live_bytes > drawn->peak_bytes ? drawn->live_bytes
                                                                  : drawn->peak_bytes;
        drawn->allocs++;
        ck_assert_int_eq(trace_alloc(trace, &event), IMPORT_OK);
    } else {
        drawn->names[name].is_live = false;
        drawn->names[name].is_queued = random_chance(random, 1, 4);
        event.stream = random_chance(random, 3, 4) ? drawn->names[name].stream : event.stream;
        event.size_bytes = drawn->names[name].size_bytes;
        drawn->names[name].stream = event.stream;
        drawn->live_bytes -= drawn->names[name].is_queued ? 0 : event.size_bytes;
        drawn->frees++;
        ck_assert_int_eq(drawn->names[name].is_queued ? trace_free_requested(trace, &event)
                                                      : trace_free(trace, &event),
                         IMPORT_OK);
    }
}

static void draw_log(struct drawn *drawn, uint64_t seed, uint64_t stream_count,
                     unsigned event_count)
{
    *drawn = (struct drawn){.stream_count = stream_count};
    random_init(&drawn->random, seed);
    drawn->live_bytes = drawn->peak_bytes = 512 * (1 + 2 + 3 + 4 + 5);
    for (uint64_t i = 0; i < 5; i++) { /* blocks that were there, of which two go */
        const struct trace_event event = event_of(UINT64_C(1) << 40 | i, 512 * (i + 1),
                                                  i % stream_count * 0x1000);
        if (i == 1) {
            ck_assert_int_eq(trace_free(trace, &event), IMPORT_OK);
            drawn->live_bytes -= event.size_bytes;
            drawn->frees++;
        }
        for (unsigned k = 0; k < event_count / 5; k++) {
            draw_event(drawn);
        }
        if (i != 1) {
            ck_assert_int_eq(i == 3 ? trace_free(trace, &event) : trace_was_there(trace, &event),
                             IMPORT_OK);
            drawn->live_bytes -= i == 3 ? event.size_bytes : 0;
            drawn->frees += i == 3;
        }
    }
}

TEST(counts_and_sums_are_those_of_the_log)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct drawn drawn;
        begin_trace();
        draw_log(&drawn, seed, 1 + seed % 20, 500);
        end_trace();
        ck_assert_uint_eq(totals.allocs, drawn.allocs);
        ck_assert_uint_eq(totals.frees, drawn.frees);
        ck_assert_uint_eq(totals.live_bytes, drawn.live_bytes);
        ck_assert_uint_eq(totals.peak_bytes, drawn.peak_bytes);
        ck_assert_uint_eq(totals.at_start, 5);
    }
}

/* --- lanes --- */

struct answers {
    struct observation *observations; /* by order of their judgement */
    size_t count, room;
};

static void note_answer(void *context, const struct run *run, const struct verdict *verdict)
{
    struct answers *answers = context;
    (void)verdict;
    if (answers->count < answers->room) {
        answers->observations[answers->count++] = *run_observation(run);
    }
}

static void replay_ops(const struct op_list *ops, size_t count, struct answers *answers)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    *answers = (struct answers){.observations = calloc(count, sizeof *answers->observations),
                                .room = count};
    const struct run_listener listener = {answers, note_answer};
    ck_assert_msg(trial_replay(&target_hbm, &import.setup, ops, &listener, &trial, reason), "%s",
                  reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "op %u: %s", trial.first.op,
                  trial.first.reason);
    ck_assert_uint_eq(answers->count, count);
    trial_deinit(&trial);
}

/* Runs the list as it is and in one lane: the same ops in the same order with the same answers. */
static void assert_lanes_keep_the_order(void)
{
    struct op_list plain;
    struct schedule_switch *switches = NULL;
    struct answers laned;
    struct answers alone;
    op_list_init(&plain);
    (void)lanes_take_schedule(&import.ops, &plain, &switches);
    free(switches);
    replay_ops(&import.ops, plain.count, &laned);
    for (size_t i = 0; i < plain.count; i++) {
        plain.ops[i].lane = 0;
    }
    replay_ops(&plain, plain.count, &alone);
    for (size_t i = 0; i < plain.count; i++) {
        ck_assert_uint_eq(laned.observations[i].op, i);
        ck_assert_uint_eq(alone.observations[i].op, i);
        ck_assert_uint_eq(laned.observations[i].result, alone.observations[i].result);
        ck_assert_uint_eq(laned.observations[i].skipped, alone.observations[i].skipped);
        ck_assert_uint_eq(laned.observations[i].address, alone.observations[i].address);
    }
    free(laned.observations);
    free(alone.observations);
    op_list_deinit(&plain);
}

TEST(lanes_run_the_ops_in_the_order_of_the_log)
{
    size_t switches = 0;
    size_t pauses = 0;
    size_t ends = 0;
    size_t ops = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct drawn drawn;
        begin_trace();
        if (seed % 3 == 1) { /* room for everything, or far too little */
            fixed.capacity_bytes = 1 << 22;
        } else {
            fixed.capacity_bytes = seed % 3 == 2 ? 1 << 18 : 0;
        }
        draw_log(&drawn, seed, 2 + seed % 4, 150);
        end_trace();
        ck_assert_uint_eq(lanes_count(&import.ops), 2 + seed % 4);
        for (size_t i = 0; i < import.ops.count; i++) {
            switches += import.ops.ops[i].kind == OP_SWITCH;
            pauses += import.ops.ops[i].kind == OP_ADVANCE;
        }
        ends += 1 + seed % 4; /* each lane but one has a pause at the end of the list */
        ops += import.ops.count;
        assert_lanes_keep_the_order();
    }
    printf("%zu ops, of them %zu pauses and %zu switches\n", ops, pauses, switches);
    ck_assert_uint_gt(pauses, ends + 40);
}

TEST(sixteen_streams_are_lanes_and_more_are_not)
{
    struct drawn drawn;
    draw_log(&drawn, 1, 16, 300);
    end_trace();
    ck_assert_uint_eq(totals.streams, 16);
    ck_assert_uint_eq(lanes_count(&import.ops), 16);
    assert_lanes_keep_the_order();
    begin_trace();
    draw_log(&drawn, 1, 17, 300);
    end_trace();
    ck_assert_uint_eq(totals.streams, 17);
    ck_assert(!lanes_are_in(&import.ops));
    ck_assert_ptr_nonnull(strstr(import.notes, "17 streams are not distinguished"));
}

TEST(another_target_gets_a_list_that_it_can_run)
{
    struct drawn drawn;
    snprintf(fixed.target, sizeof fixed.target, "first_fit");
    draw_log(&drawn, 1, 3, 50);
    end_trace();
    ck_assert(!lanes_are_in(&import.ops));
    ck_assert_ptr_nonnull(strstr(import.notes, "3 streams are not distinguished"));
}

TEST(hosts_and_streams_are_two_things)
{
    for (uint64_t i = 0; i < 40; i++) {
        struct trace_event event = event_of(i / 2, 512, i % 3);
        event.host = (uint8_t)(i % 2);
        ck_assert_int_eq(trace_alloc(trace, &event), IMPORT_OK);
    }
    end_trace();
    ck_assert_uint_eq(import.setup.host_count, 2);
    ck_assert_uint_eq(lanes_count(&import.ops), 3);
    assert_lanes_keep_the_order();
}
