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

static void request_free(uint64_t address, uint64_t size_bytes)
{
    const struct trace_event event = event_of(address, size_bytes, 0);
    ck_assert_int_eq(trace_free_requested(trace, &event), IMPORT_OK);
}

static void complete_free(uint64_t address, uint64_t size_bytes)
{
    const struct trace_event event = event_of(address, size_bytes, 0);
    ck_assert_int_eq(trace_free_completed(trace, &event), IMPORT_OK);
}

static void add_failure(uint64_t size_bytes)
{
    const struct trace_event event = event_of(0, size_bytes, 0);
    ck_assert_int_eq(trace_failed(trace, &event), IMPORT_OK);
}

static void assert_ops(const char *expected)
{
    char text[4096] = "";
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < import.ops.count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s\n", op_print(&import.ops.ops[i], op));
    }
    ck_assert_str_eq(text, expected);
}

/* --- what events become --- */

EVERY_TEST(.setup = setup_test, .teardown = teardown_test);

TEST(an_address_names_its_newest_block)
{
    add_alloc(16, 512);
    add_alloc(17, 1024);
    free_at_once(16, 512);
    add_alloc(16, 2048);
    free_at_once(16, 0);
    end_trace();
    assert_ops("alloc size=512\nalloc size=1K\nfree block=0\nalloc size=2K\nfree block=3\n");
    ck_assert_uint_eq(totals.allocs, 3);
    ck_assert_uint_eq(totals.frees, 2);
    ck_assert_uint_eq(totals.live_bytes, 1024);
    ck_assert_uint_eq(totals.live_count, 1);
    ck_assert_uint_eq(totals.peak_bytes, 3072);
    ck_assert_uint_eq(import.setup.capacity_bytes, 3072);
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "repack");
    ck_assert_ptr_nonnull(strstr(import.notes, "assumed: capacity 3072, the peak"));
}

/* Near the peak each request would have blocks moved. */
TEST(a_long_log_without_a_capacity_gets_an_eighth_to_spare)
{
    for (uint64_t i = 0; i < CAPACITY_TIGHT_OPS_MAX / 2; i++) {
        add_alloc(i, 512);
        free_at_once(i, 512);
    }
    add_alloc(1 << 20, 4096);
    end_trace();
    ck_assert_uint_eq(import.ops.count, CAPACITY_TIGHT_OPS_MAX + 1);
    ck_assert_uint_eq(totals.peak_bytes, 4096);
    ck_assert_uint_eq(import.setup.capacity_bytes, 4096 + 512);
    ck_assert_ptr_nonnull(
        strstr(import.assumed, "capacity 4608, the peak of live bytes, 4096 in granules of 512"));
}

TEST(a_free_that_completes_at_once_is_a_free_and_another_waits_for_its_completion)
{
    add_alloc(1, 512);
    add_alloc(2, 512);
    request_free(1, 0);
    complete_free(1, 0);
    request_free(2, 512);
    add_alloc(3, 512);
    complete_free(2, 512);
    end_trace();
    assert_ops(
        "alloc size=512\nalloc size=512\nfree block=0\nfree_after block=1 delay=never\nalloc size=512\n"
        "complete event=3\n");
    ck_assert_uint_eq(totals.frees, 2);
    ck_assert_uint_eq(totals.peak_bytes, 1024);
}

TEST(a_queued_free_takes_its_place_until_it_completes)
{
    add_alloc(1, 512);
    request_free(1, 0);
    ck_assert(!trace_is_live(trace, 0, 1));
    add_alloc(2, 1024);
    ck_assert(trace_is_live(trace, 0, 2));
    ck_assert(!trace_is_live(trace, 1, 2));
    end_trace();
    ck_assert_uint_eq(totals.peak_bytes, 1536);
    ck_assert_uint_eq(totals.live_count, 2);
    ck_assert_uint_eq(totals.live_bytes, 1536);
}

TEST(blocks_whose_free_or_final_state_is_seen_were_there_before)
{
    add_alloc(1, 512);
    add_failure(1 << 20);
    free_at_once(2, 4096);
    request_free(3, 1024);
    free_at_once(1, 512);
    complete_free(3, 0);
    const struct trace_event there = event_of(4, 512, 0);
    ck_assert_int_eq(trace_was_there(trace, &there), IMPORT_OK);
    end_trace();
    assert_ops(
        "alloc size=4K\nalloc size=1K\nalloc size=512\nalloc size=512\nalloc size=1M\nfree block=0\n"
        "free_after block=1 delay=never\nfree block=3\ncomplete event=6\n");
    ck_assert_uint_eq(import.said_count, 1);
    ck_assert_uint_eq(import.said[0].op, 4);
    ck_assert_int_eq(import.said[0].kind, SAID_FAILED);
    ck_assert_uint_eq(totals.at_start, 3);
    ck_assert_uint_eq(totals.allocs, 1);
    ck_assert_uint_eq(totals.peak_bytes, 4096 + 1024 + 512 + 512);
    ck_assert_uint_eq(totals.live_bytes, 512);
    ck_assert_ptr_nonnull(strstr(import.notes, "3 blocks (5632 bytes in all)"));
}

