/* Reports how a pod went, in words and in JSON lines. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "harness/base/json.h"
#include "harness/oracle/rule.h"
#include "pod/pod.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <string.h>

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

/* --- in words --- */

static void append_place(struct writing *text, uint32_t op, uint64_t step)
{
    writing_append_format(text, "op %" PRIu32 ", step %" PRIu64, op, step);
}

static void append_end(struct writing *text, const struct keeper_rank *rank)
{
    const char *name = state_name(rank);
    if (rank->failed.kind != FRAME_NONE) {
        writing_append(text, "failed: ");
        writing_append_visible(text, rank->failed.text);
    } else if (strcmp(name, "killed") == 0) {
        writing_append_format(text, "killed by signal %" PRIu64 " (%s)", rank->death.numbers[1],
                              rank->death.text);
    } else if (strcmp(name, "stopped") == 0) {
        writing_append(text, "stopped by a signal, and ended here");
    } else if (strcmp(name, "interrupted") == 0) {
        writing_append(text, "interrupted by the user");
    } else if (strcmp(name, "idle") == 0) {
        writing_append(text, "made no progress, and was ended here");
    } else if (rank->death.kind != FRAME_NONE) {
        writing_append_format(text, "%s: ", name);
        writing_append_visible(text, rank->death.text);
    } else {
        writing_append(text, name);
    }
    writing_append(text, rank->state == RANK_ENDED ? " at " : "; its last op was ");
    append_place(text, rank->op, rank->step);
}

static void append_oom(struct writing *text, const struct keeper_rank *rank)
{
    if (rank->oom_count == 0) {
        return;
    }
    writing_append_format(text, "; out of memory %" PRIu64 " time%s, first at ", rank->oom_count,
                          rank->oom_count == 1 ? "" : "s");
    append_place(text, rank->first_oom.op, rank->first_oom.numbers[2]);
    writing_append_format(text, " (%s)",
                          verdict_name((enum verdict_kind)rank->first_oom.numbers[0]));
}

static void append_rank(struct writing *text, uint32_t number, const struct keeper_rank *rank)
{
    writing_append_format(text, "rank %-2" PRIu32 "  ", number);
    append_end(text, rank);
    append_oom(text, rank);
    if (rank->awaited_ns >= AWAITED_NS_MIN) {
        writing_append(text, "; came last to its collectives, others waited for it for ");
        writing_append_seconds(text, rank->awaited_ns);
        writing_append(text, " s");
    }
    writing_append(text, "\n");
    if (rank->finding_count > 0) {
        writing_append_format(text, "         a promise was broken at op %" PRIu32 ": ",
                              rank->first_finding.op);
        writing_append_visible(text, rank->first_finding.text);
        writing_append(text, "\n");
    }
}

static void append_ranks(struct writing *text, uint64_t ranks)
{
    const char *between = "";
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        if ((ranks >> i & 1) != 0) {
            writing_append_format(text, "%s%" PRIu32, between, i);
            between = ", ";
        }
    }
}

/* Appends which awaited ranks were refused, and so did not join a collective of this group. */
static void append_missed(struct writing *text, struct keeper *keeper,
                          const struct keeper_wait *wait)
{
    for (uint32_t i = 0; i < keeper_rank_count(keeper); i++) {
        const struct frame *missed = &keeper_rank(keeper, i)->first_missed;
        if ((wait->missing >> i & 1) != 0 && missed->kind != FRAME_NONE &&
            missed->numbers[0] == wait->group) {
            writing_append_format(text, "; rank %" PRIu32 " was out of memory at ", i);
            append_place(text, missed->op, missed->numbers[1]);
            writing_append(text, ", and did not join");
        }
    }
}

static void append_wait(struct writing *text, struct keeper *keeper, const struct setup *setup,
                        const struct keeper_wait *wait)
{
    const char *name = setup_group_name(setup, wait->group);
    writing_append_format(text, "rank %-2" PRIu32 "  waited in vain for rank ", wait->rank);
    append_ranks(text, wait->missing);
    writing_append_format(text, " (%s), in group %u%s", cause_names[wait->cause], wait->group,
                          name[0] == '\0' ? "" : " ");
    if (name[0] != '\0') {
        writing_append_format(text, "\"%s\"", name);
    }
    writing_append(text, ", since ");
    append_place(text, wait->op, wait->step);
    writing_append(text, ", ");
    writing_append_seconds(text, wait->since_ns);
    writing_append(text, " s after the start");
    if (wait->count > 1) {
        writing_append_format(text, "; again %" PRIu64 " time%s", wait->count - 1,
                              wait->count == 2 ? "" : "s");
    }
    append_missed(text, keeper, wait);
    writing_append(text, "\n");
}

