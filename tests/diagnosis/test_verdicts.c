/* No diagnosis contradicts its verdict: random trials of libhbm under every contract, and of every
 * plant that refuses too early. */
#include "diagnosis/cause.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SEED_COUNT = 2, OP_COUNT_MAX = 1200, JUSTIFIED_COUNT_MAX = 4, PREMATURE_COUNT_MIN = 5 };

/* Who is run, with which contract, and which kinds of defect are named at least every second time:
 * one set of numbers may show a defect and hide it another time. */
struct ground {
    const char *target, *defrag;
    const char *kinds;         /* words; NULL: it never refuses too early */
    uint64_t search_nodes_max; /* 0 = the usual */
};
static const struct ground grounds[] = {
    {"hbm", "none", NULL, 0},
    {"hbm", "slide", NULL, 0},
    {"hbm", "repack", NULL, 0},
    {"hbm", "repack", NULL, 1},
    {"plant_premature_undrained", NULL, "drain", 0},
    {"plant_premature_stalled", NULL, "drain", 0},
    {"plant_premature_unretried", NULL, "not_searched_again", 0},
    {"plant_premature_moved_unretried", NULL, "not_searched_again", 0},
    {"plant_premature_defragmented_once", NULL, "defragment", 0},
    {"plant_premature_evicted_once", NULL, "evict", 0},
    {"plant_premature_rounded", NULL, "rounding size_class", 0},
    {"plant_premature_binned", NULL, "size_class rounding exact_fit", 0},
    {"plant_premature_last_hole", NULL, "search leak", 0},
    /* What is kept back has no name of its own: near what is left it looks like a rounding. */
    {"plant_premature_reserve", NULL, "size_class rounding exact_fit", 0},
    {"plant_premature_starving", NULL, "search leak", 0},
    {"plant_premature_aborted", NULL, "leak search size_class rounding exact_fit", 0},
    {"plant_premature_at_address", NULL, "search leak", 0},
    {"plant_premature_at_size", NULL, "search leak", 0},
    {"plant_premature_at_align", NULL, "search leak", 0},
    {"plant_premature_at_count", NULL, "search leak", 0},
};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0], KIND_COUNT_MAX = 16 };

/* What was diagnosed in all trials of a ground. */
struct tally {
    struct history history;
    uint64_t justified_in_trial;
    uint64_t justified, premature, unknown;
    const char *kinds[KIND_COUNT_MAX];
    uint64_t kind_counts[KIND_COUNT_MAX];
};
static struct tally tally;

/* --- what may be said --- */

