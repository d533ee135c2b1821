/* Reports how a pod went, in words and in JSON lines. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "harness/oracle/rule.h"
#include "pod/pod.h"

#include <inttypes.h>

/* If others waited for a rank for less than this, that is not worth a line. */
#define AWAITED_NS_MIN UINT64_C(100000000)

static const char *const state_names[] = {[RANK_COMING] = "never came",
                                          [RANK_RUNNING] = "runs",
                                          [RANK_ENDED] = "ended",
                                          [RANK_DEAD] = "gone"};
static const char *const death_names[] = {
    [RANK_DEATH_NONE] = "gone",        [RANK_KILLED] = "killed", [RANK_CRASHED] = "crashed",
    [RANK_STOPPED] = "stopped",        [RANK_IDLE] = "idle",     [RANK_FAULTY] = "failed",
    [RANK_INTERRUPTED] = "interrupted"};
static const char *const cause_names[] = {[WAIT_FOR_DEAD] = "dead",
                                          [WAIT_FOR_ENDED] = "ended",
                                          [WAIT_FOR_SILENT] = "no progress",
                                          [WAIT_FOR_EACH] = "each waits for another"};

/* Names the state in one word. */
static const char *state_name(const struct keeper_rank *rank)
{
    const uint64_t how = rank->death.numbers[0];
    if (rank->failed.kind != FRAME_NONE) {
        return "failed";
    }
    return rank->death.kind != FRAME_NONE && how <= RANK_INTERRUPTED ? death_names[how]
                                                                     : state_names[rank->state];
}

/* --- pieces of words --- */

static void append_place(struct writing *text, uint32_t op, uint64_t step)
{
    writing_append_format(text, "op %" PRIu32 ", step %" PRIu64, op, step);
}

static void append_end(struct writing *text, const struct keeper_rank *rank)
{
    static const char *const ends[] = {[RANK_STOPPED] = "stopped by a signal, and ended here",
                                       [RANK_IDLE] = "made no progress, and was ended here",
                                       [RANK_INTERRUPTED] = "interrupted by the user"};
    const uint64_t how = rank->death.kind != FRAME_NONE ? rank->death.numbers[0] : RANK_DEATH_NONE;
    if (rank->failed.kind != FRAME_NONE) {
        writing_append(text, "failed: ");
        writing_append_visible(text, rank->failed.text);
    } else if (how == RANK_KILLED) {
        writing_append_format(text, "killed by signal %" PRIu64 " (%s)", rank->death.numbers[1],
                              rank->death.text);
    } else if (how <= RANK_INTERRUPTED && ends[how] != NULL) {
        writing_append(text, ends[how]);
    } else if (rank->death.kind != FRAME_NONE) {
        writing_append_format(text, "%s: ", state_name(rank));
        writing_append_visible(text, rank->death.text);
    } else {
        writing_append(text, state_name(rank));
    }
    writing_append(text, rank->state == RANK_ENDED ? " at " : "; its last op was ");
    append_place(text, rank->op, rank->step);
}

static void tell_rank(uint32_t number, const struct keeper_rank *rank, struct facts *facts)
{
    const struct pod_frame *oom = &rank->first_oom;
    const char *verdict = verdict_name((enum verdict_kind)oom->numbers[0]);
    struct writing words = {0};
    append_end(&words, rank);
    facts_open(facts, "rank");
    facts_count(facts, "rank", number);
    facts_text(facts, "state", state_name(rank));
    if (rank->death.numbers[0] == RANK_KILLED) {
        facts_count(facts, "signal", rank->death.numbers[1]);
    }
    facts_text_if(facts, "reason",
                  rank->failed.kind != FRAME_NONE ? rank->failed.text : rank->death.text);
    facts_count(facts, "op", rank->op);
    facts_count(facts, "step", rank->step);
    facts_count(facts, "ooms", rank->oom_count);
    if (rank->oom_count > 0) {
        facts_count(facts, "first_oom_op", oom->op);
        facts_count(facts, "first_oom_step", oom->numbers[2]);
        facts_text(facts, "verdict", verdict);
        writing_append_format(&words, "; out of memory %" PRIu64 " time%s, first at ",
                              rank->oom_count, plural(rank->oom_count, "", "s"));
        append_place(&words, oom->op, oom->numbers[2]);
        writing_append_format(&words, " (%s)", verdict);
    }
    if (rank->first_missed.kind != FRAME_NONE) {
        facts_count(facts, "missed_op", rank->first_missed.op);
        facts_count(facts, "missed_group", rank->first_missed.numbers[0]);
    }
    facts_count(facts, "broken", rank->finding_count);
    facts_seconds(facts, "awaited_seconds", rank->awaited_ns);
    facts_close(facts);
    if (rank->awaited_ns >= AWAITED_NS_MIN) {
        writing_append(&words, "; came last to its collectives, others waited for it for ");
        writing_append_seconds(&words, rank->awaited_ns);
        writing_append(&words, " s");
    }
    facts_answer(facts, "rank %-2" PRIu32 "  %s", number, writing_string(&words));
    if (rank->finding_count > 0) {
        facts_answer(facts, "         a promise was broken at op %" PRIu32 ": %s",
                     rank->first_finding.op, rank->first_finding.text);
    }
    writing_deinit(&words);
}

