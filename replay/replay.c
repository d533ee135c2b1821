#include "replay/replay.h"

#include "campaign/base/certificates.h"
#include "campaign/base/clock.h"
#include "campaign/engine/output.h"
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "campaign/process/fresh.h"
#include "campaign/process/shared_memory.h"
#include "diagnosis/waits.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/again.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"
#include "present/terminal.h"
#include "replay/compare.h"
#include "replay/replay_proofs.h"
#include "replay/schedule_search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The limit on the search for the largest request at justified verdicts: a unit is a block that is
 * looked at, some 10 ns.  At other verdicts they are always found. */
#define LARGEST_WORK_MAX (UINT64_C(1) << 26)
enum { LARGEST_JUDGEMENTS = 32, LARGEST_WORK_OF_NODE = 16 };

/* The results that outlive a target that kills its process; shared with the child. */
struct replay_state {
    uint32_t op_count; /* ops that ended */
    struct run_totals totals;
    struct compare compare; /* of --compare */
    uint64_t ooms_seen, certificates_checked, certificates_refuted;
    uint64_t replays, same_replays; /* of --times */
    uint64_t after_count;           /* lists of --after that ended */
    bool is_done;
    bool is_output_failed;
    bool is_proof_failed; /* a message was given */
    bool is_alarmed;      /* the same */
};

struct replaying {
    const struct replay_options *options;
    const struct recording *recording;
    const struct recording *after; /* of --after: options->after_count of them */
    struct fresh *fresh;           /* what it is compared with behind them; NULL = nothing */
    struct output output;
    struct reporter reporter;
    struct writing text, certificate;
    struct replay_state *state;
    uint64_t start_ns;
    char signature[SIGNATURE_BYTES]; /* of the last finding */
    struct replay_proofs proofs;
    struct hangs hangs;             /* of the job, so far */
    struct standstills standstills; /* of the clients, so far */
    struct shortages shortages;     /* of the device that hosts share, so far */
    uint64_t largest_work;          /* spent so far */
    struct oracle_largest largest;  /* of the last out-of-memory */
};

static void print_finding(struct replaying *replaying, const struct verdict *verdict,
                          const char *rule, const char *message)
{
    const struct report_finding finding = {
        .verdict = verdict, .rule = rule, .message = message, .signature = replaying->signature};
    (void)reporter_finding(&replaying->reporter, REPORT_FINDING, &finding);
}

static void print_oom(struct replaying *replaying, const struct report_finding *finding)
{
    (void)reporter_finding(&replaying->reporter, REPORT_OOM, finding); /* a later op may crash */
}

/* Our own judges disagree; the first time it is told on standard error, too. */
static void print_dispute(struct replaying *replaying, const struct report_finding *finding)
{
    (void)reporter_finding(&replaying->reporter, REPORT_DISPUTE, finding);
    if (!replaying->state->is_alarmed) {
        (void)message_fail(EXIT_HARNESS,
                           "internal error: the two judges disagree on op %lu: %s. "
                           "Please report this with the file and the command line.",
                           (unsigned long)finding->verdict->op, finding->verdict->reason);
    }
    replaying->state->is_alarmed = true;
}

/* Returns the largest request that could have been served; NULL: the limit of work is reached. */
static const struct oracle_largest *find_largest(struct replaying *replaying, const struct run *run,
                                                 const struct verdict *verdict)
{
    if (verdict->kind == VERDICT_JUSTIFIED && replaying->largest_work > LARGEST_WORK_MAX) {
        return NULL;
    }
    replaying->largest = run_find_largest(run, ORACLE_LARGEST_NODES);
    replaying->largest_work += LARGEST_JUDGEMENTS * (run_oom(run)->block_count + 1) +
                               LARGEST_WORK_OF_NODE * replaying->largest.nodes;
    return &replaying->largest;
}