static const char *answer_name(const struct answer_place *place)
{
    return place->result == TARGET_OK          ? "granted"
           : place->result == TARGET_NO_MEMORY ? "out of memory"
                                               : "refused";
}

static void append_answer(struct writing *text, const struct answer_place *place)
{
    writing_append_format(text, "%s at ", answer_name(place));
    append_place(text, place->op, place->step);
}

static void append_difference(struct writing *text, const struct setup *setup,
                              const struct answer_difference *difference)
{
    const char *name = setup_group_name(setup, difference->group);
    writing_append_format(text,
                          "rank %-2" PRIu32 "  got another answer than rank %" PRIu32
                          " to the same request, in group %u",
                          difference->other.rank, difference->first.rank, difference->group);
    if (name[0] != '\0') {
        writing_append_format(text, " \"%s\"", name);
    }
    writing_append(text, ": ");
    append_answer(text, &difference->other);
    writing_append(text, ", not ");
    append_answer(text, &difference->first);
    if (difference->count > 1) {
        writing_append_format(text, "; again %" PRIu64 " time%s", difference->count - 1,
                              difference->count == 2 ? "" : "s");
    }
    writing_append(text, " (rule spmd)\n");
}

/* --- all of them --- */

struct sums {
    uint64_t ended, dead, silent, ooms, justified, premature, unknown, disputed, findings, crashed,
        failed, waits, differences;
};

static struct sums sum_up(struct keeper *keeper)
{
    struct sums sums = {0};
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
    const struct answers *answers = keeper_answers(keeper);
    for (size_t i = 0; i < answers_difference_count(answers); i++) {
        sums.differences += answers_difference_at(answers, i)->count;
    }
    return sums;
}

static bool is_broken(const struct sums *sums)
{
    return sums->findings + sums->crashed + sums->differences > 0;
}

static enum exit_code find_code(const struct sums *sums)
{
    return sums->disputed + sums->failed > 0 || interrupt_is_requested() ? EXIT_HARNESS
           : is_broken(sums)                                             ? EXIT_BROKEN
           : sums->unknown > 0                                           ? EXIT_UNKNOWN
                                                                         : EXIT_KEPT;
}

static void append_all(struct writing *text, const struct pod_plan *plan, struct keeper *keeper,
                       const struct sums *sums)
{
    writing_append_format(text,
                          "%s: %" PRIu32 " ranks, %" PRIu64 " ended, %" PRIu64 " dead, %" PRIu64
                          " without progress; %" PRIu64 " OOMs (%" PRIu64 " justified, %" PRIu64
                          " premature, %" PRIu64 " unknown), %" PRIu64 " waits in vain\n",
                          is_broken(sums) ? "a promise was broken" : "every promise kept",
                          keeper_rank_count(keeper), sums->ended, sums->dead, sums->silent,
                          sums->ooms, sums->justified, sums->premature, sums->unknown, sums->waits);
    writing_append(text, "in lock step: hbmstress pod --merge ");
    writing_append_visible(text, plan->directory);
    writing_append(text, " -o FILE.ops\n");
}

/* --- as JSON --- */

static void add_rank_json(struct writing *text, uint32_t number, const struct keeper_rank *rank)
{
    json_open(text, "rank");
    json_add_number(text, "rank", number);
    json_add_string(text, "state", state_name(rank));
    if (rank->death.numbers[0] == RANK_KILLED) {
        json_add_number(text, "signal", rank->death.numbers[1]);
    }
    const char *why = rank->failed.kind != FRAME_NONE ? rank->failed.text : rank->death.text;
    if (why[0] != '\0') {
        json_add_string(text, "reason", why);
    }
    json_add_number(text, "op", rank->op);
    json_add_number(text, "step", rank->step);
    json_add_number(text, "ooms", rank->oom_count);
    if (rank->oom_count > 0) {
        json_add_number(text, "first_oom_op", rank->first_oom.op);
        json_add_number(text, "first_oom_step", rank->first_oom.numbers[2]);
        json_add_string(text, "verdict",
                        verdict_name((enum verdict_kind)rank->first_oom.numbers[0]));
    }
    if (rank->first_missed.kind != FRAME_NONE) {
        json_add_number(text, "missed_op", rank->first_missed.op);
        json_add_number(text, "missed_group", rank->first_missed.numbers[0]);
    }
    json_add_number(text, "broken", rank->finding_count);
    json_add_seconds(text, "awaited_seconds", rank->awaited_ns);
    json_close(text);
}

