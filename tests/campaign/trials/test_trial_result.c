/* What one trial leaves: its out-of-memories with their certificates, the lists of its findings,
 * what grew and how full the device was; on the way to the parent as bytes; and what is left of a
 * trial that died. */
#include "campaign/base/repro.h"
#include "campaign/trials/trial_result.h"
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_list.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- trials of lists that are known --- */

static struct part part;
static const struct plan plan = {.parts = &part, .count = 1, .shard_count = 1};
static struct last_words *words;
static struct trial_result result;

/* The head of a list, which says the target, and its ops. */
static void prepare(const char *text)
{
    trial_player_load(text, "the part", &part);
    words = last_words_create();
    ck_assert_ptr_nonnull(words);
    trial_result_init(&result);
}

static const struct trial_result_head *run_trial(uint64_t trial, bool is_sampled)
{
    const struct task task = {
        .trial = trial, .is_sampled = is_sampled, .op_count_max = UINT64_C(1) << 20};
    trial_result_deinit(&result);
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    return &result.head;
}

static void end_trial(void)
{
    trial_result_deinit(&result);
    last_words_destroy(words);
    op_list_deinit(&trial_player_ops);
}

static void append_ops(unsigned count, struct op op)
{
    for (unsigned i = 0; i < count; i++) {
        op_list_append(&trial_player_ops, &op);
    }
}

static struct op make_alloc(uint64_t size_bytes, uint8_t tag)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op.tag = tag;
    return op;
}

#define HEAD(target) "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget " target "\n"

static unsigned count_lines(const struct writing *text)
{
    unsigned count = 0;
    for (size_t i = 0; i < text->length; i++) {
        count += text->bytes[i] == '\n';
    }
    return count;
}

/* Sixteen requests fill the device, all others are refused, and rightly. */
enum { FULL_COUNT = 16, REFUSED_COUNT = 44 };
static void prepare_refusals(void)
{
    prepare(HEAD("hbm") "0: alloc size=1K\n");
    append_ops(FULL_COUNT + REFUSED_COUNT - 1, make_alloc(1024, 0));
}

TEST(two_justified_refusals_are_saved_of_each_early_trial)
{
    prepare_refusals();
    const struct trial_result_head *head = run_trial(7, false);
    ck_assert_int_eq(head->end, TRIAL_RESULT_DONE);
    ck_assert_uint_eq(head->totals.justified, REFUSED_COUNT);
    ck_assert_uint_eq(head->ooms_seen, REFUSED_COUNT);
    ck_assert_uint_eq(head->saved_count, 2);
    ck_assert(head->has_list);
    ck_assert_uint_eq(head->task.trial, 7);
    ck_assert_uint_gt(head->elapsed_ns, 0);
    ck_assert_uint_lt(head->elapsed_ns, UINT64_C(600000000000));
    ck_assert_uint_eq(result.ops.count, FULL_COUNT + REFUSED_COUNT);
    ck_assert_uint_eq(trial_result_until_oom(&result).count, FULL_COUNT + 2);
    ck_assert_uint_eq(count_lines(&result.all), REFUSED_COUNT);
    ck_assert_uint_eq(result.notable.length, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct saved_oom *saved = &head->saved[i];
        const char *certificate = result.certificates.bytes + saved->certificate_start;
        char reason[CERTIFICATE_REASON_BYTES];
        ck_assert_int_eq(saved->verdict.kind, VERDICT_JUSTIFIED);
        ck_assert_uint_eq(saved->verdict.op, FULL_COUNT + i);
        ck_assert_uint_eq(saved->largest.bytes, 0);
        ck_assert_str_ne(saved->message, "");
        ck_assert_uint_eq(saved->notable_end, 0);
        ck_assert_int_eq(result.all.bytes[saved->all_end - 1], '\n');
        ck_assert(certificate_is_accepted(certificate, saved->certificate_bytes, reason));
    }
    ck_assert_uint_eq(head->saved[1].all_end, 2 * head->saved[0].all_end); /* lines of one length */
    ck_assert_uint_eq(head->saved[1].certificate_start, head->saved[0].certificate_bytes);
    ck_assert_uint_eq(result.certificates.length,
                      head->saved[0].certificate_bytes + head->saved[1].certificate_bytes);
    ck_assert_ptr_null(trial_result_rule(&result));
    ck_assert_ptr_null(trial_result_dispute(&result));
    ck_assert_ptr_null(trial_result_premature(&result));
    head = run_trial(8, false);
    ck_assert_uint_eq(head->saved_count, 0);
    ck_assert(!head->has_list);
    ck_assert_uint_eq(result.ops.count, 0);
    ck_assert_uint_eq(result.certificates.length, 0);
    ck_assert_uint_eq(count_lines(&result.all), REFUSED_COUNT);
    end_trial();
}

TEST(the_list_comes_with_a_single_saved_refusal)
{
    prepare(HEAD("hbm") "0: alloc size=16K\n1: alloc size=512\n");
    const struct trial_result_head *head = run_trial(0, false);
    ck_assert_uint_eq(head->saved_count, 1);
    ck_assert(head->has_list);
    ck_assert_uint_eq(result.ops.count, 2);
    ck_assert_uint_eq(result.setup.capacity_bytes, 16 << 10);
    end_trial();
}