TEST(frees_of_unknown_blocks_without_a_size_are_counted_and_left_out)
{
    request_free(1, 0);
    complete_free(1, 0);
    free_at_once(2, 0);
    complete_free(3, 0);
    add_alloc(1, 512);
    end_trace();
    assert_ops("alloc size=512\n");
    ck_assert_uint_eq(totals.unknown_frees, 3);
    ck_assert_ptr_nonnull(strstr(import.notes, "left out: 3 frees"));
}

TEST(a_log_of_which_nothing_becomes_an_op_is_incomplete)
{
    free_at_once(2, 0);
    ck_assert_int_eq(trace_end(trace, NULL), IMPORT_INCOMPLETE);
    trace = NULL;
    ck_assert_ptr_nonnull(strstr(error.reason, "of unknown size"));
}

TEST(a_failure_that_would_fit_is_given_back_before_the_next_op)
{
    add_alloc(1, 1024);
    free_at_once(1, 0);
    add_failure(1024); /* nothing is live: fragmented, or somebody else's memory */
    add_alloc(2, 512);
    add_failure(1024);
    end_trace();
    assert_ops(
        "alloc size=1K\nfree block=0\nalloc size=1K\nfree block=2\nalloc size=512\nalloc size=1K\n");
    ck_assert_uint_eq(import.said_count, 2);
    ck_assert_uint_eq(import.said[0].op, 2);
    ck_assert_uint_eq(import.said[1].op, 5);
    ck_assert_uint_eq(totals.failures, 2);
}

TEST(what_was_asked_for_is_kept_beside_what_it_takes)
{
    const struct trace_event event = {
        .address = 1, .size_bytes = 512, .requested_bytes = 100, .tag = 3};
    ck_assert_int_eq(trace_alloc(trace, &event), IMPORT_OK);
    end_trace();
    assert_ops("alloc size=512 unpadded=100 tag=3\n");
}

TEST(hosts_have_blocks_and_sums_of_their_own)
{
    const struct trace_event on[] = {{.address = 1, .size_bytes = 512},
                                     {.address = 1, .size_bytes = 1536, .host = 2}};
    ck_assert_int_eq(trace_alloc(trace, &on[0]), IMPORT_OK);
    ck_assert_int_eq(trace_alloc(trace, &on[1]), IMPORT_OK);
    ck_assert_int_eq(trace_free(trace, &on[0]), IMPORT_OK);
    end_trace();
    assert_ops("alloc size=512\nalloc size=1536 host=2\nfree block=0\n");
    ck_assert_uint_eq(import.setup.host_count, 3);
    ck_assert_uint_eq(totals.peak_bytes, 1536);
    ck_assert_uint_eq(totals.live_bytes, 1536);
}

TEST(the_granule_divides_all_sizes_unless_it_is_fixed)
{
    add_alloc(1, 768);
    end_trace();
    ck_assert_uint_eq(import.setup.granule_bytes, 256);
    fixed.granule_bytes = 1024;
    begin_trace();
    add_alloc(1, 768);
    add_alloc(2, 1);
    end_trace();
    ck_assert_uint_eq(import.setup.granule_bytes, 1024);
    ck_assert_uint_eq(import.setup.capacity_bytes, 2048);
    ck_assert_uint_eq(totals.peak_bytes, 769);
}

TEST(a_capacity_that_is_fixed_or_set_stays)
{
    fixed.capacity_bytes = 1 << 20;
    add_alloc(1, 512);
    end_trace();
    ck_assert_uint_eq(import.setup.capacity_bytes, 1 << 20);
    ck_assert_ptr_null(setup_option(&import.setup, "defrag"));
    fixed = nothing_fixed;
    begin_trace();
    import.setup.capacity_bytes = 1000;
    add_alloc(1, 1024);
    end_trace();
    ck_assert_uint_eq(import.setup.capacity_bytes, 512);
    ck_assert_ptr_nonnull(strstr(import.notes, "above the capacity"));
}

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

/* Kinds of events, in letters: a alloc, f free, r requested, c completed, x failed, t was there. */
static enum import_result play_event(char kind, const struct trace_event *event)
{
    switch (kind) {
    case 'a':
        return trace_alloc(trace, event);
    case 'f':
        return trace_free(trace, event);
    case 'r':
        return trace_free_requested(trace, event);
    case 'c':
        return trace_free_completed(trace, event);
    case 'x':
        return trace_failed(trace, event);
    default:
        return trace_was_there(trace, event);
    }
}