/* An OOM: its certificate is checked if it is kept or one of the sample. */
static void process_oom(struct replaying *replaying, const struct run *run,
                        const struct verdict *verdict)
{
    struct replay_state *state = replaying->state;
    struct verdict checked = *verdict;
    struct report_finding finding = {.verdict = &checked, .message = run_message(run)};
    finding.signature = checked.kind == VERDICT_PREMATURE ? replaying->signature : NULL;
    finding.largest = find_largest(replaying, run, verdict);
    char reason[CERTIFICATE_REASON_BYTES];
    const bool is_saved = replaying->options->certificates != NULL;
    /* The list of a dispute ends with the op in question. */
    const bool is_last = verdict->op + (size_t)1 == replaying->recording->ops.count;
    if (!certificate_is_due(state->ooms_seen++, verdict->kind) && !is_saved && !is_last) {
        print_oom(replaying, &finding);
        return;
    }
    writing_clear(&replaying->certificate);
    run_print_certificate(run, &replaying->certificate);
    if (verdict->kind != VERDICT_DISPUTED) {
        state->certificates_checked++;
        if (!certificate_is_accepted(replaying->certificate.bytes, replaying->certificate.length,
                                     reason)) {
            state->certificates_refuted++;
            certificate_dispute(reason, &checked);
        }
    }
    finding.certificate = is_saved ? replay_proofs_save(&replaying->proofs, &checked,
                                                        &replaying->certificate)
                                   : NULL;
    if (checked.kind == VERDICT_DISPUTED) {
        print_dispute(replaying, &finding);
    } else {
        print_oom(replaying, &finding);
    }
}

/* An OOM beside which the op broke a rule: its verdict comes first. */
static void print_hidden_oom(struct replaying *replaying, const struct run *run)
{
    const struct verdict *hidden = run_hidden_oom(run);
    if (hidden != NULL) {
        replaying->state->ooms_seen++;
        print_oom(replaying,
                  &(const struct report_finding){.verdict = hidden, .message = run_message(run)});
    }
}

static void print_verdict(void *context, const struct run *run, const struct verdict *verdict)
{
    struct replaying *replaying = context;
    replaying->state->op_count = (uint32_t)run_ops(run)->count;
    replaying->state->totals = *run_totals(run);
    replay_proofs_take(&replaying->proofs, run, &replaying->recording->ops);
    if (run_waits(run)->total > 0) {
        run_hangs(run, &replaying->hangs);
    }
    if (run_standstills(run) != NULL) {
        replaying->standstills = *run_standstills(run);
    }
    replaying->shortages = *run_shortages(run);
    if (replaying->options->has_compare) {
        compare_take(&replaying->state->compare, run);
    }
    signature_print(verdict, run_ops(run), replaying->signature);
    switch (verdict->kind) {
    case VERDICT_NONE:
        return;
    case VERDICT_BROKEN:
        print_hidden_oom(replaying, run);
        print_finding(replaying, verdict, rule_info(verdict->rule)->name, run_message(run));
        return;
    default:
        process_oom(replaying, run, verdict);
    }
}

/* The second time, and with the related lists, in silence. */
static void compare_again(struct replaying *replaying, const struct trial *trial)
{
    const struct target *target = replaying->recording->target;
    struct verdict verdict;
    if (replaying->options->reading.run->replay_sample == 0 || trial_is_ended(trial) ||
        !(again_breaks(target, trial, &verdict) || related_breaks(target, trial, &verdict) ||
          (replaying->fresh != NULL && fresh_breaks(replaying->fresh, target, trial, &verdict)))) {
        return;
    }
    replaying->state->totals.broken++;
    signature_print(&verdict, &trial->ops, replaying->signature);
    print_finding(replaying, &verdict, rule_info(verdict.rule)->name, "");
}

static bool is_same_trial(const struct trial *a, const struct trial *b)
{
    return a->digest == b->digest && a->first.kind == b->first.kind &&
           a->first.rule == b->first.rule && a->first.op == b->first.op &&
           strcmp(a->first.reason, b->first.reason) == 0;
}

/* --times: again and again in silence, up to the first that differs. */
static void repeat_list(struct replaying *replaying, const struct trial *trial)
{
    const struct recording *recording = replaying->recording;
    struct replay_state *state = replaying->state;
    char reason[RUN_REASON_BYTES];
    state->replays = state->same_replays = 1;
    while (state->same_replays == state->replays &&
           state->replays < replaying->options->replay_count) {
        struct trial again;
        const bool is_taken = trial_repeat(recording->target, &recording->setup, &recording->ops,
                                           NULL, &again, reason);
        state->replays++; /* one that ctrl-C or the target cuts short is none */
        if (!is_taken) {
            return;
        }
        state->same_replays += is_same_trial(trial, &again);
        trial_deinit(&again);
    }
}

