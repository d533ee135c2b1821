/* What one trial leaves: its out-of-memories with their certificates, the lists of its findings,
 * what grew and how full the device was; on the way to the parent as bytes; and what is left of a
 * trial that died. */
#include "campaign/base/repro.h"
#include "campaign/trials/trial_result.h"
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_list.h"
#include "tests/campaign/shown.h"
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

static void drop_trial(void)
{
    if (words != NULL) {
        trial_result_deinit(&result);
        last_words_destroy(words);
        op_list_deinit(&trial_player_ops);
        words = NULL;
    }
}

/* The head of a list, which says the target, and its ops. */
static void prepare(const char *text)
{
    drop_trial();
    trial_player_load(text, "the part", &part);
    words = last_words_create();
    ck_assert_ptr_nonnull(words);
    trial_result_init(&result);
}

static const struct trial_result_head *run_task(struct task task)
{
    task.op_count_max = UINT64_C(1) << 20;
    trial_result_deinit(&result);
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    ck_assert_uint_lt(result.head.elapsed_ns, UINT64_C(600000000000));
    return &result.head;
}

static const struct trial_result_head *run_trial(uint64_t trial, bool is_sampled)
{
    return run_task((struct task){.trial = trial, .is_sampled = is_sampled});
}

static void end_test(void)
{
    snap_rest();
    drop_trial();
}

EVERY_TEST(.teardown = end_test);

/* Runs the list as that trial, and shows it. */
static void show_list(const char *text, struct task task)
{
    prepare(text);
    (void)run_task(task);
    show_trial(&result);
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
    ck_assert_uint_gt(run_trial(7, false)->elapsed_ns, 0);
    show_trial(&result);
    (void)run_trial(8, false);
    show_trial(&result);
    ck_assert_ptr_null(trial_result_dispute(&result));
    ck_assert_ptr_null(trial_result_premature(&result));
}

TEST(the_list_comes_with_a_single_saved_refusal)
{
    show_list(HEAD("hbm") "0: alloc size=16K\n1: alloc size=512\n", (struct task){0});
    SHOW(result.head.has_list, result.setup.capacity_bytes);
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
}

TEST(premature_and_unknown_certificates_are_checked_and_one_in_so_many_others)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < UINT64_C(4) * CERTIFICATE_CHECK_PERIOD; i++) {
        ck_assert(certificate_is_due(i, VERDICT_PREMATURE));
        ck_assert(certificate_is_due(i, VERDICT_UNKNOWN));
        count += certificate_is_due(i, VERDICT_JUSTIFIED);
    }
    ck_assert_uint_eq(count, 4);
}

/* One that waits and would fit, again and again. */
#define UNDRAINED                                         \
    HEAD("plant_premature_undrained")                     \
    "0: alloc size=16K\n1: free_after block=0 delay=1s\n" \
    "2: alloc size=1K\n3: alloc size=2K\n"

TEST(the_first_premature_refusal_of_a_finding_is_saved_and_the_others_are_lines)
{
    show_list(UNDRAINED "4: alloc size=3K\n", (struct task){.trial = 9});
    SHOW(words->findings.count, words->op_count, words->has_begun, words->has_lanes);
    ck_assert_str_eq(result.head.message, result.head.saved[0].message);
    ck_assert_ptr_eq(trial_result_premature(&result), &result.head.saved[0]);
}

static void snap_diagnoses(void)
{
    snap_shown();
    snap_lines(writing_string(&result.diagnoses), "diagnosis");
}

TEST(a_list_to_be_kept_comes_with_the_reason_of_its_first_refusal_of_each_kind)
{
    const struct task kept = {.trial = 9, .is_kept = true};
    prepare_refusals();
    ck_assert(!run_trial(9, false)->has_list);
    ck_assert_uint_eq(result.diagnoses.length, 0);
    (void)run_task(kept);
    show_trial(&result);
    snap_diagnoses();
    show_list(UNDRAINED "4: alloc size=20K\n5: alloc size=21K\n", kept);
    snap_diagnoses();
    show_list(HEAD("hbm") "0: alloc size=16K\n", kept);
    snap_diagnoses();
}