/* Which ones are checked depends on the seed: here one that is not saved, or none. */
TEST(one_in_so_many_certificates_is_checked_and_not_kept)
{
    bool was_due = false, was_not_due = false;
    prepare_refusals();
    for (uint64_t seed = 1; !was_due || !was_not_due; seed++) {
        part.setup.seed = seed;
        const uint64_t first = plan_trial_seed(&part, 9) % CERTIFICATE_CHECK_PERIOD;
        const uint64_t due = (CERTIFICATE_CHECK_PERIOD - first) % CERTIFICATE_CHECK_PERIOD;
        const bool is_due = due < REFUSED_COUNT;
        if (is_due ? was_due : was_not_due) {
            continue;
        }
        const struct trial_result_head *head = run_trial(9, false);
        ck_assert_uint_eq(head->certificates_checked, is_due);
        ck_assert_uint_eq(head->saved_count, 0);
        ck_assert_uint_eq(result.certificates.length, 0);
        was_due = was_due || is_due;
        was_not_due = was_not_due || !is_due;
    }
    end_trial();
}

TEST(the_first_premature_refusal_of_a_finding_is_saved_and_the_others_are_lines)
{
    prepare(HEAD("plant_premature_undrained") "0: alloc size=16K\n"
                                              "1: free_after block=0 delay=1s\n"
                                              "2: alloc size=1K\n"
                                              "3: alloc size=2K\n"
                                              "4: alloc size=3K\n");
    const struct trial_result_head *head = run_trial(9, false);
    ck_assert_uint_eq(head->totals.premature, 3);
    ck_assert_uint_eq(head->findings.count, 1);
    ck_assert_uint_eq(head->findings.findings[0].count, 3);
    ck_assert_str_eq(head->signature, head->findings.findings[0].signature);
    ck_assert_str_eq(head->message, head->saved[0].message);
    ck_assert_uint_eq(head->saved_count, 1);
    ck_assert_uint_eq(head->saved[0].verdict.op, 2);
    ck_assert_uint_eq(head->saved[0].largest.bytes, 16 << 10);
    ck_assert_uint_eq(head->saved[0].all_end, 0);
    ck_assert_uint_eq(head->certificates_checked, 1);
    ck_assert_uint_eq(count_lines(&result.all), 2);
    ck_assert_uint_eq(result.notable.length, 0);
    ck_assert_uint_eq(trial_result_until_oom(&result).count, 0);
    ck_assert_uint_eq(result.ops.count, trial_player_ops.count);
    ck_assert_str_eq(trial_result_rule(&result), "premature");
    ck_assert_ptr_eq(trial_result_premature(&result), &head->saved[0]);
    ck_assert_uint_eq(words->findings.count, 1);
    ck_assert_uint_eq(words->op_count, trial_player_ops.count);
    ck_assert(words->has_begun && !words->has_lanes);
    end_trial();
}

/* The trial of that list, which is to be kept. */
static const struct trial_result_head *run_kept_trial(void)
{
    const struct task task = {.trial = 9, .is_kept = true, .op_count_max = UINT64_C(1) << 20};
    trial_result_deinit(&result);
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    return &result.head;
}

static void expect_diagnoses(unsigned count, const char *first_text)
{
    ck_assert_uint_eq(count_lines(&result.diagnoses), count);
    ck_assert_msg(strstr(writing_string(&result.diagnoses), first_text) != NULL, "%s",
                  writing_string(&result.diagnoses));
}

TEST(a_list_to_be_kept_comes_with_the_reason_of_its_first_refusal_of_each_kind)
{
    prepare_refusals();
    ck_assert(!run_trial(9, false)->has_list);
    ck_assert_uint_eq(result.diagnoses.length, 0);
    ck_assert(run_kept_trial()->has_list);
    ck_assert_uint_eq(result.ops.count, FULL_COUNT + REFUSED_COUNT);
    expect_diagnoses(1,
                     "\"op\":16,\"verdict\":\"justified\",\"causes\":[{\"cause\":\"exhausted\",");
    ck_assert_ptr_nonnull(strstr(result.diagnoses.bytes, "\"scenario\":\"the part\",\"trial\":9,"));
    ck_assert_ptr_nonnull(strstr(result.diagnoses.bytes, "\"seed\":\""));
    /* One whose first justified ones may be saved says why those came, and no others. */
    const struct task diagnosed = {.is_diagnosed = true, .op_count_max = UINT64_C(1) << 20};
    trial_result_deinit(&result);
    trial_result_init(&result);
    trial_result_make(&plan, &diagnosed, words, &result);
    ck_assert_uint_eq(result.head.saved_count, 2);
    expect_diagnoses(2, "\"op\":17,");
    ck_assert_uint_eq(result.head.saved[0].diagnosis_start, 0);
    ck_assert_uint_eq(result.head.saved[1].diagnosis_start, result.head.saved[0].diagnosis_bytes);
    ck_assert_uint_eq(result.head.saved[1].diagnosis_bytes,
                      result.diagnoses.length - result.head.saved[0].diagnosis_bytes);
    end_trial();
    /* One that waits and would fit, and again; one that is larger than the device. */
    prepare(HEAD("plant_premature_undrained") "0: alloc size=16K\n"
                                              "1: free_after block=0 delay=1s\n"
                                              "2: alloc size=1K\n"
                                              "3: alloc size=2K\n"
                                              "4: alloc size=20K\n"
                                              "5: alloc size=21K\n");
    ck_assert_uint_eq(run_kept_trial()->totals.ooms, 4);
    expect_diagnoses(2, "\"op\":2,\"verdict\":\"premature\",\"causes\":[{"
                        "\"cause\":\"refused_though_it_fits\",\"kind\":\"drain\",");
    expect_diagnoses(2, "\"op\":4,\"verdict\":\"justified\",");
    end_trial();
    prepare(HEAD("hbm") "0: alloc size=16K\n");
    ck_assert(run_kept_trial()->has_list);
    ck_assert_uint_eq(result.diagnoses.length, 0);
    end_trial();
}

