/* Every cause is named first on a list that is its story, and not named on one that nearly is. */
#include "diagnosis/cause.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS HBMSTRESS_SOURCE_DIR "/corpus/causes/"

/* A list that was run up to its first out-of-memory, or its end. */
struct story {
    struct setup setup;
    struct op_list ops;
    struct run *run;
    struct history history;
    struct verdict verdict;
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT];
    size_t count;
    uint64_t skipped_count;
};
static struct story story;

static void story_run(void)
{
    char reason[RUN_REASON_BYTES] = "";
    const struct target *target = target_find(story.setup.target);
    ck_assert_ptr_nonnull(target);
    story.run = run_create(target, &story.setup, reason);
    ck_assert_msg(story.run != NULL, "%s", reason);
    history_init(&story.history);
    story.verdict.kind = VERDICT_NONE;
    for (size_t i = 0; i < story.ops.count && story.verdict.kind == VERDICT_NONE; i++) {
        story.verdict = *run_step(story.run, &story.ops.ops[i]);
        history_step(&story.history, story.run);
        story.skipped_count += run_observation(story.run)->skipped;
    }
    evidence_take(&story.history, story.run, &story.verdict, &story.evidence);
    ck_assert(history_invariants_hold(&story.history));
    ck_assert(evidence_invariants_hold(&story.evidence));
    story.count = causes_find(&story.evidence, story.diagnoses);
}

static void story_tell(const char *name)
{
    char path[512];
    struct ops_file_error error;
    memset(&story, 0, sizeof story);
    snprintf(path, sizeof path, CORPUS "%s.ops", name);
    op_list_init(&story.ops);
    ck_assert_msg(ops_file_read(path, &story.setup, &story.ops, &error) == OPS_FILE_OK, "%s: %s",
                  path, error.reason);
    story_run();
    ck_assert_uint_eq(story.skipped_count, 0);
}

/* The ops of a list on 64M; more is what stands in front of them. */
static void story_tell_ops(const char *more, const char *ops)
{
    char text[4096];
    struct ops_file_error error;
    memset(&story, 0, sizeof story);
    const int length = snprintf(text, sizeof text, "hbmstress-ops 1\ncapacity 64M\n%s\n%s", more,
                                ops);
    op_list_init(&story.ops);
    ck_assert_int_lt(length, (int)sizeof text);
    ck_assert_msg(ops_file_parse(text, (size_t)length, &story.setup, &story.ops, &error) ==
                      OPS_FILE_OK,
                  "%zu: %s", error.line, error.reason);
    story_run();
}

static void story_end(void)
{
    evidence_deinit(&story.evidence);
    history_deinit(&story.history);
    run_destroy(story.run);
    op_list_deinit(&story.ops);
}

/* NULL: it is not named. */
static const struct diagnosis *find_diagnosis(const char *name)
{
    for (size_t i = 0; i < story.count; i++) {
        if (strcmp(story.diagnoses[i].cause->name, name) == 0) {
            return &story.diagnoses[i];
        }
    }
    return NULL;
}

static uint64_t number_of(const struct diagnosis *diagnosis, const char *name)
{
    for (uint32_t i = 0; i < diagnosis->number_count; i++) {
        if (strcmp(diagnosis->numbers[i].name, name) == 0) {
            return diagnosis->numbers[i].value;
        }
    }
    ck_abort_msg("%s has no number %s", diagnosis->cause->name, name);
    return 0;
}

TEST(a_cause_is_named_first_on_its_story, .to = CAUSE_COUNT)
{
    const struct cause *cause = causes[_i];
    story_tell(cause->name);
    ck_assert_int_eq(story.verdict.kind,
                     cause->claim == CLAIM_ROOM ? VERDICT_PREMATURE : VERDICT_JUSTIFIED);
    ck_assert_uint_gt(story.count, 0);
    ck_assert_msg(story.diagnoses[0].cause == cause, "%s: first is %s", cause->name,
                  story.diagnoses[0].cause->name);
    ck_assert_uint_ge(story.diagnoses[0].confidence, DIAGNOSIS_LIKELY);
    ck_assert_uint_gt(strlen(story.diagnoses[0].text), 40);
    ck_assert_uint_lt(strlen(story.diagnoses[0].text), DIAGNOSIS_TEXT_BYTES - 1);
    story_end();
}