TEST(a_trial_whose_justified_refusals_may_be_saved_says_why_those_came)
{
    prepare_refusals();
    (void)run_task((struct task){.is_diagnosed = true});
    show_trial(&result);
    snap_diagnoses();
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
    (void)run_trial(9, false);
    show_trial(&result);
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
    } rows[] = {{"", 4095, 16},
                {"", 4096, 16},
                {"", 4096, 15},
                {"", 5500, 30},
                {"tag 3 \"weights\"\n", 4096, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, LARGE_HEAD "%s0: alloc size=512\n", rows[i].text);
        prepare_growth(text, rows[i].count, rows[i].staying);
        const struct trial_result_head *head = run_trial(1, false);
        show("%u of %u ops stay: ", rows[i].staying, rows[i].count);
        SHOW(head->totals.ops, head->looked_op_count, head->is_growing, head->growing_tag);
        if (head->is_growing) {
            ck_assert_uint_eq(head->growth.tag, 3);
            ck_assert_uint_ge(head->growth.count, 16);
        }
    }
}

TEST(the_fullest_moment_is_what_was_in_use_of_what_was_there)
{
    static const char *const rows[] = {
        HEAD("hbm") "0: alloc size=4K\n1: alloc size=4K\n2: free block=0\n3: alloc size=2K\n",
        HEAD("hbm") "0: alloc size=4K\n1: free block=0\n2: alloc size=5K\n",
        /* What was retired is no longer there. */
        HEAD("hbm") "0: alloc size=4K\n1: retire address=0 size=2K\n2: report\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prepare(rows[i]);
        const struct memory_point *fullest = &run_trial(1, false)->fullest;
        SHOW(fullest->op_count, fullest->used_bytes, fullest->capacity_bytes);
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
    for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
        (void)run_trial(9, is_sampled != 0);
        show_trial(&result);
    }
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
}

TEST(a_sampled_list_is_run_again_under_other_ids)
{
    prepare_queued_frees(HEAD("plant_relation_names") "0: alloc size=512\n");
    check_related(1);
}

/* A request that needs the room of a queued free. */
TEST(every_second_sampled_list_is_run_at_twice_the_size)
{
    prepare(HEAD("plant_relation_sizes") "0: alloc size=12K\n1: free_after block=0 delay=1ms\n"
                                         "2: alloc size=12K\n");
    check_related(2);
}

TEST(a_refused_setup_has_the_words_of_the_target)
{
    prepare(HEAD("hbm") "0: alloc size=1K\n");
    ck_assert(setup_set_option(&part.setup, "colour", "red"));
    ck_assert(!run_trial(0, true)->has_list);
    show_trial(&result);
}

/* --- with lanes --- */

TEST(the_refusals_of_schedules_are_counted_and_the_last_words_have_the_schedule)
{
    struct op_list taken;
    prepare(HEAD("race_limit_checked") "0: alloc size=4K\n1: alloc size=8K\n"
                                       "2: alloc size=8K\n3: alloc size=8K\n");
    part.lanes = (struct lane_options){.lane_count = 2,
                                       .has_schedules = true,
                                       .schedule_count = 6,
                                       .strategy = &strategy_random,
                                       .backend = LANE_BACKEND_FIBERS};
    const struct trial_result_head *head = run_trial(0, false);
    ck_assert_uint_gt(head->totals.ooms, count_text(writing_string(&result.all), "\n"));
    SHOW(head->totals.schedules, words->has_begun, words->has_lanes, words->op_count,
         words->findings.count);
    op_list_init(&taken);
    last_words_take(words, &taken);
    ck_assert_uint_eq(taken.count, 4 + words->switch_count);
    ck_assert_int_eq(taken.ops[3].kind, OP_ALLOC);
    ck_assert(words->switch_count == 0 || taken.ops[4].kind == OP_SWITCH);
    op_list_deinit(&taken);
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
    SHOW(words->has_begun, words->has_lanes, words->setup.seed, words->op_count);
    for (unsigned i = 0; i < LAST_SWITCH_COUNT_MAX + 2; i++) {
        witness.decided(witness.context, &taken_switch);
    }
    SHOW(words->switch_count);
    setup.seed = 6;
    ops.count = 3;
    witness.begins(witness.context, &setup, &ops);
    last_words_take(words, &taken);
    SHOW(words->switch_count, words->setup.seed, taken.count);
    op_list_deinit(&taken);
    op_list_deinit(&ops);
    last_words_destroy(words);
    words = NULL;
}

/* --- of a trial that died --- */

static struct run_findings *begin_dead(enum death_kind kind)
{
    words = last_words_create();
    ck_assert_ptr_nonnull(words);
    words->death.kind = kind;
    words->has_begun = true;
    words->op_count = 3;
    return &words->findings;
}

static void add_premature(struct run_findings *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct run_finding *finding = &findings->findings[findings->count++];
        finding->verdict = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
        (void)snprintf(finding->signature, sizeof finding->signature, "premature: %zu", i);
    }
}