/* The list of a question that one step does not decide. */
static const char undecided[] =
    "hbmstress-ops 1\ncapacity 64K\ngranule 512\ntarget first_fit\noption defrag=repack\n"
    "search_nodes 1\nseed 1\n"
    "0: alloc size=4096\n1: alloc size=1024\n2: alloc size=3072\n3: alloc size=5120\n"
    "4: alloc size=4608\n5: alloc size=4096\n6: alloc size=3072\n7: alloc size=4608\n"
    "8: alloc size=3584\n9: alloc size=5632\n10: alloc size=2560\n11: alloc size=5120\n"
    "12: alloc size=2048\n13: alloc size=3072\n14: alloc size=2048\n15: alloc size=1536\n"
    "16: alloc size=5632\n17: alloc size=3072\n18: hold block=9\n19: hold block=3\n"
    "20: hold block=4\n21: free block=14\n22: free block=1\n23: free block=13\n"
    "24: free block=7\n25: free block=10\n26: alloc size=14848\n27: alloc size=14336\n";

TEST(five_refusals_that_stay_unknown_are_saved_and_all_are_notable)
{
    prepare(undecided);
    append_ops(5, make_alloc(14336, 0));
    const struct trial_result_head *head = run_trial(9, false);
    ck_assert_uint_eq(head->totals.unknown, 7);
    ck_assert_uint_eq(head->saved_count, 5);
    ck_assert_uint_eq(head->certificates_checked, 7);
    ck_assert_uint_eq(count_lines(&result.all), 7);
    ck_assert_uint_eq(count_lines(&result.notable), 7);
    ck_assert_uint_eq(trial_result_until_oom(&result).count, 31);
    for (size_t i = 0; i < head->saved_count; i++) {
        ck_assert_int_eq(head->saved[i].verdict.kind, VERDICT_UNKNOWN);
        ck_assert_uint_eq(head->saved[i].notable_end, head->saved[i].all_end);
        ck_assert_uint_gt(head->saved[i].notable_end, i == 0 ? 0 : head->saved[i - 1].all_end);
    }
    ck_assert_uint_lt(head->saved[4].all_end, result.all.length);
    end_trial();
}

/* --- what grew, and how full it was --- */

/* So many blocks that stay, at even distances among `count` ops of another tag that come and go. */
static void prepare_growth(const char *text, unsigned count, unsigned staying)
{
    prepare(text);
    op_list_clear(&trial_player_ops);
    for (unsigned i = 0, stayed = 0, last = OP_NONE; i < count; i++) {
        struct op op = make_alloc(512, 1);
        if (stayed * count < (i + 1) * staying && last == OP_NONE) {
            op.tag = 3;
            stayed++;
        } else if (last != OP_NONE) {
            op = op_make(OP_FREE);
            op.ref = last;
        }
        last = op.kind == OP_ALLOC && op.tag == 1 ? i : OP_NONE;
        op_list_append(&trial_player_ops, &op);
    }
}

#define LARGE_HEAD "hbmstress-ops 1\ncapacity 1M\ngranule 512\ntarget first_fit\n"