TEST(a_cause_is_not_named_on_what_is_nearly_its_story, .to = CAUSE_COUNT)
{
    char name[64];
    snprintf(name, sizeof name, "%s-near", causes[_i]->name);
    story_tell(name);
    ck_assert_int_eq(story.verdict.kind, VERDICT_JUSTIFIED);
    ck_assert_uint_gt(story.count, 0);
    ck_assert_msg(find_diagnosis(causes[_i]->name) == NULL, "%s",
                  find_diagnosis(causes[_i]->name)->text);
    story_end();
}

/* What is taken over by an output goes with it. */
TEST(donated_blocks_do_not_grow)
{
    char ops[3600];
    size_t length = 0;
    for (unsigned step = 0; step < 34; step++) {
        length += (size_t)snprintf(ops + length, sizeof ops - length,
                                   "%u: alloc size=8M tag=1\n%u: donate block=%u size=8M tag=2\n"
                                   "%u: free block=%u\n",
                                   3 * step, 3 * step + 1, 3 * step, 3 * step + 2, 3 * step + 1);
    }
    snprintf(ops + length, sizeof ops - length, "102: alloc size=80M tag=1\n");
    story_tell_ops("target hbm", ops);
    ck_assert_uint_eq(story.skipped_count, 0);
    ck_assert_int_eq(story.verdict.kind, VERDICT_JUSTIFIED);
    ck_assert_ptr_null(find_diagnosis("growing_set"));
    ck_assert_ptr_null(find_diagnosis("leak"));
    story_end();
}

TEST(diagnoses_are_told_the_surest_first, .to = CAUSE_COUNT)
{
    story_tell(causes[_i]->name);
    for (size_t i = 1; i < story.count; i++) {
        ck_assert_uint_ge(story.diagnoses[i - 1].confidence, story.diagnoses[i].confidence);
    }
    story_end();
}

TEST(the_table_of_causes_is_complete)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        ck_assert_ptr_nonnull(causes[i]->find);
        ck_assert_uint_gt(strlen(causes[i]->summary), 0);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(causes[i]->name, causes[j]->name);
        }
    }
}

/* --- the numbers are right --- */

TEST(the_block_that_keeps_a_hole_small_is_named)
{
    story_tell("fragmented");
    const struct diagnosis *diagnosis = find_diagnosis("fragmented");
    ck_assert_uint_eq(diagnosis->op, 3);
    ck_assert_uint_eq(number_of(diagnosis, "free_bytes"), 16 << 20);
    ck_assert_uint_eq(number_of(diagnosis, "largest_hole_bytes"), 8 << 20);
    ck_assert_uint_eq(number_of(diagnosis, "largest_hole_without_bytes"), 20 << 20);
    ck_assert_uint_eq(number_of(diagnosis, "pins"), 1);
    story_end();
}

TEST(memory_that_was_retired_is_in_the_way)
{
    story_tell_ops("target hbm",
                   "0: retire size=4K address=32M\n1: advance delay=1ms\n2: alloc size=40M\n");
    const struct diagnosis *diagnosis = find_diagnosis("fragmented");
    ck_assert_ptr_nonnull(
        strstr(diagnosis->text, "without it: 4.0K at 0x2000000 (retired): 64.00M."));
    ck_assert(!diagnosis->has_tag);
    story_end();
    story_tell_ops("target hbm\noption defrag=none",
                   "0: alloc size=8M\n1: alloc size=8M\n2: free block=0\n"
                   "3: retire size=4K address=32M\n4: alloc size=40M\n");
    ck_assert_uint_eq(number_of(find_diagnosis("fragmented"), "largest_hole_without_bytes"),
                      48 << 20);
    story_end();
}

TEST(one_hole_that_is_large_enough_is_no_fragmentation)
{
    story_tell_ops("target plant_premature_rounded", "0: alloc size=8M\n1: alloc size=33M\n");
    ck_assert_int_eq(story.verdict.kind, VERDICT_PREMATURE);
    ck_assert_ptr_null(find_diagnosis("fragmented"));
    story_end();
}

TEST(what_lies_where_the_stack_must_be_is_named)
{
    story_tell_ops("target hbm\ntag 1 \"buf\"",
                   "0: alloc size=63M\n1: alloc size=1M tag=1\n2: hold block=1\n"
                   "3: free block=0\n4: load size=1M stack=40M\n");
    const struct diagnosis *diagnosis = find_diagnosis("out_of_place");
    ck_assert_ptr_null(find_diagnosis("fragmented"));
    ck_assert_uint_eq(diagnosis->op, 1);
    ck_assert_ptr_nonnull(
        strstr(diagnosis->text,
               "the stack, 40.00M, must lie at the bottom, where it would overlap op 1 ('buf', "
               "1.00M, held)."));
    story_end();
}