static bool claims_no_room(const struct diagnosis *diagnosis)
{
    static const char *const names[] = {"exhausted", "fragmented", "out_of_place"};
    static const char *const words[] = {
        "too little",    "but in ",        "in pieces",   "larger than the device",
        "cannot help",   "no longer fits", "have fitted", "made room",
        "have had room", "full",           "No hole has", "must lie at the"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(diagnosis->cause->name, names[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(diagnosis->text, words[i]) != NULL ||
            strstr(diagnosis->cause->summary, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool claims_room(const struct diagnosis *diagnosis)
{
    return strcmp(diagnosis->cause->name, "refused_though_it_fits") == 0 ||
           strstr(diagnosis->text, "takes the") != NULL;
}

static uint64_t number_of(const struct diagnosis *diagnosis, const char *name)
{
    for (uint32_t i = 0; i < diagnosis->number_count; i++) {
        if (strcmp(diagnosis->numbers[i].name, name) == 0) {
            return diagnosis->numbers[i].value;
        }
    }
    return 0;
}

static void check_premature(const struct evidence *evidence, const struct diagnosis *diagnoses,
                            size_t count)
{
    ck_assert_uint_gt(count, 0);
    ck_assert_msg(claims_room(&diagnoses[0]), "first is %s: %s", diagnoses[0].cause->name,
                  diagnoses[0].text);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(!claims_no_room(&diagnoses[i]), "%s (%s): %s", diagnoses[i].cause->name,
                      evidence->verdict->reason, diagnoses[i].text);
    }
    const bool is_at_once = strstr(evidence->verdict->reason, "with no mitigation") != NULL;
    const bool says_at_once = strstr(diagnoses[0].text, "no mitigation is needed") != NULL;
    /* The reason is the plan where the refusal is the first of its kind in the run. */
    const bool is_plan = strstr(evidence->verdict->reason, " fits at 0x") != NULL;
    ck_assert_msg(!is_plan || is_at_once == says_at_once, "%s: %s", evidence->verdict->reason,
                  diagnoses[0].text);
    const uint64_t hole = number_of(&diagnoses[0], "hole_bytes");
    if (is_at_once && evidence->op->kind == OP_ALLOC) {
        ck_assert_uint_ge(hole, evidence->requested_bytes);
        ck_assert_uint_le(hole, evidence->largest_hole_bytes);
    }
    ck_assert_uint_le(hole, evidence->capacity_bytes);
    ck_assert_uint_lt(strlen(diagnoses[0].text), DIAGNOSIS_TEXT_BYTES - 1);
}

static void check_justified(const struct evidence *evidence, const struct diagnosis *diagnoses,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = diagnoses[i].cause->name;
        ck_assert_msg(!claims_room(&diagnoses[i]), "%s: %s", name, diagnoses[i].text);
        if (strcmp(name, "exhausted") == 0) {
            ck_assert_uint_gt(evidence->requested_bytes, evidence->free_bytes);
        }
        if (strcmp(name, "fragmented") == 0) {
            ck_assert_uint_ge(evidence->hole_count, 2);
            ck_assert_uint_gt(evidence->requested_bytes, evidence->largest_hole_bytes);
        }
    }
}

static void check_unknown(const struct diagnosis *diagnoses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(!claims_room(&diagnoses[i]) && !claims_no_room(&diagnoses[i]), "%s: %s",
                      diagnoses[i].cause->name, diagnoses[i].text);
    }
}

static void count_kind(const char *kind)
{
    size_t i = 0;
    while (i < KIND_COUNT_MAX && tally.kinds[i] != NULL && strcmp(tally.kinds[i], kind) != 0) {
        i++;
    }
    ck_assert_uint_lt(i, KIND_COUNT_MAX);
    tally.kinds[i] = kind;
    tally.kind_counts[i]++;
}

/* --- trials --- */

static void diagnose(const struct run *run, const struct verdict *verdict)
{
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT];
    evidence_take(&tally.history, run, verdict, &evidence);
    ck_assert(history_invariants_hold(&tally.history));
    ck_assert(evidence_invariants_hold(&evidence));
    const size_t count = causes_find(&evidence, diagnoses);
    if (verdict->kind == VERDICT_PREMATURE) {
        check_premature(&evidence, diagnoses, count);
        ck_assert_ptr_nonnull(diagnoses[0].kind);
        count_kind(diagnoses[0].kind);
        tally.premature++;
    } else if (verdict->kind == VERDICT_JUSTIFIED) {
        check_justified(&evidence, diagnoses, count);
        tally.justified++;
    } else {
        check_unknown(diagnoses, count);
        tally.unknown++;
    }
    evidence_deinit(&evidence);
}

static void take_verdict(void *context, const struct run *run, const struct verdict *verdict)
{
    (void)context;
    history_step(&tally.history, run);
    const bool is_oom = verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_PREMATURE ||
                        verdict->kind == VERDICT_UNKNOWN;
    const bool is_justified = verdict->kind == VERDICT_JUSTIFIED;
    if (is_oom && (!is_justified || tally.justified_in_trial < JUSTIFIED_COUNT_MAX)) {
        tally.justified_in_trial += is_justified;
        diagnose(run, verdict);
    }
}

static void run_ground(const struct ground *ground, const struct scenario *scenario, uint64_t seed)
{
    const struct run_listener listener = {NULL, take_verdict};
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    snprintf(setup.target, sizeof setup.target, "%s", ground->target);
    setup.seed = seed;
    setup.search_nodes_max = ground->search_nodes_max;
    if (ground->defrag != NULL) {
        ck_assert(setup_set_option(&setup, "defrag", ground->defrag));
    }
    const struct trial_plan plan = {.target = target_find(ground->target),
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = OP_COUNT_MAX};
    history_init(&tally.history);
    tally.justified_in_trial = 0;
    ck_assert_msg(trial_run(&plan, &listener, &trial, reason), "%s", reason);
    trial_deinit(&trial);
    history_deinit(&tally.history);
}

/* Those that a ground is to show. */
static uint64_t count_expected(const struct ground *ground)
{
    uint64_t count = 0;
    for (size_t i = 0; i < KIND_COUNT_MAX && tally.kinds[i] != NULL; i++) {
        count += strstr(ground->kinds, tally.kinds[i]) != NULL ? tally.kind_counts[i] : 0;
    }
    return count;
}

EVERY_TEST(.timeout_s = 120);

TEST(no_diagnosis_contradicts_its_verdict, .to = GROUND_COUNT)
{
    const struct ground *ground = &grounds[_i];
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        /* Few of the targets sleep or grow. */
        for (uint64_t seed = 1; seed <= draws_count(SEED_COUNT, 1) && !scenarios[i]->shares_device;
             seed++) {
            run_ground(ground, scenarios[i], seed);
        }
    }
    ck_assert_uint_ge(tally.justified, 10);
    ck_assert_uint_ge(tally.premature, ground->kinds == NULL ? 0 : PREMATURE_COUNT_MIN);
    ck_assert_uint_ge(tally.unknown, ground->search_nodes_max == 0 ? 0 : 5);
    if (ground->kinds != NULL) {
        ck_assert_msg(2 * count_expected(ground) >= tally.premature,
                      "%" PRIu64 " of %" PRIu64 ", most are %s", count_expected(ground),
                      tally.premature, tally.kinds[0]);
    }
}

TEST(every_plant_that_refuses_too_early_is_run)
{
    for (size_t i = 0; targets[i] != NULL; i++) {
        bool is_run = strncmp(targets[i]->name, "plant_premature_", 16) != 0;
        for (size_t j = 0; j < GROUND_COUNT; j++) {
            is_run = is_run || strcmp(targets[i]->name, grounds[j].target) == 0;
        }
        ck_assert_msg(is_run, "%s", targets[i]->name);
    }
}

/* One word for each pair, so that a row which is changed by mistake is seen. */
TEST(the_table_of_claims_is_this_one)
{
    static const char *const rows[CAUSE_CLAIM_COUNT] = {[CLAIM_ROOM] = "..ra.",
                                                        [CLAIM_NO_ROOM] = ".n...",
                                                        [CLAIM_TIGHT] = ".n.au",
                                                        [CLAIM_GROWTH] = "-nrau"};
    for (unsigned claim = 0; claim < CAUSE_CLAIM_COUNT; claim++) {
        for (unsigned room = 0; room < EVIDENCE_ROOM_COUNT; room++) {
            ck_assert_int_eq(cause_may_accompany((enum cause_claim)claim, (enum evidence_room)room),
                             rows[claim][room] != '.');
        }
    }
}