TEST(a_tag_that_grows_in_a_long_trial_is_named)
{
    static const struct {
        const char *text;
        unsigned count, staying;
        uint64_t looked_op_count;
        const char *tag; /* NULL: none grows */
    } rows[] = {
        {LARGE_HEAD "0: alloc size=512\n", 4095, 16, 0, NULL},
        {LARGE_HEAD "0: alloc size=512\n", 4096, 16, 4096, "tag 3"},
        {LARGE_HEAD "0: alloc size=512\n", 4096, 15, 4096, NULL},
        {LARGE_HEAD "0: alloc size=512\n", 5500, 30, 5120, "tag 3"},
        {LARGE_HEAD "tag 3 \"weights\"\n0: alloc size=512\n", 4096, 16, 4096, "weights"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prepare_growth(rows[i].text, rows[i].count, rows[i].staying);
        const struct trial_result_head *head = run_trial(1, false);
        ck_assert_uint_eq(head->totals.ops, rows[i].count);
        ck_assert_msg(head->looked_op_count == rows[i].looked_op_count, "row %zu: %u", i,
                      (unsigned)head->looked_op_count);
        ck_assert_msg(head->is_growing == (rows[i].tag != NULL), "row %zu", i);
        ck_assert_str_eq(head->growing_tag, rows[i].tag == NULL ? "" : rows[i].tag);
        if (head->is_growing) {
            ck_assert_uint_eq(head->growth.tag, 3);
            ck_assert_uint_ge(head->growth.count, 16);
        }
        end_trial();
    }
}

TEST(the_fullest_moment_is_what_was_in_use_of_what_was_there)
{
    static const struct {
        const char *ops;
        uint64_t op_count, used_bytes, capacity_bytes;
    } rows[] = {
        {"0: alloc size=4K\n1: alloc size=4K\n2: free block=0\n3: alloc size=2K\n", 1, 8 << 10,
         16 << 10},
        {"0: alloc size=4K\n1: free block=0\n2: alloc size=5K\n", 2, 5 << 10, 16 << 10},
        /* What was retired is no longer there. */
        {"0: alloc size=4K\n1: retire address=0 size=2K\n2: report\n", 1, 4 << 10, 14 << 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", HEAD("hbm"), rows[i].ops);
        prepare(text);
        const struct memory_point *fullest = &run_trial(1, false)->fullest;
        ck_assert_uint_eq(fullest->op_count, rows[i].op_count);
        ck_assert_uint_eq(fullest->used_bytes, rows[i].used_bytes);
        ck_assert_uint_eq(fullest->capacity_bytes, rows[i].capacity_bytes);
        end_trial();
    }
}

/* --- run again --- */

/* Blocks whose frees wait in a queue: when a request waits for the newest shows in the time. */
static void prepare_queued_frees(const char *text)
{
    prepare(text);
    for (uint32_t i = 0; i < 20; i++) {
        struct op op = op_make(OP_FREE_AFTER);
        op.ref = 2 * i;
        op.delay_ns = 1000000;
        op_list_append(&trial_player_ops, &op);
        append_ops(1, make_alloc(512, 0));
    }
}

TEST(a_trial_that_differs_when_it_is_run_again_is_found_in_samples_alone)
{
    prepare_queued_frees(HEAD("plant_replay") "0: alloc size=512\n");
    const struct trial_result_head *head = run_trial(9, false);
    ck_assert_int_eq(head->first.kind, VERDICT_NONE);
    head = run_trial(9, true);
    ck_assert_int_eq(head->first.rule, RULE_REPLAY);
    ck_assert_str_eq(trial_result_rule(&result), "replay");
    ck_assert_uint_eq(head->totals.broken, 1);
    ck_assert_uint_eq(head->findings.count, 1);
    ck_assert(head->has_list);
    ck_assert_uint_eq(result.ops.count, trial_player_ops.count);
    end_trial();
}

/* Trials of that list which are run again, and break the relation: those alone whose seed has
 * period as a factor. */
static void check_related(uint64_t period)
{
    for (uint64_t trial = 8; trial < 16; trial++) {
        const struct trial_result_head *head = run_trial(trial, true);
        const bool is_found = head->first.kind == VERDICT_BROKEN;
        ck_assert(!is_found || head->first.rule == RULE_RELATION);
        ck_assert(is_found == (plan_trial_seed(&part, trial) % period == 0));
        ck_assert_int_eq(run_trial(trial, false)->first.kind, VERDICT_NONE);
    }
    end_trial();
}

TEST(a_sampled_list_is_run_again_under_other_ids)
{
    prepare_queued_frees(HEAD("plant_relation_names") "0: alloc size=512\n");
    check_related(1);
}

/* A request that needs the room of a queued free. */
TEST(every_second_sampled_list_is_run_at_twice_the_size)
{
    struct op op = op_make(OP_FREE_AFTER);
    op.ref = 0;
    op.delay_ns = 1000000;
    prepare(HEAD("plant_relation_sizes") "0: alloc size=12K\n");
    op_list_append(&trial_player_ops, &op);
    append_ops(1, make_alloc(12 << 10, 0));
    check_related(2);
}

TEST(a_refused_setup_has_the_words_of_the_target)
{
    prepare(HEAD("hbm") "0: alloc size=1K\n");
    ck_assert(setup_set_option(&part.setup, "colour", "red"));
    const struct trial_result_head *head = run_trial(0, true);
    ck_assert_int_eq(head->end, TRIAL_RESULT_REFUSED);
    ck_assert_str_ne(head->reason, "");
    ck_assert(!head->has_list);
    end_trial();
}

/* --- with lanes --- */

static void prepare_lanes(const char *text)
{
    prepare(text);
    part.lanes = (struct lane_options){.lane_count = 2,
                                       .has_schedules = true,
                                       .schedule_count = 6,
                                       .strategy = &strategy_random,
                                       .backend = LANE_BACKEND_FIBERS};
}

TEST(the_refusals_of_schedules_are_counted_and_the_last_words_have_the_schedule)
{
    struct op_list taken;
    prepare_lanes(HEAD("race_limit_checked") "0: alloc size=4K\n1: alloc size=8K\n"
                                             "2: alloc size=8K\n3: alloc size=8K\n");
    const struct trial_result_head *head = run_trial(0, false);
    ck_assert_uint_eq(head->totals.schedules, 6);
    ck_assert_uint_gt(head->totals.ooms, count_lines(&result.all));
    ck_assert(words->has_begun && words->has_lanes);
    ck_assert_uint_eq(words->op_count, 4);
    ck_assert_uint_eq(words->findings.count, 0);
    op_list_init(&taken);
    last_words_take(words, &taken);
    ck_assert_uint_eq(taken.count, 4 + words->switch_count);
    ck_assert_int_eq(taken.ops[3].kind, OP_ALLOC);
    ck_assert(words->switch_count == 0 || taken.ops[4].kind == OP_SWITCH);
    op_list_deinit(&taken);
    end_trial();
}

/* What the scenario chose would be refused when the list is replayed. */
TEST(the_last_words_have_the_device_that_the_target_took)
{
    prepare(HEAD("hbm") "0: alloc size=4K\n");
    struct target limited = *part.target;
    limited.limits.largest_capacity_bytes = 8192;
    part.target = &limited;
    part.capacity_is_free = true;
    ck_assert_int_eq(run_trial(0, false)->first.kind, VERDICT_NONE);
    ck_assert(words->has_begun);
    ck_assert_uint_eq(words->setup.capacity_bytes, 8192);
    end_trial();
}

TEST(a_witness_notes_the_last_schedule_of_the_first_list)
{
    struct setup setup;
    struct op_list ops, taken;
    const struct schedule_switch taken_switch = {0};
    words = last_words_create();
    setup_init(&setup);
    setup.seed = 5;
    op_list_init(&ops);
    op_list_init(&taken);
    words->op_count = 9; /* of the trial's own list, before it was dealt to lanes */
    const struct lanes_witness witness = last_words_witness(words);
    for (unsigned i = 0; i < LAST_OP_COUNT_MAX + 2; i++) {
        const struct op op = op_make(OP_DEFRAGMENT);
        op_list_append(&ops, &op);
    }
    witness.begins(witness.context, &setup, &ops);
    ck_assert(words->has_begun && words->has_lanes);
    ck_assert_uint_eq(words->setup.seed, 5);
    ck_assert_uint_eq(words->op_count, LAST_OP_COUNT_MAX + 2);
    for (unsigned i = 0; i < LAST_SWITCH_COUNT_MAX + 2; i++) {
        witness.decided(witness.context, &taken_switch);
    }
    ck_assert_uint_eq(words->switch_count, LAST_SWITCH_COUNT_MAX);
    setup.seed = 6;
    ops.count = 3;
    witness.begins(witness.context, &setup, &ops);
    ck_assert_uint_eq(words->switch_count, 0);
    ck_assert_uint_eq(words->setup.seed, 5);
    last_words_take(words, &taken);
    ck_assert_uint_eq(taken.count, LAST_OP_COUNT_MAX);
    op_list_deinit(&taken);
    op_list_deinit(&ops);
    last_words_destroy(words);
}

/* --- of a trial that died --- */

static struct trial_result_head make_dead(void)
{
    const struct task task = {.trial = 3};
    struct trial_result dead;
    trial_result_init(&dead);
    trial_result_make_dead(&task, words, &dead);
    ck_assert_uint_eq(dead.ops.count, words->has_begun ? words->op_count : 0);
    const struct trial_result_head head = dead.head;
    trial_result_deinit(&dead);
    return head;
}

TEST(a_death_is_laid_on_the_op_that_was_under_way)
{
    static const struct {
        uint32_t phase, op;
        uint64_t op_count;
        uint32_t wanted;
    } rows[] = {{PROGRESS_OP, 1, 3, 1},
                {PROGRESS_OP, 2, 3, 2},
                {PROGRESS_OP, 3, 3, 2}, /* no op of the list */
                {PROGRESS_OPEN, 1, 3, 2},
                {PROGRESS_OP, 0, 0, 0}};
    words = last_words_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(words, 0, sizeof words->death + sizeof words->setup);
        words->death.kind = i % 2 == 0 ? DEATH_SIGNAL : DEATH_HANG;
        words->death.progress.phase = rows[i].phase;
        words->death.progress.op = rows[i].op;
        words->op_count = rows[i].op_count;
        words->has_begun = true;
        const struct trial_result_head head = make_dead();
        ck_assert_int_eq(head.end, i % 2 == 0 ? TRIAL_RESULT_CRASHED : TRIAL_RESULT_HUNG);
        ck_assert_msg(head.first.op == rows[i].wanted, "row %zu: %u", i, head.first.op);
        ck_assert_int_eq(head.first.kind, VERDICT_BROKEN);
        ck_assert_int_eq(head.first.rule, i % 2 == 0 ? RULE_CRASH : RULE_HANG);
        ck_assert_str_eq(head.first.reason, head.reason);
        ck_assert_str_ne(head.reason, "");
        ck_assert_uint_eq(head.findings.count, 1);
        ck_assert_uint_eq(head.findings.findings[0].count, 1);
        ck_assert_str_eq(head.findings.findings[0].signature, head.signature);
        ck_assert_uint_eq(head.totals.broken, 1);
        ck_assert_uint_eq(head.totals.ops, rows[i].op_count);
        ck_assert_uint_eq(head.task.trial, 3);
        ck_assert(head.has_list);
    }
    last_words_destroy(words);
}

static void spoil_kind(struct run_finding *finding)
{
    finding->verdict.kind = VERDICT_JUSTIFIED;
}

static void spoil_rule(struct run_finding *finding)
{
    finding->verdict.rule = RULE_COUNT;
}

static void spoil_op(struct run_finding *finding)
{
    finding->verdict.op = 3;
}

static void spoil_reason(struct run_finding *finding)
{
    memset(finding->verdict.reason, 'x', sizeof finding->verdict.reason);
}

static void spoil_signature(struct run_finding *finding)
{
    memset(finding->signature, 'x', sizeof finding->signature);
}

static void spoil_message(struct run_finding *finding)
{
    memset(finding->message, 'x', sizeof finding->message);
}

static void spoil_nothing(struct run_finding *finding)
{
    finding->verdict.op = 2;
    finding->list = 7;
    finding->count = 9;
}

/* What a target wrote over is dropped, and what is sound beside it stays. */
TEST(only_sound_findings_of_a_dead_trial_are_taken)
{
    static void (*const spoil[])(struct run_finding *
                                 finding) = {spoil_nothing, spoil_kind,      spoil_rule,   spoil_op,
                                             spoil_reason,  spoil_signature, spoil_message};
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        words = last_words_create();
        words->death.kind = DEATH_SIGNAL;
        words->has_begun = true;
        words->op_count = 3;
        words->findings.count = 2;
        for (size_t k = 0; k < 2; k++) {
            struct run_finding *finding = &words->findings.findings[k];
            finding->verdict = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
            (void)snprintf(finding->signature, sizeof finding->signature, "premature: %zu", k);
        }
        spoil[i](&words->findings.findings[0]);
        const struct trial_result_head head = make_dead();
        ck_assert_msg(head.findings.count == (i == 0 ? 3 : 2), "row %zu: %zu", i,
                      head.findings.count);
        ck_assert_uint_eq(head.totals.premature, i == 0 ? 2 : 1);
        ck_assert_uint_eq(head.totals.ooms, i == 0 ? 2 : 1);
        ck_assert_uint_eq(head.totals.broken, 1);
        ck_assert_str_eq(head.findings.findings[head.findings.count - 1].signature, "premature: 1");
        ck_assert_uint_eq(head.findings.findings[1].list, 0);
        ck_assert_uint_eq(head.findings.findings[1].count, 1);
        last_words_destroy(words);
    }
}