TEST(a_place_that_is_aligned_is_what_is_missing)
{
    story_tell_ops("target hbm\noption defrag=none",
                   "0: alloc size=1M\n1: alloc size=2M\n2: alloc size=61M\n"
                   "3: free block=1\n4: alloc size=2M align=2M\n");
    const struct diagnosis *diagnosis = find_diagnosis("out_of_place");
    ck_assert_ptr_null(find_diagnosis("fragmented"));
    ck_assert_ptr_nonnull(strstr(
        diagnosis->text,
        "in 1 hole; the largest has 2.00M. No hole has the requested 2.00M at a multiple of 2.00M. In the way"));
    story_end();
}

TEST(a_multiple_of_the_size_class_is_what_is_missing)
{
    story_tell_ops("target buddy", "0: alloc size=16M\n1: alloc size=16M\n2: alloc size=16M\n"
                                   "3: alloc size=16M\n4: free block=1\n5: free block=2\n"
                                   "6: alloc size=30M\n");
    const struct diagnosis *diagnosis = find_diagnosis("out_of_place");
    ck_assert_ptr_null(find_diagnosis("rounded_up"));
    ck_assert_ptr_nonnull(strstr(
        diagnosis->text,
        "in 1 hole; the largest has 32.00M. No hole has 32.00M at a multiple of 32.00M. In the way"));
    story_end();
}

TEST(a_size_class_that_does_not_fit_is_named)
{
    story_tell_ops("target first_fit\noption rounding=pow2",
                   "0: alloc size=1M\n1: alloc size=33M\n");
    const struct diagnosis *diagnosis = find_diagnosis("rounded_up");
    ck_assert_ptr_null(find_diagnosis("fragmented"));
    ck_assert_ptr_null(find_diagnosis("exhausted"));
    ck_assert_ptr_nonnull(
        strstr(diagnosis->text, "The request is for 33.00M; by the contract's rounding (classes=1) "
                                "its block may have 64.00M, 31.00M more, and no hole has that. The "
                                "largest hole has 63.00M: the request itself would fit."));
    story_end();
}

/* Placements in a heap of 512-byte granules, and the defect that each points to. */
TEST(the_numbers_of_a_placement_point_to_a_defect)
{
    enum { K = 1024 };
    static const struct {
        const char *kind;
        struct line_fit fit;
        uint64_t largest_hole_bytes, free_bytes, in_use_bytes;
    } cases[] = {
        {"stack", {.stack_bytes = 8 * K}, 64 * K, 64 * K, 0},
        {"not_searched_again",
         {.need_bytes = 9 * K, .hole_bytes = 10 * K, .waits_done = 1},
         10 * K,
         10 * K,
         K},
        {"alignment",
         {.need_bytes = 9 * K, .align_bytes = 4 * K, .hole_bytes = 12 * K},
         12 * K,
         12 * K,
         K},
        {"size_class", {.need_bytes = 33 * K, .hole_bytes = 35 * K}, 35 * K, 40 * K, K},
        {"rounding", {.need_bytes = 33 * K, .hole_bytes = 36 * K}, 36 * K, 40 * K, K},
        {"exact_fit", {.need_bytes = 32 * K, .hole_bytes = 32 * K}, 32 * K, 40 * K, K},
        /* A larger hole is there: the size of the one that the plan takes explains nothing. */
        {"search", {.need_bytes = 33 * K, .hole_bytes = 33 * K}, 64 * K, 100 * K, K},
        {"leak", {.need_bytes = 33 * K, .hole_bytes = 64 * K}, 64 * K, 140 * K, K},
        {"leak", {.need_bytes = 33 * K, .hole_bytes = 64 * K}, 64 * K, 64 * K, 0},
        {"drain",
         {.need_bytes = K, .hole_bytes = K, .awaited_count = 1, .moved_count = 1},
         0,
         0,
         K},
        {"defragment",
         {.need_bytes = K, .hole_bytes = K, .awaited_count = 1, .moved_count = 1, .waits_done = 1},
         0,
         K,
         K},
        {"evict", {.need_bytes = K, .hole_bytes = K, .evicted_count = 2}, 0, 0, K},
        {"evict",
         {.need_bytes = K, .hole_bytes = K, .moved_count = 1, .evictions_done = 1},
         0,
         0,
         K},
    };
    static const struct target_contract contract = {.granule_bytes = 512};
    static const struct verdict verdict = {.kind = VERDICT_PREMATURE};
    static const struct history history;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct evidence evidence = {.history = &history,
                                    .verdict = &verdict,
                                    .contract = &contract,
                                    .room = fit_has_efforts(&cases[i].fit) ? ROOM_AFTER_EFFORTS
                                                                           : ROOM_AT_ONCE,
                                    .fit = cases[i].fit,
                                    .requested_bytes = cases[i].fit.need_bytes,
                                    .largest_hole_bytes = cases[i].largest_hole_bytes,
                                    .free_bytes = cases[i].free_bytes,
                                    .in_use_bytes = cases[i].in_use_bytes};
        struct diagnosis diagnosis;
        diagnosis_init(&diagnosis, &cause_refused_though_it_fits);
        evidence.fit.align_bytes += evidence.fit.align_bytes == 0 ? contract.granule_bytes : 0;
        cause_refused_though_it_fits.find(&evidence, &diagnosis);
        ck_assert_msg(strcmp(diagnosis.kind, cases[i].kind) == 0, "case %zu: %s, not %s", i,
                      diagnosis.kind, cases[i].kind);
        ck_assert_ptr_nonnull(strstr(diagnosis.text, "Remedy: "));
    }
}