static void add_wait_json(struct writing *text, const struct setup *setup,
                          const struct keeper_wait *wait)
{
    json_open(text, "waited");
    json_add_number(text, "rank", wait->rank);
    json_add_number(text, "group", wait->group);
    json_add_string(text, "group_name", setup_group_name(setup, wait->group));
    json_nest(text, "missing", '[');
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        if ((wait->missing >> i & 1) != 0) {
            json_add_number(text, NULL, i);
        }
    }
    json_unnest(text, ']');
    json_add_string(text, "cause", cause_names[wait->cause]);
    json_add_number(text, "op", wait->op);
    json_add_number(text, "step", wait->step);
    json_add_seconds(text, "since_seconds", wait->since_ns);
    json_add_number(text, "times", wait->count);
    json_close(text);
}

static void add_answer_json(struct writing *text, const char *name,
                            const struct answer_place *place)
{
    json_nest(text, name, '{');
    json_add_number(text, "rank", place->rank);
    json_add_number(text, "op", place->op);
    json_add_number(text, "step", place->step);
    json_add_string(text, "answer", answer_name(place));
    json_unnest(text, '}');
}

static void add_difference_json(struct writing *text, const struct setup *setup,
                                const struct answer_difference *difference)
{
    json_open(text, "differs");
    json_add_string(text, "rule", rule_info(RULE_SPMD)->name);
    json_add_number(text, "group", difference->group);
    json_add_string(text, "group_name", setup_group_name(setup, difference->group));
    add_answer_json(text, "first", &difference->first);
    add_answer_json(text, "other", &difference->other);
    json_add_number(text, "times", difference->count);
    json_close(text);
}

static void add_all_json(struct writing *text, struct keeper *keeper, const struct sums *sums)
{
    json_open(text, "pod");
    json_add_number(text, "ranks", keeper_rank_count(keeper));
    json_add_number(text, "ended", sums->ended);
    json_add_number(text, "dead", sums->dead);
    json_add_number(text, "without_progress", sums->silent);
    json_add_number(text, "ooms", sums->ooms);
    json_add_number(text, "justified", sums->justified);
    json_add_number(text, "premature", sums->premature);
    json_add_number(text, "unknown", sums->unknown);
    json_add_number(text, "broken", sums->findings + sums->crashed + sums->differences);
    json_add_number(text, "waits", sums->waits);
    json_add_number(text, "late_arrivals", keeper_late_count(keeper));
    json_close(text);
}

enum exit_code pod_tell(const struct pod_plan *plan, struct keeper *keeper)
{
    const struct setup *setup = &plan->recording->setup;
    const struct sums sums = sum_up(keeper);
    struct writing text, lines;
    struct output output;
    writing_init(&text);
    writing_init(&lines);
    output_init(&output, plan->is_json);
    for (uint32_t i = 0; i < keeper_rank_count(keeper); i++) {
        append_rank(&text, i, keeper_rank(keeper, i));
        add_rank_json(&lines, i, keeper_rank(keeper, i));
    }
    for (size_t i = 0; i < keeper_wait_count(keeper); i++) {
        append_wait(&text, keeper, setup, keeper_wait_at(keeper, i));
        add_wait_json(&lines, setup, keeper_wait_at(keeper, i));
    }
    const struct answers *answers = keeper_answers(keeper);
    for (size_t i = 0; i < answers_difference_count(answers); i++) {
        append_difference(&text, setup, answers_difference_at(answers, i));
        add_difference_json(&lines, setup, answers_difference_at(answers, i));
    }
    append_all(&text, plan, keeper, &sums);
    add_all_json(&lines, keeper, &sums);
    wrap_answer(&text, 0);
    output_text(&output, &text);
    output_line(&output, &lines);
    output_flush(&output);
    writing_deinit(&text);
    writing_deinit(&lines);
    if (keeper_is_failed(keeper)) {
        return message_fail(EXIT_HARNESS, "%s/arrivals cannot be written", plan->directory);
    }
    return output.is_failed ? EXIT_HARNESS : find_code(&sums);
}