TEST(what_cannot_be_findings_of_a_dead_trial_is_not_taken)
{
    for (int i = 0; i < 3; i++) {
        words = last_words_create();
        words->death.kind = DEATH_SIGNAL;
        words->has_begun = i != 0;
        words->has_lanes = i == 1; /* each schedule has its own */
        words->op_count = 1;
        words->findings.count = i == 2 ? RUN_FINDING_COUNT_MAX + 1 : 1;
        words->findings.findings[0].verdict.kind = VERDICT_PREMATURE;
        words->findings.findings[0].verdict.rule = RULE_PREMATURE;
        ck_assert_uint_eq(make_dead().findings.count, 1);
        last_words_destroy(words);
    }
    /* As many as there can be: the death is one of them. */
    words = last_words_create();
    words->death.kind = DEATH_SIGNAL;
    words->has_begun = true;
    words->op_count = 1;
    words->findings.count = RUN_FINDING_COUNT_MAX;
    for (size_t k = 0; k < RUN_FINDING_COUNT_MAX; k++) {
        struct run_finding *finding = &words->findings.findings[k];
        finding->verdict = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
        (void)snprintf(finding->signature, sizeof finding->signature, "premature: %zu", k);
    }
    const struct trial_result_head head = make_dead();
    ck_assert_uint_eq(head.findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_uint_eq(head.totals.premature, RUN_FINDING_COUNT_MAX - 1);
    last_words_destroy(words);
}

/* --- which finding is meant --- */

TEST(a_finding_is_selected_with_its_words_and_its_list)
{
    struct trial_result many;
    trial_result_init(&many);
    many.head.findings.count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct run_finding *finding = &many.head.findings.findings[i];
        finding->verdict = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
        finding->verdict.op = (uint32_t)i + 1;
        (void)snprintf(finding->verdict.mechanism, sizeof finding->verdict.mechanism, "m%zu", i);
        (void)snprintf(finding->signature, sizeof finding->signature, "s%zu", i);
        (void)snprintf(finding->message, sizeof finding->message, "w%zu", i);
        many.head.saved[i].verdict = finding->verdict;
    }
    many.head.findings.findings[1].list = 2;
    many.head.saved_count = 2;
    const struct op op = op_make(OP_REPORT);
    op_list_append(&many.lists[1], &op);
    op_list_append(&many.lists[1], &op);
    op_list_append(&many.ops, &op);
    ck_assert_ptr_null(trial_result_rule(&many));
    ck_assert_ptr_null(trial_result_premature(&many));
    trial_result_select(&many, 0);
    ck_assert_uint_eq(many.ops.count, 1);
    ck_assert_str_eq(many.head.signature, "s0");
    ck_assert_ptr_eq(trial_result_premature(&many), &many.head.saved[0]);
    trial_result_select(&many, 1);
    ck_assert_uint_eq(many.ops.count, 2);
    ck_assert_uint_eq(many.head.first.op, 2);
    ck_assert_str_eq(many.head.signature, "s1");
    ck_assert_str_eq(many.head.message, "w1");
    ck_assert_ptr_eq(trial_result_premature(&many), &many.head.saved[1]);
    /* The certificate is of that op and of that mechanism. */
    many.head.saved[1].verdict.op = 1;
    ck_assert_ptr_null(trial_result_premature(&many));
    many.head.saved[1].verdict.op = 2;
    strcpy(many.head.saved[1].verdict.mechanism, "other");
    ck_assert_ptr_null(trial_result_premature(&many));
    strcpy(many.head.saved[1].verdict.mechanism, "m1");
    many.head.first.kind = VERDICT_BROKEN;
    ck_assert_ptr_null(trial_result_premature(&many));
    ck_assert_str_eq(trial_result_rule(&many), "premature");
    /* What our judges disagree on is nobody's broken promise. */
    many.head.saved[1].verdict.kind = VERDICT_DISPUTED;
    ck_assert_ptr_eq(trial_result_dispute(&many), &many.head.saved[1]);
    ck_assert_ptr_null(trial_result_rule(&many));
    many.head.saved_count = 1;
    ck_assert_ptr_null(trial_result_dispute(&many));
    many.head.end = TRIAL_RESULT_FAILED;
    ck_assert_ptr_null(trial_result_rule(&many));
    trial_result_deinit(&many);
}

