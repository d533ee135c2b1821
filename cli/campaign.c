#include "cli/campaign.h"

#include "cli/background.h"
#include "cli/campaign_view.h"
#include "cli/canary.h"
#include "cli/child.h"
#include "cli/clock.h"
#include "cli/death.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/keeper.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/wishes.h"
#include "cli/workers.h"
#include "harness/check.h"
#include "reports/json_lines.h"
#include "reports/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long to wait for a worker before looking at the clock again, and while a finding is shrunk; how much the state on
 * the disk may be behind. */
enum { WAIT_MS = 100, WAIT_SHRINKING_MS = 10, CHECKPOINT_MS = 1000 };

/* Trials that may be ahead of the next one that counts: as many as the others run while one of the longest is, more while
 * a finding is shrunk, so that the workers have something to do. */
enum { TRIALS_AHEAD_PER_WORKER = 256, TRIALS_AHEAD_SHRINKING = 4096 };

struct campaign {
    const struct arguments *arguments;
    const struct plan *plan;
    struct campaign_description *description;
    struct checkpoint *at;
    struct output output;
    struct keeper keeper;
    struct trials *trials;
    struct workers *workers;
    uint32_t worker_count;
    char superseded[FINDING_BASE_BYTES]; /* files of a longer repro, to be removed; "" = none */
    struct background shrinking; /* of `pending` */
    struct judgement pending;    /* the next one that counts, while its finding is shrunk */
    struct campaign_view view;
    uint64_t start_ns, elapsed_before_ns, checkpoint_ns;
    bool is_failed;  /* a message was given */
    bool is_cut;     /* ctrl-C cut short what was made of `pending`: who goes on begins before that trial */
    bool is_alarmed; /* the disagreement of our judges was told */
    struct writing text;
};

static uint64_t campaign_elapsed_ns(const struct campaign *campaign)
{
    return campaign->elapsed_before_ns + clock_now_ns() - campaign->start_ns;
}

/* --- which trials --------------------------------------------------------------------------------- */

static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211); /* FNV-1a */
    return digest;
}

static uint64_t plan_digest(const struct plan *plan, uint64_t replay_sample)
{
    uint64_t digest = digest_bytes(UINT64_C(14695981039346656037), &replay_sample, sizeof replay_sample);
    for (size_t i = 0; i < plan->count; i++) {
        const struct part *part = &plan->parts[i];
        const uint64_t bounds[] = {part->op_count_max, part->trial_count_max, part->duration_ns, part->capacity_is_free,
                                   part->faults.kinds, part->lanes.lane_count, part->lanes.schedule_count,
                                   part->lanes.argument, part->lanes.backend, part->lanes.checks_races};
        const char *strategy = part->lanes.strategy == NULL ? "" : part->lanes.strategy->name;
        digest = digest_bytes(digest, part->name, strlen(part->name) + 1);
        digest = digest_bytes(digest, &part->setup, sizeof part->setup);
        digest = digest_bytes(digest, bounds, sizeof bounds);
        digest = digest_bytes(digest, strategy, strlen(strategy) + 1);
    }
    return digest;
}

bool campaign_fits(const struct campaign_description *description, const struct plan *plan)
{
    return description->head.part_count == plan->count &&
           description->head.plan_digest == plan_digest(plan, description->head.replay_sample);
}

static void describe(const struct arguments *arguments, const struct plan *plan, struct campaign_description *description)
{
    memset(description, 0, sizeof *description);
    description->head.setup = plan->setup;
    description->head.duration_ns = plan->duration_ns;
    description->head.replay_sample = arguments->replay_sample;
    description->head.plan_digest = plan_digest(plan, arguments->replay_sample);
    description->head.shard_index = plan->shard_index;
    description->head.shard_count = plan->shard_count;
    description->head.part_count = plan->count;
    description->head.argument_count = arguments->raw_count;
    description->head.has_canary = plan->has_canary;
    description->head.requires_probes = plan->requires_probes;
    memcpy(description->head.seed_source, plan->seed_source, sizeof description->head.seed_source);
    description->parts = calloc(plan->count, sizeof *description->parts);
    CHECK(description->parts != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        const struct part *part = &plan->parts[i];
        struct campaign_part *to = &description->parts[i];
        memcpy(to->name, part->name, sizeof to->name);
        memcpy(to->note, part->note, sizeof to->note);
        to->setup = part->setup;
        (void)wishes_print_faults(&part->faults, to->faults, sizeof to->faults);
        if (part->lanes.lane_count != 0)
            lane_wish_report(&part->lanes, &to->lanes);
        to->op_count_max = part->op_count_max;
        to->trial_count_max = part->trial_count_max;
        to->duration_ns = part->duration_ns;
    }
    for (size_t i = 0; i < arguments->raw_count; i++)
        writing_append_bytes(&description->arguments, arguments->raw[i], strlen(arguments->raw[i]) + 1);
}