/* The target, or the schedule, is not what it was before. */
static void print_difference(struct replaying *replaying)
{
    const struct replay_state *state = replaying->state;
    struct verdict verdict = {.kind = VERDICT_BROKEN,
                              .rule = RULE_REPLAY,
                              .op = (uint32_t)replaying->recording->ops.count};
    snprintf(verdict.reason, sizeof verdict.reason,
             "replay %" PRIu64 " gave different observations from the first", state->replays);
    snprintf(replaying->signature, sizeof replaying->signature, "%s", rule_info(RULE_REPLAY)->name);
    replaying->state->totals.broken++;
    print_finding(replaying, &verdict, rule_info(verdict.rule)->name, "");
}

static void print_times(struct replaying *replaying)
{
    const struct replay_state *state = replaying->state;
    if (state->replays == 0) {
        return;
    }
    if (state->same_replays != state->replays) {
        print_difference(replaying);
    }
    writing_clear(&replaying->text);
    json_open(&replaying->text, "times");
    json_add_number(&replaying->text, "replays", state->replays);
    json_add_number(&replaying->text, "same", state->same_replays);
    json_close(&replaying->text);
    output_line(&replaying->output, &replaying->text);
    writing_clear(&replaying->text);
    writing_append_format(&replaying->text,
                          "%" PRIu64 " of %" PRIu64 " replays gave the same result\n",
                          state->same_replays, state->replays);
    output_text(&replaying->output, &replaying->text);
}

/* Prints who waited in vain for another host: that is no broken promise of the target. */
static void print_hangs(struct replaying *replaying)
{
    const struct setup *setup = &replaying->recording->setup;
    writing_clear(&replaying->text);
    hangs_append_json(setup, &replaying->hangs, &replaying->text);
    output_line(&replaying->output, &replaying->text);
    writing_clear(&replaying->text);
    hangs_append(setup, &replaying->hangs, &replaying->text);
    output_text(&replaying->output, &replaying->text);
}

/* Prints where all clients waited: that is no broken promise of the target. */
static void print_standstills(struct replaying *replaying)
{
    const struct setup *setup = &replaying->recording->setup;
    writing_clear(&replaying->text);
    standstills_append_json(setup, &replaying->standstills, &replaying->text);
    output_line(&replaying->output, &replaying->text);
    writing_clear(&replaying->text);
    standstills_append(setup, &replaying->standstills, &replaying->text);
    output_text(&replaying->output, &replaying->text);
}

/* Prints who had the memory of a shared device when another host asked for it. */
static void print_shortages(struct replaying *replaying)
{
    writing_clear(&replaying->text);
    shortages_append_json(&replaying->shortages, &replaying->text);
    output_line(&replaying->output, &replaying->text);
    writing_clear(&replaying->text);
    shortages_append(&replaying->shortages, &replaying->text);
    output_text(&replaying->output, &replaying->text);
}

/* Runs the lists of --after, so that the target is in the same state.  Nothing of them is
 * judged. */
static void replay_after(struct replaying *replaying)
{
    const struct replay_options *options = replaying->options;
    struct replay_state *state = replaying->state;
    if (options->after_count > 0 && options->reading.run->replay_sample > 0) {
        replaying->fresh = fresh_create();
    }
    for (; state->after_count < options->after_count; state->after_count++) {
        const struct recording *recording = &replaying->after[state->after_count];
        const struct earlier_list list = {recording->target, recording->setup, recording->ops};
        earlier_list_run(&list);
    }
}