/* --- as bytes --- */

static void fill_result(struct trial_result *full, bool has_list)
{
    struct op op = op_make(OP_ALLOC);
    trial_result_init(full);
    full->head.has_list = has_list;
    full->head.digest = 77;
    full->setup.seed = 9;
    full->head.findings.count = 1;
    full->head.findings.findings[0].list = RUN_FINDING_COUNT_MAX;
    for (unsigned i = 0; i < 9; i++) {
        op.size_bytes = i;
        op_list_append(i < 2   ? &full->ops
                       : i < 5 ? &full->oom_ops
                       : i < 6 ? &full->lists[0]
                               : &full->lists[RUN_FINDING_COUNT_MAX - 1],
                       &op);
    }
    writing_append(&full->all, "all of it");
    writing_append(&full->notable, "notable");
    writing_append(&full->certificates, "{}[]");
    writing_append(&full->diagnoses, "why");
    full->head.saved_count = TRIAL_RESULT_SAVED_COUNT_MAX;
    full->head.saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1] = (struct saved_oom){.certificate_start = 1,
                                                                            .certificate_bytes = 3,
                                                                            .diagnosis_start = 1,
                                                                            .diagnosis_bytes = 2,
                                                                            .all_end = 9,
                                                                            .notable_end = 7};
}