/* --- what did not happen is no evidence --- */

TEST(what_a_skipped_op_names_holds_nothing)
{
    story_tell_ops("target hbm",
                   "0: alloc size=40M\n1: hold block=0\n2: free block=0\n3: alloc size=1M\n"
                   "4: use block=3 delay=never\n5: use block=0 event=4\n6: hold block=0\n"
                   "7: alloc size=32M\n");
    ck_assert_uint_eq(story.skipped_count, 2);
    ck_assert_ptr_null(find_diagnosis("queued_frees"));
    ck_assert_ptr_nonnull(strstr(find_diagnosis("references")->text, "by op 1"));
    story_end();
}

TEST(a_host_that_has_freed_what_is_asked_for_has_it_no_more)
{
    static const char ops[] =
        "0: alloc size=40M host=1\n1: alloc size=23M host=1\n2: free block=1 host=1\n"
        "3: alloc size=40M\n4: alloc size=2M\n5: alloc size=23M\n";
    story_tell_ops("target hbm\nhosts 2", ops);
    ck_assert_ptr_null(find_diagnosis("host_skew"));
    story_end();
}

TEST(an_execution_asks_for_no_more_than_its_load)
{
    char ops[2048] = "0: load size=1M stack=30M tag=1\n";
    for (int i = 1; i <= 18; i += 2) {
        snprintf(ops + strlen(ops), sizeof ops - strlen(ops),
                 "%d: execute program=0 delay=1ms\n%d: advance delay=2ms\n", i, i + 1);
    }
    for (int i = 19; i <= 22; i++) {
        snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%d: alloc size=10M\n", i);
    }
    strcat(ops, "23: execute program=0\n");
    story_tell_ops("target hbm\ntag 0 \"embeddings\"\ntag 1 \"step\"", ops);
    ck_assert_int_eq(story.verdict.kind, VERDICT_JUSTIFIED);
    ck_assert_ptr_null(find_diagnosis("spike"));
    story_end();
}

TEST(an_eviction_for_an_execution_is_for_its_program)
{
    story_tell_ops(
        "target hbm\noption program_evicts_program=yes\ntag 0 \"embeddings\"\ntag 1 \"a\"\ntag 2 \"b\"",
        "0: load size=30M stack=0 tag=1\n1: load size=40M stack=0 tag=2\n"
        "2: execute program=0 delay=1ms\n3: advance delay=2ms\n4: alloc size=30M\n5: hold block=4\n"
        "6: execute program=1 delay=1ms\n");
    const struct diagnosis *diagnosis = find_diagnosis("program_reload");
    ck_assert_ptr_nonnull(strstr(
        diagnosis->text,
        "It was evicted for op 2 (an execution of 'a'); 30.00M of what is in use now came in since then"));
    story_end();
}