static const struct {
    const char *kinds; /* the last one is wrong */
    uint64_t sizes[4];
    uint8_t host; /* of the last one */
    const char *reason;
} contradictions[] = {
    {"aa", {512, 512}, 0, "0x5, where one is live"},
    {"ara", {512, 0, 512}, 0, "0x5, where one is live"},
    {"aff", {512, 0, 512}, 0, "0x5 is freed twice"},
    {"arf", {512, 0, 0}, 0, "while its free is queued"},
    {"arr", {512, 0, 0}, 0, "while its free is queued"},
    {"rr", {0, 0}, 0, "while its free is queued"},
    {"ff", {0, 0}, 0, "0x5 is freed twice"},
    {"ff", {512, 512}, 0, "0x5 is freed twice"},
    {"rcc", {512, 0, 0}, 0, "0x5 is freed twice"},
    {"af", {512, 513}, 0, "gives 513 bytes; the block was allocated with 512"},
    {"arc", {512, 512, 4}, 0, "gives 4 bytes; the block was allocated with 512"},
    {"a", {0}, 0, "the block has 0 bytes"},
    {"x", {0}, 0, "the block has 0 bytes"},
    {"a", {(UINT64_C(1) << 50) + 1}, 0, "more than 2^50"},
    {"f", {UINT64_MAX}, 0, "more than 2^50"},
    {"a", {512}, 64, "device 64"},
    {"f", {512}, 255, "device 255"},
    {"aft", {512, 0, 512}, 0, "a different block than the final state"},
    {"at", {512, 1024}, 0, "a different block than the final state"},
};

TEST(events_that_contradict_each_other_are_refused_with_their_line)
{
    for (size_t i = 0; i < sizeof contradictions / sizeof contradictions[0]; i++) {
        begin_trace();
        const size_t count = strlen(contradictions[i].kinds);
        for (size_t k = 0; k < count; k++) {
            struct trace_event event = event_of(5, contradictions[i].sizes[k], 0);
            event.host = k + 1 == count ? contradictions[i].host : 0;
            const enum import_result result = play_event(contradictions[i].kinds[k], &event);
            ck_assert_int_eq(result, k + 1 == count ? IMPORT_INVALID : IMPORT_OK);
        }
        ck_assert_msg(strstr(error.reason, contradictions[i].reason) != NULL, "%zu: %s", i,
                      error.reason);
        ck_assert_uint_eq(error.line, 7);
    }
}

TEST(sums_beyond_what_a_device_can_hold_are_refused)
{
    const struct trace_event half = event_of(1, UINT64_C(1) << 49, 0);
    const struct trace_event rest = event_of(2, UINT64_C(1) << 49, 0);
    const struct trace_event more = event_of(3, 1, 0);
    ck_assert_int_eq(trace_alloc(trace, &half), IMPORT_OK);
    ck_assert_int_eq(trace_free(trace, &rest), IMPORT_OK); /* of the start */
    ck_assert_int_eq(trace_alloc(trace, &more), IMPORT_OK);
    const struct trace_event before = event_of(4, 1, 0);
    ck_assert_int_eq(trace_was_there(trace, &before), IMPORT_INVALID);
    ck_assert_ptr_nonnull(strstr(error.reason, "more than 2^50 bytes are live"));
}

TEST(requests_that_no_device_can_hold_fail_as_the_largest_that_can_be_written)
{
    add_alloc(1, 512);
    add_failure(UINT64_MAX);
    end_trace();
    assert_ops("alloc size=512\nalloc size=1P\n");
    ck_assert_ptr_nonnull(strstr(import.notes, "more than 2^50 bytes; here they ask for 2^50"));
}

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

TEST(a_switch_stands_only_where_the_stream_changes)
{
    static const uint64_t streams[] = {9, 9, 4, 4, 9, 9};
    for (uint64_t i = 0; i < 6; i++) {
        const struct trace_event event = event_of(i, 512, streams[i]);
        ck_assert_int_eq(trace_alloc(trace, &event), IMPORT_OK);
    }
    end_trace();
    ck_assert_uint_eq(lanes_switch_count(&import.ops), 2);
    assert_ops(
        "alloc size=512\nalloc size=512\nalloc size=512 lane=1\nalloc size=512 lane=1\nalloc size=512\n"
        "alloc size=512\nadvance delay=0s lane=1\nswitch op=4 point=0 to=1\nswitch op=6 point=0 to=0 lane=1\n");
    assert_lanes_keep_the_order();
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