/* The child's part: all of the replay. */
static void replay_list(void *context, int file)
{
    struct replaying *replaying = context;
    (void)file;
    replay_after(replaying);
    const struct recording *recording = replaying->recording;
    const struct run_listener listener = {replaying, print_verdict};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    if (trial_repeat(recording->target, &recording->setup, &recording->ops, &listener, &trial,
                     reason)) {
        const bool is_given = trial.ops.count == 0;
        if (is_given) { /* what was recorded is what was read; it is not copied */
            trial.ops = recording->ops;
            trial.ops.count = replaying->state->op_count;
        }
        replaying->state->is_proof_failed = !replay_proofs_end(&replaying->proofs);
        replaying->state->totals = trial.totals;
        if (trial.totals.not_modelled > 0) {
            message_note("the replay ended: it met what is not modelled: %s",
                         trial.why_not_modelled);
        }
        print_hangs(replaying);
        print_standstills(replaying);
        print_shortages(replaying);
        if (replaying->options->replay_count != 0) {
            repeat_list(replaying, &trial);
        } else {
            compare_again(replaying, &trial);
        }
        if (is_given) {
            op_list_init(&trial.ops);
        }
        trial_deinit(&trial);
        replaying->state->is_done = true;
    }
    fresh_destroy(replaying->fresh);
    replaying->state->is_output_failed = replaying->output.is_failed;
}

static void print_start(struct replaying *replaying)
{
    const struct report_start start = {.subcommand = "replay",
                                       .setup = &replaying->recording->setup,
                                       .file = replaying->options->path,
                                       .duration_ns = UINT64_MAX};
    (void)reporter_start(&replaying->reporter, &start);
    output_flush(&replaying->output);
}

/* The target never came back from a call. */
static void print_death(struct replaying *replaying, const struct death *death)
{
    char words[DEATH_WORDS_BYTES];
    struct verdict verdict = {
        .kind = VERDICT_BROKEN, .rule = death_rule(death), .op = replaying->state->op_count};
    death_describe(death, words);
    death_signature(death, replaying->signature);
    snprintf(verdict.reason, sizeof verdict.reason, "%s", words);
    replaying->state->totals.broken++;
    print_finding(replaying, &verdict, rule_info(verdict.rule)->name, "");
}

static void print_compare(struct replaying *replaying)
{
    struct compare *compare = &replaying->state->compare;
    if (!replaying->options->has_compare) {
        return;
    }
    compare_end(compare);
    writing_clear(&replaying->text);
    compare_json(compare, &replaying->text);
    output_line(&replaying->output, &replaying->text);
    writing_clear(&replaying->text);
    compare_text(compare, &replaying->text);
    output_text(&replaying->output, &replaying->text);
}

static enum exit_code print_end(struct replaying *replaying, bool is_interrupted)
{
    print_times(replaying);
    print_compare(replaying);
    const struct replay_state *state = replaying->state;
    struct report_end end = {.seed = replaying->recording->setup.seed,
                             .trials = 1,
                             .is_interrupted = is_interrupted,
                             .totals = state->totals,
                             .certificates_checked = state->certificates_checked,
                             .elapsed_ns = clock_now_ns() - replaying->start_ns};
    end.totals.disputed += state->certificates_refuted;
    enum exit_code code = totals_exit_code(&end.totals);
    /* A list that was cut short has not shown that every promise is kept. */
    if (state->is_proof_failed || (code == EXIT_KEPT && is_interrupted)) {
        code = EXIT_HARNESS;
    }
    end.exit_code = (int)code;
    (void)reporter_end(&replaying->reporter, &end);
    output_flush(&replaying->output);
    return replaying->output.is_failed || replaying->state->is_output_failed ? EXIT_HARNESS : code;
}

/* A CHECK of ours: no finding, whatever the target did before. */
static enum exit_code fail_check(const struct replaying *replaying, const struct death *death)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    return message_fail(EXIT_HARNESS, "%s: %s", replaying->options->path, words);
}

/* The process did not come to what is judged. */
static enum exit_code fail_after(const struct replaying *replaying, const struct death *death)
{
    char words[DEATH_WORDS_BYTES] = "interrupted";
    if (death->kind != DEATH_NONE) {
        death_describe(death, words);
    }
    return message_fail(EXIT_HARNESS, "%s: nothing was judged, as this earlier list ended with: %s",
                        replaying->options->after[replaying->state->after_count], words);
}