TEST(a_leak_has_its_tag_and_rate)
{
    story_tell("leak");
    const struct diagnosis *diagnosis = find_diagnosis("leak");
    ck_assert_uint_eq(diagnosis->tag, 3);
    ck_assert_uint_ge(diagnosis->confidence, DIAGNOSIS_SURE);
    /* 96 KiB in three ops are 32 MiB in 1024. */
    const uint64_t per_thousand = number_of(diagnosis, "bytes_per_1000_ops");
    ck_assert_uint_gt(per_thousand, 31 << 20);
    ck_assert_uint_lt(per_thousand, 33 << 20);
    story_end();
}

TEST(numbers_of_the_other_causes_are_exact)
{
    story_tell("exhausted");
    ck_assert_uint_eq(number_of(find_diagnosis("exhausted"), "missing_bytes"), 8 << 20);
    story_end();
    story_tell("spike");
    ck_assert_uint_eq(find_diagnosis("spike")->op, 82);
    ck_assert_uint_eq(number_of(find_diagnosis("spike"), "spike_bytes"), 36 << 20);
    story_end();
    story_tell("copies");
    ck_assert_uint_eq(find_diagnosis("copies")->op, 26);
    ck_assert_uint_eq(number_of(find_diagnosis("copies"), "old_bytes"), 21 << 20);
    story_end();
    story_tell("padding");
    ck_assert_uint_eq(number_of(find_diagnosis("padding"), "padding_bytes"), 63 << 20);
    ck_assert_ptr_nonnull(strstr(find_diagnosis("padding")->text, "a last dimension of 16"));
    story_end();
    story_tell("program_reload");
    ck_assert_uint_eq(number_of(find_diagnosis("program_reload"), "evicted_for_op"), 4);
    ck_assert_uint_eq(number_of(find_diagnosis("program_reload"), "taken_since_bytes"), 20 << 20);
    story_end();
    story_tell("references");
    ck_assert_uint_eq(number_of(find_diagnosis("references"), "freed_but_held_bytes"), 32 << 20);
    story_end();
    story_tell("queued_frees");
    ck_assert_uint_eq(find_diagnosis("queued_frees")->op, 1);
    ck_assert_uint_eq(number_of(find_diagnosis("queued_frees"), "queued_bytes_behind_op"),
                      32 << 20);
    story_end();
    story_tell("host_skew");
    ck_assert_uint_eq(number_of(find_diagnosis("host_skew"), "host"), 2);
    ck_assert_uint_eq(number_of(find_diagnosis("host_skew"), "median_of_others_bytes"), 24 << 20);
    ck_assert_uint_eq(find_diagnosis("host_skew")->tag, 5);
    story_end();
}

/* --- without an out-of-memory --- */

TEST(a_leak_is_told_before_it_ends_in_an_out_of_memory)
{
    char path[512];
    struct ops_file_error error;
    memset(&story, 0, sizeof story);
    snprintf(path, sizeof path, CORPUS "leak.ops");
    op_list_init(&story.ops);
    ck_assert_int_eq(ops_file_read(path, &story.setup, &story.ops, &error), OPS_FILE_OK);
    story.ops.count = 900;
    story_run();
    ck_assert_int_eq(story.verdict.kind, VERDICT_NONE);
    ck_assert_uint_eq(story.count, 1);
    ck_assert_str_eq(story.diagnoses[0].cause->name, "leak");
    ck_assert_uint_eq(story.diagnoses[0].tag, 3);
    story_end();
}

/* A snapshot is rebuilt by requests alone: that fills the device, and is no leak. */
TEST(a_list_that_only_fills_the_device_leaks_nothing)
{
    memset(&story, 0, sizeof story);
    setup_init(&story.setup);
    story.setup.capacity_bytes = 64 << 20;
    op_list_init(&story.ops);
    for (int i = 0; i < 2000; i++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 64 << 10;
        op.tag = (uint8_t)(i % 2);
        op_list_append(&story.ops, &op);
    }
    story_run();
    ck_assert_int_eq(story.verdict.kind, VERDICT_JUSTIFIED);
    ck_assert_ptr_null(find_diagnosis("leak"));
    ck_assert_ptr_null(find_diagnosis("growing_set"));
    ck_assert_str_eq(story.diagnoses[0].cause->name, "exhausted");
    story_end();
}