static void show_dead(void)
{
    struct trial_result dead;
    trial_result_init(&dead);
    trial_result_make_dead(&(struct task){.trial = 3}, words, &dead);
    ck_assert_uint_eq(dead.ops.count, words->has_begun ? words->op_count : 0);
    ck_assert(words->death.kind == DEATH_CHECK ||
              strcmp(dead.head.reason, dead.head.first.reason) == 0);
    ck_assert(!words->has_begun || dead.head.has_list);
    show_trial(&dead);
    trial_result_deinit(&dead);
    last_words_destroy(words);
    words = NULL;
}

TEST(a_death_is_laid_on_the_op_that_was_under_way)
{
    static const struct {
        uint32_t phase, op, op_count;
        enum death_kind kind;
    } rows[] = {{PROGRESS_OP, 1, 3, DEATH_SIGNAL}, {PROGRESS_OP, 2, 3, DEATH_HANG},
                {PROGRESS_OP, 3, 3, DEATH_SIGNAL}, /* no op of the list */
                {PROGRESS_OPEN, 1, 3, DEATH_HANG}, {PROGRESS_OP, 0, 0, DEATH_SIGNAL},
                {PROGRESS_OP, 1, 3, DEATH_CHECK}}; /* of ours breaks no rule */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)begin_dead(rows[i].kind);
        words->death.progress.phase = rows[i].phase;
        words->death.progress.op = rows[i].op;
        words->op_count = rows[i].op_count;
        show_dead();
    }
}

/* What a target wrote over is dropped, and what is sound beside it stays. */
TEST(only_sound_findings_of_a_dead_trial_are_taken)
{
    static const char *const spoilt[] = {"nothing", "kind",      "rule",   "op",
                                         "reason",  "signature", "message"};
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        add_premature(begin_dead(DEATH_SIGNAL), 2);
        struct run_finding *finding = &words->findings.findings[0];
        finding->verdict.op = i == 3 ? 3 : 2;
        finding->list = 7;
        finding->count = 9;
        finding->verdict.kind = i == 1 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE;
        finding->verdict.rule = i == 2 ? RULE_COUNT : RULE_PREMATURE;
        char *text = i == 4   ? finding->verdict.reason
                     : i == 5 ? finding->signature
                              : finding->message;
        memset(text, 'x',
               i == 4   ? VERDICT_REASON_BYTES
               : i < 4  ? 0
               : i == 5 ? SIGNATURE_BYTES
                        : OBSERVATION_MESSAGE_BYTES);
        show("spoilt: %s\n", spoilt[i]);
        show_dead();
    }
}

TEST(what_cannot_be_findings_of_a_dead_trial_is_not_taken)
{
    for (int i = 0; i < 4; i++) {
        add_premature(begin_dead(DEATH_SIGNAL), i == 3 ? RUN_FINDING_COUNT_MAX : 1);
        words->has_begun = i != 0;
        words->has_lanes = i == 1; /* each schedule has its own */
        words->findings.count += i == 2 ? RUN_FINDING_COUNT_MAX : 0;
        show(i == 3 ? "as many as there can be, of which the death is one:\n" : "");
        show_dead();
    }
}

/* --- which finding is meant --- */

/* Which of the saved ones are those of the finding that is selected. */
static void show_selected(const char *when, const struct trial_result *many)
{
    const struct saved_oom *premature = trial_result_premature(many);
    const struct saved_oom *dispute = trial_result_dispute(many);
    show("%s: premature %td, dispute %td, ", when,
         premature == NULL ? -1 : premature - many->head.saved,
         dispute == NULL ? -1 : dispute - many->head.saved);
    SHOW(trial_result_rule(many));
}