/* Appends which awaited ranks were refused, and so did not join a collective of this group. */
static void append_missed(struct writing *text, struct keeper *keeper,
                          const struct keeper_wait *wait)
{
    for (uint32_t i = 0; i < keeper_rank_count(keeper); i++) {
        const struct pod_frame *missed = &keeper_rank(keeper, i)->first_missed;
        if ((wait->missing >> i & 1) != 0 && missed->kind != FRAME_NONE &&
            missed->numbers[0] == wait->group) {
            writing_append_format(text, "; rank %" PRIu32 " was out of memory at ", i);
            append_place(text, missed->op, missed->numbers[1]);
            writing_append(text, ", and did not join");
        }
    }
}

/* Begins the words of a wait or a difference: in which group. */
static void append_group(struct writing *words, const char *before, const struct setup *setup,
                         uint16_t group)
{
    const char *name = setup_group_name(setup, group);
    writing_append_format(words, "%s in group %u", before, group);
    if (name[0] != '\0') {
        writing_append_format(words, " \"%s\"", name);
    }
}

static void append_again(struct writing *words, uint64_t count)
{
    if (count > 1) {
        writing_append_format(words, "; again %" PRIu64 " time%s", count - 1,
                              plural(count - 1, "", "s"));
    }
}

static void tell_wait(struct keeper *keeper, const struct setup *setup,
                      const struct keeper_wait *wait, struct facts *facts)
{
    const char *between = "";
    struct writing words = {0};
    facts_open(facts, "waited");
    facts_count(facts, "rank", wait->rank);
    facts_count(facts, "group", wait->group);
    facts_text(facts, "group_name", setup_group_name(setup, wait->group));
    facts_nest(facts, "missing", '[');
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        if ((wait->missing >> i & 1) != 0) {
            facts_count(facts, NULL, i);
            writing_append_format(&words, "%s%" PRIu32, between, i);
            between = ", ";
        }
    }
    facts_unnest(facts, ']');
    facts_text(facts, "cause", cause_names[wait->cause]);
    facts_count(facts, "op", wait->op);
    facts_count(facts, "step", wait->step);
    facts_seconds(facts, "since_seconds", wait->since_ns);
    facts_count(facts, "times", wait->count);
    facts_close(facts);
    writing_append_format(&words, " (%s),", cause_names[wait->cause]);
    append_group(&words, "", setup, wait->group);
    writing_append(&words, ", since ");
    append_place(&words, wait->op, wait->step);
    writing_append(&words, ", ");
    writing_append_seconds(&words, wait->since_ns);
    writing_append(&words, " s after the start");
    append_again(&words, wait->count);
    append_missed(&words, keeper, wait);
    facts_answer(facts, "rank %-2" PRIu32 "  waited in vain for rank %s", wait->rank,
                 writing_string(&words));
    writing_deinit(&words);
}

static const char *answer_name(const struct answer_place *place)
{
    return place->result == TARGET_OK          ? "granted"
           : place->result == TARGET_NO_MEMORY ? "out of memory"
                                               : "refused";
}

static void tell_answer(const char *name, const char *before, const struct answer_place *place,
                        struct writing *words, struct facts *facts)
{
    facts_nest(facts, name, '{');
    facts_count(facts, "rank", place->rank);
    facts_count(facts, "op", place->op);
    facts_count(facts, "step", place->step);
    facts_text(facts, "answer", answer_name(place));
    facts_unnest(facts, '}');
    writing_append_format(words, "%s%s at ", before, answer_name(place));
    append_place(words, place->op, place->step);
}

static void tell_difference(const struct setup *setup, const struct answer_difference *difference,
                            struct facts *facts)
{
    struct writing words = {0}, first = {0};
    facts_open(facts, "differs");
    facts_text(facts, "rule", rule_info(RULE_SPMD)->name);
    facts_count(facts, "group", difference->group);
    facts_text(facts, "group_name", setup_group_name(setup, difference->group));
    append_group(&words, ",", setup, difference->group);
    tell_answer("first", ", not ", &difference->first, &first, facts);
    tell_answer("other", ": ", &difference->other, &words, facts);
    facts_count(facts, "times", difference->count);
    facts_close(facts);
    writing_append(&words, writing_string(&first));
    append_again(&words, difference->count);
    facts_answer(facts,
                 "rank %-2" PRIu32 "  got another answer than rank %" PRIu32
                 " to the same request%s (rule spmd)",
                 difference->other.rank, difference->first.rank, writing_string(&words));
    writing_deinit(&words);
    writing_deinit(&first);
}

/* --- all of them --- */

struct pod_sums {
    uint64_t ended, dead, silent, ooms, justified, premature, unknown, disputed, findings, crashed,
        failed, waits, differences;
};