/* A large block that is held from the beginning on, of that tag, and a request for which it is in
 * the way. */
static void tell_held(const char *tag)
{
    memset(&story, 0, sizeof story);
    setup_init(&story.setup);
    story.setup.capacity_bytes = 64 << 20;
    setup_set_tag(&story.setup, 1, tag);
    op_list_init(&story.ops);
    struct op held = op_make(OP_ALLOC);
    held.size_bytes = 32 << 20;
    held.tag = 1;
    op_list_append(&story.ops, &held);
    struct op hold = op_make(OP_HOLD);
    hold.ref = 0;
    op_list_append(&story.ops, &hold);
    for (int i = 0; i < 20; i++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = i < 19 ? 64 << 10 : 40 << 20;
        op_list_append(&story.ops, &op);
    }
    story_run();
    ck_assert_int_eq(story.verdict.kind, VERDICT_JUSTIFIED);
}

/* Nobody could release it. */
TEST(what_an_importer_holds_is_no_reference_of_somebody)
{
    tell_held("params");
    ck_assert_ptr_nonnull(find_diagnosis("references"));
    story_end();
    tell_held(SETUP_BEFORE_NAME);
    ck_assert_ptr_null(find_diagnosis("references"));
    story_end();
    tell_held(SETUP_RESERVED_NAME);
    ck_assert_ptr_null(find_diagnosis("references"));
    story_end();
    tell_held(SETUP_OTHER_PROCESS_NAME " 7");
    ck_assert_ptr_null(find_diagnosis("references"));
    story_end();
}

TEST(what_is_outside_the_allocator_is_told_with_its_holders)
{
    story_tell("outside_the_allocator");
    const struct diagnosis *diagnosis = find_diagnosis("outside_the_allocator");
    ck_assert_uint_eq(number_of(diagnosis, "outside_bytes"), 26 << 20);
    ck_assert_uint_eq(number_of(diagnosis, "other_process_bytes"), 24 << 20);
    ck_assert_uint_eq(number_of(diagnosis, "missing_bytes"), 6 << 20);
    ck_assert_uint_eq(diagnosis->tag, 2);
    ck_assert_ptr_nonnull(strstr(diagnosis->text, "'other process 4711' 24.00M"));
    story_end();
}

TEST(where_the_placement_is_assumed_no_block_is_named)
{
    static const char ops[] =
        "0: alloc size=20M tag=1\n1: alloc size=10M\n2: alloc size=20M tag=1\n"
        "3: free block=1\n4: alloc size=20M\n";
    story_tell_ops("option defrag=none\ntag 1 \"sum\"", ops);
    ck_assert_uint_ge(find_diagnosis("fragmented")->confidence, DIAGNOSIS_SURE);
    ck_assert_ptr_nonnull(strstr(find_diagnosis("fragmented")->text, "In the way"));
    story_end();
    story_tell_ops("option defrag=none\ntag 1 \"sum" SETUP_PLACED_ENDING "\"", ops);
    ck_assert_uint_lt(find_diagnosis("fragmented")->confidence, DIAGNOSIS_SURE);
    ck_assert_ptr_null(strstr(find_diagnosis("fragmented")->text, "In the way"));
    ck_assert_uint_eq(number_of(find_diagnosis("fragmented"), "free_bytes"), 24 << 20);
    story_end();
}

TEST(a_full_device_is_told_alone_unless_there_is_more_to_tell)
{
    story_tell("exhausted");
    ck_assert_uint_eq(story.count, 1);
    ck_assert_uint_ge(story.diagnoses[0].confidence, DIAGNOSIS_LIKELY);
    story_end();
    story_tell("spike");
    ck_assert_uint_gt(story.count, 1);
    ck_assert_uint_lt(find_diagnosis("exhausted")->confidence, DIAGNOSIS_SURE);
    story_end();
}

TEST(a_request_larger_than_the_device_is_exhausted_for_sure)
{
    memset(&story, 0, sizeof story);
    setup_init(&story.setup);
    story.setup.capacity_bytes = 1 << 20;
    op_list_init(&story.ops);
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 2 << 20;
    op_list_append(&story.ops, &op);
    story_run();
    ck_assert_uint_eq(story.count, 1);
    ck_assert_str_eq(story.diagnoses[0].cause->name, "exhausted");
    ck_assert_uint_ge(story.diagnoses[0].confidence, DIAGNOSIS_SURE);
    story_end();
}