static enum exit_code run_replay(struct replaying *replaying)
{
    struct death death;
    struct writing answer, printed;
    const struct child_job job = {.work = replay_list,
                                  .context = replaying,
                                  .is_interruptible = true,
                                  .duration_ns = replaying->options->reading.run->trial_timeout_ns,
                                  .output = &printed};
    print_start(replaying);
    writing_init(&answer);
    writing_init(&printed);
    const enum child_end end = child_work(&job, &answer, &death);
    message_quote("target", &printed);
    writing_deinit(&answer);
    writing_deinit(&printed);
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (death.kind == DEATH_CHECK) {
        return fail_check(replaying, &death);
    }
    if (death.kind == DEATH_CHANNEL) {
        replaying->state->is_output_failed = false; /* the target closed that, too */
    }
    if (replaying->state->after_count < replaying->options->after_count) {
        return fail_after(replaying, &death);
    }
    if (death.kind != DEATH_NONE) {
        print_death(replaying, &death);
    }
    if (end == CHILD_DONE && !replaying->state->is_done) {
        return message_fail(EXIT_HARNESS,
                            "%s: the target now refuses the setup that it accepted before",
                            replaying->options->path);
    }
    return print_end(replaying, end == CHILD_STOPPED && death.kind == DEATH_NONE);
}

static enum exit_code replay_recording(const struct replay_options *options,
                                       const struct recording *recording,
                                       const struct recording *after)
{
    struct replaying replaying = {
        .options = options, .recording = recording, .after = after, .start_ns = clock_now_ns()};
    replaying.state = shared_memory_create(sizeof *replaying.state);
    if (replaying.state == NULL) {
        return message_fail(EXIT_HARNESS, "cannot map shared memory: %s", strerror(errno));
    }
    compare_init(&replaying.state->compare, recording);
    output_init(&replaying.output, options->reading.run->is_json);
    reporter_init(&replaying.reporter, output_report, &replaying.output);
    death_set_op_timeout(options->reading.run->op_timeout_ns);
    enum exit_code code = replay_proofs_init(&replaying.proofs, options->certificates);
    if (code == EXIT_KEPT) {
        code = run_replay(&replaying);
    }
    writing_deinit(&replaying.text);
    reporter_deinit(&replaying.reporter);
    writing_deinit(&replaying.certificate);
    replay_proofs_deinit(&replaying.proofs);
    shared_memory_destroy(replaying.state, sizeof *replaying.state);
    return code;
}

/* Refuses --races for a list without lanes: it has no happens-before to check. */
static enum exit_code check_races(const struct replay_options *options,
                                  const struct recording *recording)
{
    if (!options->reading.run->lanes.has_races || lanes_are_in(&recording->ops)) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_USAGE,
                        "%s: all ops are in one lane, so --check-races has nothing to check",
                        options->path);
}

/* Reads the lists of --after, and replays with them. */
static enum exit_code replay_behind(const struct replay_options *options,
                                    const struct recording *recording)
{
    struct recording *after = calloc(options->after_count + 1, sizeof *after);
    enum exit_code code = EXIT_KEPT;
    size_t read_count = 0;
    CHECK(after != NULL);
    while (read_count < options->after_count && code == EXIT_KEPT) {
        code = recording_read(options->after[read_count], options->reading, false,
                              &after[read_count]);
        read_count++;
    }
    if (code == EXIT_KEPT) {
        code = replay_recording(options, recording, after);
    }
    for (size_t i = 0; i < read_count; i++) {
        recording_deinit(&after[i]);
    }
    free(after);
    return code;
}

enum exit_code replay_run(const struct replay_options *options)
{
    struct recording recording;
    enum exit_code code = recording_read(options->path, options->reading, options->has_compare,
                                         &recording);
    if (code == EXIT_KEPT && options->has_compare && recording.format == &format_ops) {
        code = message_fail(
            EXIT_USAGE,
            "%s: an op list does not say what happened; give --compare the log that it is from",
            options->path);
    }
    if (code == EXIT_KEPT) {
        code = check_races(options, &recording);
    }
    if (code == EXIT_KEPT && options->reading.run->lanes.strategy != NULL) {
        code = schedule_search_run(options->path, options->reading.run, &recording);
    } else if (code == EXIT_KEPT) {
        code = replay_behind(options, &recording);
    }
    recording_deinit(&recording);
    return code;
}