/* --- saying ----------------------------------------------------------------------------------------- */

static void say_line(struct campaign *campaign)
{
    output_line(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
}

static void say_text(struct campaign *campaign)
{
    campaign_view_clear(&campaign->view);
    output_text(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
}

static void say_kept(struct campaign *campaign, const struct report_finding *finding)
{
    terminal_finding(&campaign->text, finding);
    say_text(campaign);
}

/* --- out-of-memories -------------------------------------------------------------------------------- */

/* The lines of a trial's OOMs while the paths of what was kept are put in. */
struct lines {
    const struct writing *from;
    size_t done;
    struct writing to;
};

static void lines_add_paths(struct lines *lines, size_t line_end, const struct report_finding *finding)
{
    if (line_end == 0)
        return;
    /* Two bytes end a line: the bracket and the newline. */
    writing_append_bytes(&lines->to, lines->from->bytes + lines->done, line_end - 2 - lines->done);
    json_paths(&lines->to, finding->repro, finding->certificate);
    line_close(&lines->to);
    lines->done = line_end;
}

static void lines_end(struct lines *lines)
{
    writing_append_bytes(&lines->to, lines->from->bytes + lines->done, lines->from->length - lines->done);
}

/* Whether the files of one more OOM of that kind are kept. */
static bool is_wanted(struct part_state *part, enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_JUSTIFIED: return part->justified_kept++ < JUDGEMENT_JUSTIFIED_COUNT_MAX;
    case VERDICT_UNKNOWN: return part->unknown_kept++ < JUDGEMENT_UNKNOWN_COUNT_MAX;
    default: return kind == VERDICT_DISPUTED; /* a dispute ends the run: there are few */
    }
}

/* A failed write was told once; no more files then. */
static void take_failure(struct campaign *campaign)
{
    campaign->is_failed = campaign->output.is_silent = true;
}

static struct report_finding finding_of_oom(const struct campaign *campaign, const struct judgement *judgement,
                                            const struct kept_oom *oom)
{
    const struct part *part = &campaign->plan->parts[judgement->head.task.part];
    return (struct report_finding){.place = {part->name, judgement->head.task.trial}, .verdict = &oom->verdict,
                                   .message = oom->message,
                                   .seed = plan_trial_seed(part, judgement->head.task.trial)};
}

static void keep_oom(struct campaign *campaign, const struct judgement *judgement, const struct kept_oom *oom,
                     struct lines *all, struct lines *notable)
{
    struct keeper_paths paths;
    const struct kept kept = keeper_take_oom(&campaign->keeper, campaign->plan, judgement, oom);
    if (kept.result == KEEPER_FAILED) {
        take_failure(campaign);
        return;
    }
    campaign->at->state.certificate_count++;
    keeper_paths_init(&paths, &campaign->keeper, "repros", kept.base);
    struct report_finding finding = finding_of_oom(campaign, judgement, oom);
    finding.certificate = paths.certificate;
    if (oom->verdict.kind == VERDICT_UNKNOWN) {
        finding.repro = paths.repro;
        finding.replay = paths.replay;
        finding.op_count = kept.op_count;
        say_kept(campaign, &finding);
    }
    lines_add_paths(all, oom->all_end, &finding);
    lines_add_paths(notable, oom->notable_end, &finding);
}

/* Keeps what is to be kept of the OOMs that break no promise. */
static void keep_ooms(struct campaign *campaign, const struct judgement *judgement, struct lines *all,
                      struct lines *notable)
{
    struct part_state *part = &campaign->at->parts[judgement->head.task.part];
    for (size_t i = 0; i < judgement->head.kept_count; i++) {
        const struct kept_oom *oom = &judgement->head.kept[i];
        if (campaign->is_failed || campaign->output.is_failed)
            return; /* one line tells of a full disk */
        const bool is_told_elsewhere = oom->verdict.kind == VERDICT_PREMATURE || oom->verdict.kind == VERDICT_DISPUTED;
        if (!is_told_elsewhere && is_wanted(part, oom->verdict.kind))
            keep_oom(campaign, judgement, oom, all, notable);
    }
}

static bool results_are_full(const struct campaign *campaign)
{
    return campaign->output.results_bytes >= campaign->arguments->results_limit_bytes;
}

/* The OOMs of a trial: all of them to standard output, and to the file until that is large. */
static void say_ooms(struct campaign *campaign, const struct judgement *judgement)
{
    struct output *output = &campaign->output;
    struct lines all = {.from = &judgement->all}, notable = {.from = &judgement->notable};
    keep_ooms(campaign, judgement, &all, &notable);
    lines_end(&all);
    lines_end(&notable);
    output_line_to_standard(output, &all.to);
    if (!results_are_full(campaign)) {
        output_line_to_results(output, &all.to);
    } else {
        output_line_to_results(output, &notable.to);
        campaign->at->state.end.verdicts_omitted += judgement->head.totals.justified;
    }
    writing_deinit(&all.to);
    writing_deinit(&notable.to);
}

/* --- our judges disagree ------------------------------------------------------------------------------ */

/* The first one is told on standard error: nothing else of this run counts. */
static void alarm_of(struct campaign *campaign, const struct report_finding *finding)
{
    campaign->at->state.is_disputed = true;
    json_dispute(&campaign->text, finding);
    say_line(campaign);
    say_kept(campaign, finding);
    if (campaign->is_alarmed)
        return;
    campaign->is_alarmed = true;
    (void)message_fail(EXIT_HARNESS, "the judges disagree: op %lu of %s trial %llu, seed %llu: %s; a fault of "
                       "hbmstress, kept in %s", (unsigned long)finding->verdict->op, finding->place.scenario,
                       (unsigned long long)finding->place.trial, (unsigned long long)finding->seed,
                       finding->verdict->reason, finding->repro == NULL ? "no file" : finding->repro);
}

static void say_dispute(struct campaign *campaign, const struct judgement *judgement)
{
    const struct kept_oom *oom = judgement_dispute(judgement);
    struct keeper_paths paths;
    if (oom == NULL)
        return;
    struct report_finding finding = finding_of_oom(campaign, judgement, oom);
    const struct kept kept = keeper_take_oom(&campaign->keeper, campaign->plan, judgement, oom);
    keeper_paths_init(&paths, &campaign->keeper, "disputes", kept.base);
    if (kept.result == KEEPER_FAILED) {
        take_failure(campaign);
    } else {
        finding.repro = paths.repro;
        finding.replay = paths.replay;
        finding.certificate = paths.certificate;
        finding.op_count = kept.op_count;
    }
    alarm_of(campaign, &finding);
}

/* --- findings ----------------------------------------------------------------------------------------- */

/* The finding that this verdict is one of, counted. */
static struct finding *count_finding(struct campaign *campaign, const struct judgement *judgement)
{
    const struct judgement_head *head = &judgement->head;
    struct finding *known = findings_find(&campaign->at->findings, head->signature);
    if (known == NULL) {
        struct finding first;
        memset(&first, 0, sizeof first);
        snprintf(first.signature, sizeof first.signature, "%s", head->signature);
        snprintf(first.rule, sizeof first.rule, "%s", judgement_rule(judgement));
        snprintf(first.reason, sizeof first.reason, "%s", head->first.reason);
        snprintf(first.message, sizeof first.message, "%s", head->message);
        first.part = head->task.part;
        first.trial = head->task.trial;
        first.seed = plan_trial_seed(&campaign->plan->parts[head->task.part], head->task.trial);
        known = findings_add(&campaign->at->findings, &first);
        campaign->at->parts[head->task.part].finding_count++;
    }
    known->count++;
    return known;
}

/* Takes in the files of a verdict.  A longer repro of the same is removed later: see end_finding. */
static void take_kept(struct campaign *campaign, const struct judgement *judgement, const struct kept *kept)
{
    struct finding *known = findings_find(&campaign->at->findings, judgement->head.signature);
    if (strcmp(known->base, kept->base) != 0)
        memcpy(campaign->superseded, known->base, sizeof campaign->superseded);
    campaign->at->state.certificate_count -= known->base[0] != '\0' && known->has_certificate;
    snprintf(known->base, sizeof known->base, "%s", kept->base);
    snprintf(known->reason, sizeof known->reason, "%s", judgement->head.first.reason);
    snprintf(known->message, sizeof known->message, "%s", judgement->head.message);
    known->op_count = kept->op_count;
    known->has_certificate = kept->has_certificate;
    campaign->at->state.certificate_count += kept->has_certificate;
}

/* kept NULL: the verdict is only counted. */
static void say_finding(struct campaign *campaign, const struct judgement *judgement, const struct kept *kept)
{
    const struct judgement_head *head = &judgement->head;
    const struct part *part = &campaign->plan->parts[head->task.part];
    struct report_finding finding = {.place = {part->name, head->task.trial}, .verdict = &head->first,
                                     .rule = judgement_rule(judgement), .message = head->message,
                                     .signature = head->signature,
                                     .seed = plan_trial_seed(part, head->task.trial)};
    struct keeper_paths paths;
    if (kept != NULL && kept->result == KEEPER_KEPT) {
        keeper_paths_init(&paths, &campaign->keeper, "repros", kept->base);
        finding.repro = paths.repro;
        finding.replay = paths.replay;
        finding.op_count = kept->op_count;
        finding.lane_count = kept->lane_count;
        finding.switch_count = kept->switch_count;
        finding.certificate = kept->has_certificate ? paths.certificate : NULL;
    }
    json_finding(&campaign->text, &finding);
    say_line(campaign);
    const bool is_first = findings_find(&campaign->at->findings, head->signature)->count == 1;
    if (finding.repro != NULL || is_first)
        say_kept(campaign, &finding);
    campaign->at->parts[head->task.part].findings_only_counted += finding.repro == NULL && !is_first;
}

/* The checker does not accept the certificate of a shrunk list. */
static void say_shrunk_dispute(struct campaign *campaign, const struct judgement *judgement, const struct kept *kept)
{
    const struct part *part = &campaign->plan->parts[judgement->head.task.part];
    struct keeper_paths paths;
    keeper_paths_init(&paths, &campaign->keeper, "disputes", kept->base);
    const struct report_finding finding = {
        .place = {part->name, judgement->head.task.trial}, .verdict = &kept->dispute, .message = judgement->head.message,
        .seed = plan_trial_seed(part, judgement->head.task.trial), .repro = paths.repro, .replay = paths.replay,
        .certificate = paths.certificate, .op_count = kept->op_count};
    campaign->at->parts[judgement->head.task.part].totals.disputed++;
    campaign->at->state.end.totals.disputed++;
    alarm_of(campaign, &finding);
}

/* What the process in the background works on: it has its own copy of all of it. */
static void shrink_pending(void *context, int file)
{
    const struct campaign *campaign = context;
    const struct judgement *judgement = &campaign->pending;
    const struct finding *known = findings_find(&campaign->at->findings, judgement->head.signature);
    struct kept kept;
    memset(&kept, 0, sizeof kept);
    kept = keeper_take(&campaign->keeper, campaign->plan, judgement, known->op_count);
    (void)file_write_all(file, &kept, sizeof kept);
}

/* --- where it stands ---------------------------------------------------------------------------------- */

/* False: it is not due, or not there. */
static bool save_checkpoint(struct campaign *campaign, bool is_due)
{
    struct checkpoint *at = campaign->at;
    const uint64_t now_ns = clock_now_ns();
    if (!is_due && now_ns - campaign->checkpoint_ns < CHECKPOINT_MS * UINT64_C(1000000))
        return false;
    campaign->checkpoint_ns = now_ns;
    output_sync(&campaign->output);
    struct trials_progress *progress = calloc(campaign->plan->count, sizeof *progress);
    CHECK(progress != NULL);
    at->state.mark = trials_save(campaign->trials, progress);
    for (size_t i = 0; i < campaign->plan->count; i++)
        at->parts[i].progress = progress[i];
    free(progress);
    at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    at->state.results_bytes = campaign->output.results_bytes;
    if (campaign->is_failed || campaign->output.is_failed || campaign->is_cut)
        return false; /* the state from before is still true */
    if (checkpoint_save(at, campaign->description, campaign->keeper.directory))
        return true;
    campaign->is_failed =
        message_fail(EXIT_HARNESS, "%s/checkpoint: %s", campaign->keeper.directory, strerror(errno)) != EXIT_KEPT;
    return false;
}

/* --- trials --------------------------------------------------------------------------------------------- */

/* Noise makes some tag grow in some trial: a scenario's tag is named when most of the trials that
 * were long enough for a look end with one that grows; then the one that grew most. */
static void part_take_growth(struct part_state *part, const struct judgement_head *head)
{
    part->look_count += head->looked_op_count > 0;
    if (!head->is_growing)
        return;
    part->growing_count++;
    uint64_t most = part->growth.last_bytes - part->growth.first_bytes;
    if (head->growth.last_bytes - head->growth.first_bytes <= most)
        return;
    part->growth = head->growth;
    snprintf(part->growing_tag, sizeof part->growing_tag, "%s", head->growing_tag);
}

static void say_trial(struct campaign *campaign, const struct judgement *judgement)
{
    const struct judgement_head *head = &judgement->head;
    const struct part *part = &campaign->plan->parts[head->task.part];
    const struct report_trial trial = {.place = {part->name, head->task.trial},
                                       .seed = plan_trial_seed(part, head->task.trial), .totals = &head->totals,
                                       .signature = head->signature, .digest = head->digest};
    json_trial(&campaign->text, &trial);
    output_line_to_standard(&campaign->output, &campaign->text);
    if (!results_are_full(campaign))
        output_line_to_results(&campaign->output, &campaign->text);
    else
        campaign->at->state.end.trials_omitted++;
    writing_clear(&campaign->text);
}

static void count_trial(struct campaign *campaign, const struct judgement_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    struct report_end *end = &campaign->at->state.end;
    part->trials++;
    part->elapsed_ns += head->elapsed_ns;
    run_totals_add(&part->totals, &head->totals);
    part_take_growth(part, head);
    end->trials++;
    end->certificates_checked += head->certificates_checked;
    run_totals_add(&end->totals, &head->totals);
}

static void take_refusal(struct campaign *campaign, const struct judgement_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    snprintf(part->note, sizeof part->note, "ended at trial %llu: the target refuses its setup: %s",
             (unsigned long long)head->task.trial, head->reason);
}

/* The canary's verdicts are what is to be seen, not what is wrong. */
static void take_canary(struct campaign *campaign, const struct judgement *judgement)
{
    const struct part *canary = canary_of(campaign->plan);
    const char *rule = judgement_rule(judgement);
    campaign->at->state.canary_trials++;
    campaign->at->state.is_canary_reported |= rule != NULL && strcmp(rule, canary->target->breaks) == 0;
    if (campaign->at->state.is_canary_reported || campaign->at->state.canary_trials >= CANARY_TRIAL_COUNT_MAX)
        trials_finish(campaign->trials, judgement->head.task.part);
}

static bool canary_is_settled(const struct campaign *campaign)
{
    return canary_of(campaign->plan) == NULL || campaign->at->state.is_canary_reported ||
           campaign->at->state.canary_trials >= CANARY_TRIAL_COUNT_MAX;
}

/* Begins to shrink the finding of `pending`.  False: nothing is to be shrunk, or no process could be had. */
static bool begin_shrinking(struct campaign *campaign)
{
    const struct finding *known = findings_find(&campaign->at->findings, campaign->pending.head.signature);
    if (!campaign->pending.head.has_list || known->count > FINDING_SHRUNK_COUNT_MAX)
        return false;
    if (background_start(&campaign->shrinking, shrink_pending, campaign))
        return true;
    campaign->is_failed = message_fail(EXIT_HARNESS, "no process could be had: %s", strerror(errno)) != EXIT_KEPT;
    return false;
}

/* The rest of a trial with a finding; kept NULL: it was only counted. */
static void end_finding(struct campaign *campaign, const struct kept *kept)
{
    const struct judgement *judgement = &campaign->pending;
    if (kept != NULL && kept->result == KEEPER_DISPUTED) {
        say_shrunk_dispute(campaign, judgement, kept);
    } else {
        if (kept != NULL && kept->result == KEEPER_FAILED)
            take_failure(campaign);
        if (kept != NULL && kept->result == KEEPER_KEPT)
            take_kept(campaign, judgement, kept);
        say_finding(campaign, judgement, kept);
    }
    say_trial(campaign, judgement);
    judgement_deinit(&campaign->pending);
    /* The old files go when the state on the disk names the new ones. */
    if (save_checkpoint(campaign, true) && campaign->superseded[0] != '\0')
        keeper_forget(&campaign->keeper, campaign->superseded);
    campaign->superseded[0] = '\0';
}

/* Counts one trial; all of it in the order of trials.  False: its finding is being shrunk. */
static bool take(struct campaign *campaign, struct judgement *judgement)
{
    const struct judgement_head *head = &judgement->head;
    if (head->end == JUDGEMENT_FAILED) {
        campaign->is_failed = failure_tell(campaign->plan, judgement, campaign->keeper.directory) != EXIT_KEPT;
        judgement_deinit(judgement);
        return true;
    }
    if (canary_of(campaign->plan) != NULL && head->task.part == campaign->plan->count - 1) {
        say_dispute(campaign, judgement);
        take_canary(campaign, judgement);
        judgement_deinit(judgement);
        return true;
    }
    if (head->end == JUDGEMENT_REFUSED) {
        take_refusal(campaign, head);
        judgement_deinit(judgement);
        return true;
    }
    count_trial(campaign, head);
    say_ooms(campaign, judgement);
    say_dispute(campaign, judgement);
    if (judgement_rule(judgement) == NULL || campaign->is_failed || campaign->output.is_failed) {
        say_trial(campaign, judgement);
        judgement_deinit(judgement);
        return true;
    }
    campaign->pending = *judgement;
    (void)count_finding(campaign, judgement);
    if (begin_shrinking(campaign))
        return false;
    end_finding(campaign, NULL);
    return true;
}

/* Looks for the end of what is shrunk in the background.  Ctrl-C ends it and keeps the whole list. */
static void look_after_shrinking(struct campaign *campaign)
{
    struct kept kept;
    bool is_good = false;
    if (interrupt_asked()) {
        background_stop(&campaign->shrinking);
        campaign->is_cut = true;
    } else if (!background_is_done(&campaign->shrinking, workers_have_busy(campaign->workers) ? 0 : WAIT_SHRINKING_MS,
                                   &is_good)) {
        return;
    }
    const bool is_answered = is_good && campaign->shrinking.answer.length == sizeof kept;
    if (is_answered)
        memcpy(&kept, campaign->shrinking.answer.bytes, sizeof kept);
    else
        kept = keeper_take_whole(&campaign->keeper, campaign->plan, &campaign->pending,
                                 findings_find(&campaign->at->findings, campaign->pending.head.signature)->op_count);
    end_finding(campaign, &kept);
    if (!is_answered && !campaign->is_cut)
        campaign->is_failed = message_fail(EXIT_HARNESS, "the process that shrank a finding died: a fault of hbmstress, "
                                           "or it was killed") != EXIT_KEPT;
}

/* --- the loop ------------------------------------------------------------------------------------------- */

static bool must_stop(struct campaign *campaign)
{
    if (interrupt_asked())
        campaign->at->state.end.is_interrupted = true;
    if (campaign->at->state.is_disputed || campaign->at->state.end.is_interrupted)
        return true;
    return campaign_elapsed_ns(campaign) >= campaign->plan->duration_ns && canary_is_settled(campaign);
}

static bool give_tasks(struct campaign *campaign)
{
    struct task task;
    const bool is_shrinking = campaign->shrinking.process != 0;
    trials_set_window(campaign->trials, is_shrinking ? TRIALS_AHEAD_SHRINKING
                                                     : (uint64_t)campaign->worker_count * TRIALS_AHEAD_PER_WORKER);
    while (workers_have_idle(campaign->workers) && trials_next(campaign->trials, &task)) {
        if (workers_start(campaign->workers, &task))
            continue;
        campaign->is_failed =
            message_fail(EXIT_HARNESS, "a worker could not be started: %s", strerror(errno)) != EXIT_KEPT;
        return false;
    }
    return true;
}

static void take_answer(struct campaign *campaign)
{
    struct judgement judgement;
    judgement_init(&judgement);
    const int wait_ms = campaign->shrinking.process != 0 ? WAIT_SHRINKING_MS : WAIT_MS;
    enum workers_result result = workers_take(campaign->workers, wait_ms, &judgement);
    if (result == WORKERS_READY)
        trials_put(campaign->trials, &judgement);
    judgement_deinit(&judgement);
    if (result == WORKERS_FAILED)
        campaign->is_failed = message_fail(EXIT_HARNESS, "a worker's answer makes no sense") != EXIT_KEPT;
}

/* One turn: tasks out, one judgement in, whatever counts by now.  False: all is done. */
static bool turn(struct campaign *campaign)
{
    struct judgement judgement;
    if (must_stop(campaign))
        trials_stop(campaign->trials);
    if (!give_tasks(campaign))
        return false;
    const bool is_busy = workers_have_busy(campaign->workers);
    if (!is_busy && campaign->shrinking.process == 0)
        return false;
    if (is_busy)
        take_answer(campaign);
    if (campaign->shrinking.process != 0)
        look_after_shrinking(campaign);
    while (campaign->shrinking.process == 0 && trials_take(campaign->trials, &judgement))
        (void)take(campaign, &judgement);
    output_flush(&campaign->output);
    if (campaign->shrinking.process == 0)
        (void)save_checkpoint(campaign, false);
    campaign->at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    campaign_view_show(&campaign->view, campaign->at);
    return !campaign->is_failed && !campaign->output.is_failed && !campaign->output.is_pipe_closed;
}

/* --- the end -------------------------------------------------------------------------------------------- */

static enum exit_code campaign_exit_code(struct campaign *campaign)
{
    const struct report_end *end = &campaign->at->state.end;
    if (campaign->is_failed || campaign->output.is_failed)
        return EXIT_HARNESS;
    if (campaign->at->state.is_finished && !campaign->at->state.is_canary_reported && campaign->plan->has_canary)
        return EXIT_HARNESS;
    if (campaign->at->state.is_finished && campaign_view_missed_probes(&campaign->view, campaign->at) != NULL)
        return EXIT_HARNESS;
    if (campaign->at->state.is_disputed)
        return EXIT_HARNESS;
    const enum exit_code code = totals_exit_code(&end->totals);
    /* A job that was cut short has not shown what it was to show. */
    return code == EXIT_KEPT && campaign->plan->has_canary && !campaign->at->state.is_finished ? EXIT_HARNESS : code;
}

static void say_what_is_missing(struct campaign *campaign)
{
    const char *missed = campaign_view_missed_probes(&campaign->view, campaign->at);
    if (!campaign->at->state.is_finished)
        return;
    if (campaign->plan->has_canary && !campaign->at->state.is_canary_reported)
        (void)message_fail(EXIT_HARNESS, "the canary %s was run %llu times and its defect was not reported: what this "
                           "campaign did not find means nothing", canary_of(campaign->plan)->setup.target,
                           (unsigned long long)campaign->at->state.canary_trials);
    if (missed != NULL)
        (void)message_fail(EXIT_HARNESS, "probes that the job requires were never hit: %s", missed);
}

static void say_end(struct campaign *campaign)
{
    struct campaign_state *state = &campaign->at->state;
    state->is_finished = !state->end.is_interrupted && !campaign->is_failed && !campaign->output.is_failed &&
                         !campaign->output.is_pipe_closed;
    (void)save_checkpoint(campaign, true);
    state->end.seed = campaign->plan->setup.seed;
    state->end.exit_code = (int)campaign_exit_code(campaign);
    campaign_view_clear(&campaign->view);
    say_what_is_missing(campaign);
    campaign_view_lines(&campaign->view, campaign->at, &campaign->text);
    say_line(campaign);
    campaign_view_tables(&campaign->view, campaign->at, &campaign->text);
    output_text(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
    output_flush(&campaign->output);
    if (!campaign->is_failed && !campaign->output.is_failed)
        campaign->is_failed = !campaign_view_write(&campaign->view, campaign->at);
}

static void say_start(struct campaign *campaign, bool goes_on)
{
    const struct report_start *start = campaign_view_start(&campaign->view);
    json_start(&campaign->text, start);
    if (goes_on)
        output_line_to_standard(&campaign->output, &campaign->text);
    else
        output_line(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
    terminal_start(&campaign->text, start);
    say_text(campaign);
    output_flush(&campaign->output);
}

static enum exit_code work(struct campaign *campaign, bool goes_on)
{
    campaign->worker_count = workers_wanted(campaign->arguments);
    say_start(campaign, goes_on);
    if (!campaign->arguments->json)
        campaign_view_watch(&campaign->view);
    campaign->start_ns = clock_now_ns();
    death_set_op_timeout(campaign->arguments->op_timeout_ns);
    campaign->workers =
        workers_create(campaign->plan, campaign->worker_count, campaign->arguments->trial_timeout_ns);
    if (campaign->workers == NULL)
        return message_fail(EXIT_HARNESS, "the workers could not be started: %s", strerror(errno));
    (void)save_checkpoint(campaign, true);
    while (turn(campaign))
        continue;
    if (campaign->shrinking.process != 0) { /* a write failed meanwhile, or nobody reads any more */
        background_stop(&campaign->shrinking);
        judgement_deinit(&campaign->pending);
        campaign->is_cut = true;
    }
    workers_destroy(campaign->workers);
    say_end(campaign);
    return EXIT_KEPT;
}

static enum exit_code run(struct campaign *campaign, bool goes_on)
{
    const struct arguments *arguments = campaign->arguments;
    struct checkpoint *at = campaign->at;
    const char *directory = campaign->keeper.directory;
    enum exit_code code = output_open_results(&campaign->output, directory, at->state.results_bytes);
    if (code == EXIT_KEPT && !goes_on && !campaign_description_save(campaign->description, directory))
        code = message_fail(EXIT_HARNESS, "%s/campaign: %s", directory, strerror(errno));
    if (code == EXIT_KEPT) {
        campaign->trials = trials_create(campaign->plan, arguments->replay_sample, TRIALS_AHEAD_PER_WORKER);
        if (goes_on) {
            struct trials_progress *progress = calloc(campaign->plan->count, sizeof *progress);
            CHECK(progress != NULL);
            for (size_t i = 0; i < campaign->plan->count; i++)
                progress[i] = at->parts[i].progress;
            trials_restore(campaign->trials, &at->state.mark, progress);
            free(progress);
        }
        code = work(campaign, goes_on);
        trials_destroy(campaign->trials);
    }
    output_close(&campaign->output);
    if (code == EXIT_KEPT)
        code = campaign_exit_code(campaign);
    campaign_view_deinit(&campaign->view);
    writing_deinit(&campaign->text);
    writing_deinit(&campaign->shrinking.answer);
    return code;
}

static void campaign_init(struct campaign *campaign, const struct arguments *arguments, const struct plan *plan,
                          const char *directory)
{
    *campaign = (struct campaign){.arguments = arguments, .plan = plan,
                                  .keeper = {directory, arguments->shrink_budget}};
    output_init(&campaign->output, arguments->json);
}

enum exit_code campaign_run(const struct arguments *arguments, const struct plan *plan)
{
    struct campaign campaign;
    struct campaign_description description;
    struct checkpoint checkpoint = {.parts = calloc(plan->count, sizeof *checkpoint.parts)};
    CHECK(checkpoint.parts != NULL);
    campaign_init(&campaign, arguments, plan, arguments->out == NULL ? "out" : arguments->out);
    describe(arguments, plan, &description);
    campaign.description = &description;
    campaign.at = &checkpoint;
    campaign_view_init(&campaign.view, &description, campaign.keeper.directory);
    enum exit_code code = run(&campaign, false);
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

enum exit_code campaign_go_on(const struct arguments *arguments, const struct plan *plan, const char *directory,
                              struct campaign_description *description, struct checkpoint *checkpoint)
{
    struct campaign campaign;
    campaign_init(&campaign, arguments, plan, directory);
    campaign.description = description;
    campaign.at = checkpoint;
    campaign.elapsed_before_ns = checkpoint->state.end.elapsed_ns;
    checkpoint->state.end.is_interrupted = false;
    campaign_view_init(&campaign.view, description, directory);
    enum exit_code code = run(&campaign, true);
    checkpoint_deinit(checkpoint);
    campaign_description_deinit(description);
    return code;
}