/* Where a byte of the head is among those of the whole: of one finding, no more than that
 * travels. */
static size_t packed_offset(size_t offset)
{
    const size_t findings = offsetof(struct trial_result_head, findings);
    const size_t saved = offsetof(struct trial_result_head, saved);
    return offset < saved ? offset : offset - saved + findings + sizeof(struct run_finding);
}

static bool is_same_head(const struct trial_result_head *a, const struct trial_result_head *b)
{
    return memcmp(a, b, offsetof(struct trial_result_head, findings)) == 0 &&
           a->findings.count == b->findings.count &&
           memcmp(a->findings.findings, b->findings.findings,
                  a->findings.count * sizeof a->findings.findings[0]) == 0 &&
           memcmp(a->saved, b->saved, a->saved_count * sizeof a->saved[0]) == 0;
}

/* The bytes as a parent hears them. */
static void pack_result(struct trial_result *full, struct writing *bytes)
{
    struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX];
    const size_t count = trial_result_pack(full, pieces);
    writing_init(bytes);
    for (size_t i = 0; i < count; i++) {
        writing_append_bytes(bytes, pieces[i].bytes, pieces[i].length);
    }
}

static bool unpacks_first(const struct writing *bytes, size_t length, struct trial_result *back)
{
    struct writing first = *bytes; /* what cannot be unpacked stays */
    first.length = length;
    return trial_result_unpack(&first, back);
}