TEST(a_finding_is_selected_with_its_words_and_its_list)
{
    struct trial_result many;
    trial_result_init(&many);
    add_premature(&many.head.findings, 2);
    for (size_t i = 0; i < 2; i++) {
        struct run_finding *finding = &many.head.findings.findings[i];
        finding->verdict.op = (uint32_t)i + 1;
        (void)snprintf(finding->verdict.mechanism, sizeof finding->verdict.mechanism, "m%zu", i);
        (void)snprintf(finding->message, sizeof finding->message, "w%zu", i);
        many.head.saved[i].verdict = finding->verdict;
    }
    many.head.findings.findings[1].list = 2;
    many.head.saved_count = 2;
    const struct op op = op_make(OP_REPORT);
    op_list_append(&many.lists[1], &op);
    op_list_append(&many.lists[1], &op);
    op_list_append(&many.ops, &op);
    show_selected("nothing selected", &many);
    for (size_t i = 0; i < 2; i++) {
        trial_result_select(&many, i);
        SHOW(many.ops.count, many.head.first.op, many.head.signature, many.head.message);
        show_selected("selected", &many);
    }
    many.head.saved[1].verdict.op = 1;
    show_selected("a certificate of another op", &many);
    many.head.saved[1].verdict.op = 2;
    strcpy(many.head.saved[1].verdict.mechanism, "other");
    show_selected("a certificate of another mechanism", &many);
    strcpy(many.head.saved[1].verdict.mechanism, "m1");
    many.head.first.kind = VERDICT_BROKEN;
    show_selected("a broken rule", &many);
    /* What our judges disagree on is nobody's broken promise. */
    many.head.saved[1].verdict.kind = VERDICT_DISPUTED;
    show_selected("a dispute", &many);
    many.head.saved_count = 1;
    many.head.end = TRIAL_RESULT_FAILED;
    show_selected("not saved, and a fault of ours", &many);
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
        SHOW(back.setup.seed);
        SHOW(back.ops.count, back.ops.ops[1].size_bytes, back.oom_ops.count,
             back.oom_ops.ops[0].size_bytes);
        for (size_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
            show(back.lists[i].count > 0 ? "list %zu: %zu ops\n" : "", i, back.lists[i].count);
        }
        SHOW(back.lists[RUN_FINDING_COUNT_MAX - 1].ops[2].size_bytes, back.all.bytes,
             back.notable.bytes, back.certificates.bytes, back.diagnoses.bytes);
        snap_shown();
        trial_result_deinit(&back);
        trial_result_init(&back);
        pack_result(&full, &bytes);
        ck_assert(!unpacks_first(&bytes, bytes.length - 1, &back));
        for (size_t length = 0; length < bytes.length; length += 1 + length / 64) {
            ck_assert(!unpacks_first(&bytes, length, &back));
        }
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
/* clang-format off */
#define WRONG(member, value) {offsetof(struct trial_result_head, member), value}
#define LAST saved[TRIAL_RESULT_SAVED_COUNT_MAX - 1]
    static const struct {
        size_t offset;
        uint64_t value;
    } rows[] = { /* UINT64_MAX / 32 and some are as many bytes, modulo 2^64 */
        WRONG(list_op_counts[0], 3), WRONG(list_op_counts[0], 1),
        WRONG(list_op_counts[0], UINT64_MAX / 32 + 3),
        WRONG(list_op_counts[1], UINT64_MAX / 32 + 4),
        WRONG(list_op_counts[2], UINT64_MAX / 32 + 2), WRONG(list_op_counts[5], 1),
        WRONG(text_bytes[TRIAL_RESULT_ALL], 10), WRONG(text_bytes[TRIAL_RESULT_ALL], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_NOTABLE], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_CERTIFICATES], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_DIAGNOSES], UINT64_MAX),
        WRONG(text_bytes[TRIAL_RESULT_DIAGNOSES], 4), WRONG(log_bytes[0], 1),
        WRONG(saved_count, TRIAL_RESULT_SAVED_COUNT_MAX + 1),
        WRONG(finding_count, RUN_FINDING_COUNT_MAX + 1), WRONG(LAST.certificate_start, 2),
        WRONG(LAST.certificate_start, 5), WRONG(LAST.certificate_bytes, 4),
        WRONG(LAST.diagnosis_start, 2), WRONG(LAST.diagnosis_start, 4),
        WRONG(LAST.diagnosis_bytes, 3), WRONG(LAST.all_end, 10), WRONG(LAST.notable_end, 8),
        WRONG(saved[0].notable_end, 8)};
    /* clang-format on */
#undef LAST
#undef WRONG
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
        struct trial_result full, back;
        struct writing bytes;
        fill_result(&full, true);
        if (i == sizeof rows / sizeof *rows) {
            full.head.findings.findings[0].list = RUN_FINDING_COUNT_MAX + 1;
            pack_result(&full, &bytes);
        } else {
            pack_result(&full, &bytes);
            memcpy(bytes.bytes + packed_offset(rows[i].offset), &rows[i].value,
                   sizeof rows[i].value);
        }
        trial_result_init(&back);
        ck_assert_msg(!trial_result_unpack(&bytes, &back), "row %zu", i);
        ck_assert_uint_eq(back.ops.count, 0);
        trial_result_deinit(&back);
        trial_result_deinit(&full);
        writing_deinit(&bytes);
    }
}