static struct pod_sums sum_up(struct keeper *keeper)
{
    struct pod_sums sums = {0};
    for (uint32_t i = 0; i < keeper_rank_count(keeper); i++) {
        const struct keeper_rank *rank = keeper_rank(keeper, i);
        const uint64_t how = rank->death.numbers[0];
        const bool is_silent = how == RANK_STOPPED || how == RANK_IDLE;
        const bool has_failed = how == RANK_FAULTY || rank->failed.kind != FRAME_NONE;
        sums.ended += rank->state == RANK_ENDED;
        sums.dead += rank->state == RANK_DEAD && !is_silent && how != RANK_INTERRUPTED;
        sums.silent += rank->state != RANK_ENDED && (is_silent || rank->state != RANK_DEAD);
        sums.ooms += rank->oom_count;
        sums.justified += rank->ooms_by_verdict[VERDICT_JUSTIFIED];
        sums.premature += rank->ooms_by_verdict[VERDICT_PREMATURE];
        sums.unknown += rank->ooms_by_verdict[VERDICT_UNKNOWN];
        sums.disputed += rank->first_finding.numbers[0] == VERDICT_DISPUTED;
        sums.findings += rank->finding_count;
        sums.crashed += how == RANK_CRASHED;
        sums.failed += has_failed;
    }
    for (size_t i = 0; i < keeper_wait_count(keeper); i++) {
        sums.waits += keeper_wait_at(keeper, i)->count;
    }
    const struct spmd_answers *answers = keeper_answers(keeper);
    for (size_t i = 0; i < answers_difference_count(answers); i++) {
        sums.differences += answers_difference_at(answers, i)->count;
    }
    return sums;
}

static bool is_broken(const struct pod_sums *sums)
{
    return sums->findings + sums->crashed + sums->differences > 0;
}

static enum exit_code find_code(const struct pod_sums *sums)
{
    return sums->disputed + sums->failed > 0 || interrupt_is_requested() ? EXIT_HARNESS
           : is_broken(sums)                                             ? EXIT_BROKEN
           : sums->unknown > 0                                           ? EXIT_UNKNOWN
                                                                         : EXIT_KEPT;
}

static void tell_all(const struct pod_plan *plan, const struct keeper *keeper,
                     const struct pod_sums *sums, struct facts *facts)
{
    facts_answer(facts,
                 "%s: %" PRIu32 " ranks, %" PRIu64 " ended, %" PRIu64 " dead, %" PRIu64
                 " without progress; %" PRIu64 " OOMs (%" PRIu64 " justified, %" PRIu64
                 " premature, %" PRIu64 " unknown), %" PRIu64 " waits in vain",
                 is_broken(sums) ? "a promise was broken" : "every promise kept",
                 keeper_rank_count(keeper), sums->ended, sums->dead, sums->silent, sums->ooms,
                 sums->justified, sums->premature, sums->unknown, sums->waits);
    facts_answer(facts, "in lock step: hbmstress pod --merge %s -o FILE.ops", plan->directory);
    facts_open(facts, "pod");
    facts_count(facts, "ranks", keeper_rank_count(keeper));
    facts_count(facts, "ended", sums->ended);
    facts_count(facts, "dead", sums->dead);
    facts_count(facts, "without_progress", sums->silent);
    facts_count(facts, "ooms", sums->ooms);
    facts_count(facts, "justified", sums->justified);
    facts_count(facts, "premature", sums->premature);
    facts_count(facts, "unknown", sums->unknown);
    facts_count(facts, "broken", sums->findings + sums->crashed + sums->differences);
    facts_count(facts, "waits", sums->waits);
    facts_count(facts, "late_arrivals", keeper_late_count(keeper));
    facts_close(facts);
}

enum exit_code pod_tell(const struct pod_plan *plan, struct keeper *keeper)
{
    const struct setup *setup = &plan->recording->setup;
    const struct spmd_answers *answers = keeper_answers(keeper);
    const struct pod_sums sums = sum_up(keeper);
    struct facts facts = {0};
    struct output output;
    output_init(&output, plan->is_json);
    for (uint32_t i = 0; i < keeper_rank_count(keeper); i++) {
        tell_rank(i, keeper_rank(keeper, i), &facts);
    }
    for (size_t i = 0; i < keeper_wait_count(keeper); i++) {
        tell_wait(keeper, setup, keeper_wait_at(keeper, i), &facts);
    }
    for (size_t i = 0; i < answers_difference_count(answers); i++) {
        tell_difference(setup, answers_difference_at(answers, i), &facts);
    }
    tell_all(plan, keeper, &sums, &facts);
    output_facts(&output, &facts);
    facts_deinit(&facts);
    if (keeper_is_failed(keeper)) {
        return message_fail(EXIT_HARNESS, "%s/arrivals cannot be written", plan->directory);
    }
    return output.is_failed ? EXIT_HARNESS : find_code(&sums);
}