TEST(a_result_is_the_same_behind_its_bytes)
{
    for (int has_list = 0; has_list < 2; has_list++) {
        struct trial_result full, back;
        struct writing bytes;
        fill_result(&full, has_list != 0);
        pack_result(&full, &bytes);
        trial_result_init(&back);
        ck_assert(trial_result_unpack(&bytes, &back));
        ck_assert_ptr_null(bytes.bytes);
        ck_assert(is_same_head(&full.head, &back.head));
        ck_assert_uint_eq(back.setup.seed, has_list ? 9 : 0);
        ck_assert_uint_eq(back.ops.count, 2);
        ck_assert_uint_eq(back.ops.ops[1].size_bytes, 1);
        ck_assert_uint_eq(back.oom_ops.count, 3);
        ck_assert_uint_eq(back.oom_ops.ops[0].size_bytes, 2);
        ck_assert_uint_eq(back.lists[0].count, 1);
        ck_assert_uint_eq(back.lists[1].count, 0);
        ck_assert_uint_eq(back.lists[RUN_FINDING_COUNT_MAX - 1].count, 3);
        ck_assert_uint_eq(back.lists[RUN_FINDING_COUNT_MAX - 1].ops[2].size_bytes, 8);
        ck_assert_str_eq(back.all.bytes, "all of it");
        ck_assert_str_eq(back.notable.bytes, "notable");
        ck_assert_str_eq(back.certificates.bytes, "{}[]");
        ck_assert_str_eq(back.diagnoses.bytes, "why");
        trial_result_deinit(&back);
        trial_result_init(&back);
        pack_result(&full, &bytes);
        ck_assert(!unpacks_first(&bytes, bytes.length - 1, &back));
        const size_t head_bytes = packed_offset(sizeof full.head);
        ck_assert(!unpacks_first(&bytes, packed_offset(0) + 1, &back));
        ck_assert(!unpacks_first(&bytes, offsetof(struct trial_result_head, findings), &back));
        ck_assert(!unpacks_first(&bytes, head_bytes - 1, &back));
        ck_assert(!unpacks_first(&bytes, head_bytes, &back));
        writing_append_bytes(&bytes, "", 1);
        ck_assert(!trial_result_unpack(&bytes, &back));
        trial_result_deinit(&back);
        trial_result_deinit(&full);
        writing_deinit(&bytes);
    }
}

/* Each row is what a head of these bytes cannot have: where it lies, and the number. */
TEST(a_head_that_its_bytes_do_not_bear_out_is_refused)
{
#define WRONG(member, value)                                \
    {                                                       \
        offsetof(struct trial_result_head, member), (value) \
    }
    static const struct {
        size_t offset;
        uint64_t value;
    } rows[] = {
        WRONG(list_op_counts[0], 3),
        WRONG(list_op_counts[0], 1),
        WRONG(list_op_counts[0], UINT64_MAX / 32 + 3), /* as many bytes, modulo 2^64 */
        WRONG(list_op_counts[1], UINT64_MAX / 32 + 4),
        WRONG(list_op_counts[2], UINT64_MAX / 32 + 2),
        WRONG(list_op_counts[5], 1),
        WRONG(text_bytes[TRIAL_RESULT_ALL], 10),
        WRONG(text_bytes[TRIAL_RESULT_ALL], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_NOTABLE], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_CERTIFICATES], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_DIAGNOSES], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_DIAGNOSES], 4),
        WRONG(log_bytes[0], 1),
        WRONG(saved_count, TRIAL_RESULT_SAVED_COUNT_MAX + 1),
        WRONG(finding_count, RUN_FINDING_COUNT_MAX + 1),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].certificate_start, 2),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].certificate_start, 5),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].certificate_bytes, 4),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].diagnosis_start, 2),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].diagnosis_start, 4),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].diagnosis_bytes, 3),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].all_end, 10),
        WRONG(saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1].notable_end, 8),
        WRONG(saved[0].notable_end, 8),
    };
#undef WRONG
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial_result full, back;
        struct writing bytes;
        fill_result(&full, true);
        pack_result(&full, &bytes);
        memcpy(bytes.bytes + packed_offset(rows[i].offset), &rows[i].value, sizeof rows[i].value);
        trial_result_init(&back);
        ck_assert_msg(!trial_result_unpack(&bytes, &back), "row %zu", i);
        ck_assert_uint_eq(back.ops.count, 0);
        trial_result_deinit(&back);
        trial_result_deinit(&full);
        writing_deinit(&bytes);
    }
    struct trial_result full, back;
    struct writing bytes;
    fill_result(&full, true);
    full.head.findings.findings[0].list = RUN_FINDING_COUNT_MAX + 1;
    pack_result(&full, &bytes);
    trial_result_init(&back);
    ck_assert(!trial_result_unpack(&bytes, &back));
    trial_result_deinit(&back);
    trial_result_deinit(&full);
    writing_deinit(&bytes);
}
