/* run: scenarios against a target, trial by trial, in as many processes as asked for. */
#include "cli/clock.h"
#include "cli/interrupt.h"
#include "cli/keeper.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "cli/trials.h"
#include "cli/workers.h"
#include "harness/check.h"
#include "reports/json_lines.h"
#include "reports/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long to wait for a worker before looking at the clock again, and how often progress shows. */
enum { WAIT_MS = 100, PROGRESS_MS = 250, WORKER_COUNT_DEFAULT_MAX = 64, TRIALS_AHEAD_PER_WORKER = 8 };

/* The growing tags of a part's trials. */
struct growing {
    uint64_t look_count, trial_count; /* long enough; ended with one */
    struct growth growth;             /* the largest */
    char tag[SETUP_NAME_BYTES];
};

struct running {
    const struct arguments *arguments;
    const struct plan *plan;
    struct output output;
    struct keeper keeper;
    struct trials *trials;
    struct workers *workers;
    struct report_result *results; /* one per part */
    struct growing *growing;       /* the same */
    struct report_end end;
    uint64_t start_ns, progress_ns;
    bool shows_progress;
    bool is_failed;   /* a message was given */
    bool is_disputed; /* our judges disagree: no more trials */
    bool is_alarmed;  /* and that was said */
    struct writing text;
};

static void running_progress(struct running *running)
{
    uint64_t now_ns = clock_now_ns();
    if (!running->shows_progress || now_ns - running->progress_ns < PROGRESS_MS * UINT64_C(1000000))
        return;
    running->progress_ns = now_ns;
    const struct run_totals *totals = &running->end.totals;
    fprintf(stderr, "\r\033[K%llu s: %llu trials, %llu ops, %llu OOMs, %llu premature, %llu unknown, %llu broken",
            (unsigned long long)((now_ns - running->start_ns) / 1000000000), (unsigned long long)running->end.trials,
            (unsigned long long)totals->ops, (unsigned long long)totals->ooms, (unsigned long long)totals->premature,
            (unsigned long long)totals->unknown, (unsigned long long)totals->broken);
    (void)fflush(stderr);
}

static void running_clear_progress(const struct running *running)
{
    if (running->shows_progress)
        fprintf(stderr, "\r\033[K");
}

static void running_say_start(struct running *running)
{
    const struct plan *plan = running->plan;
    struct report_part *parts = calloc(plan->count, sizeof *parts);
    CHECK(parts != NULL);
    for (size_t i = 0; i < plan->count; i++)
        parts[i] = (struct report_part){plan->parts[i].name, plan->parts[i].scenario->name, &plan->parts[i].setup,
                                        plan->parts[i].op_count_max};
    struct report_start start = {.subcommand = "run", .setup = &plan->setup, .duration_ns = plan->duration_ns,
                                 .replay_sample = running->arguments->replay_sample, .parts = parts,
                                 .part_count = plan->count};
    writing_clear(&running->text);
    json_start(&running->text, &start);
    output_line(&running->output, &running->text);
    writing_clear(&running->text);
    terminal_start(&running->text, &start);
    output_text(&running->output, &running->text);
    output_flush(&running->output);
    free(parts);
}

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

static void running_say_kept(struct running *running, const struct report_finding *finding)
{
    running_clear_progress(running);
    writing_clear(&running->text);
    terminal_finding(&running->text, finding);
    output_text(&running->output, &running->text);
}

/* Keeps what is to be kept of the OOMs that break no promise. */
static void running_keep_ooms(struct running *running, const struct judgement *judgement, struct lines *all,
                              struct lines *notable)
{
    struct report_finding finding;
    for (size_t i = 0; i < judgement->head.kept_count; i++) {
        const struct kept_oom *oom = &judgement->head.kept[i];
        if (oom->verdict.kind == VERDICT_PREMATURE || oom->verdict.kind == VERDICT_DISPUTED)
            continue;
        if (running->is_failed || running->output.is_failed)
            return; /* one line tells of a full disk */
        enum keeper_result kept = keeper_take_oom(&running->keeper, running->plan, judgement, oom, &finding);
        if (kept == KEEPER_FAILED)
            running->is_failed = running->output.is_silent = true;
        if (kept != KEEPER_KEPT)
            continue;
        lines_add_paths(all, oom->all_end, &finding);
        lines_add_paths(notable, oom->notable_end, &finding);
        if (oom->verdict.kind == VERDICT_UNKNOWN)
            running_say_kept(running, &finding);
    }
}

/* The OOMs of a trial: all of them to standard output, and to the file until that is large. */
static void running_say_verdicts(struct running *running, const struct judgement *judgement)
{
    struct output *output = &running->output;
    struct lines all = {.from = &judgement->all}, notable = {.from = &judgement->notable};
    running_keep_ooms(running, judgement, &all, &notable);
    lines_end(&all);
    lines_end(&notable);
    output_line_to_standard(output, &all.to);
    if (output->results_bytes < running->arguments->results_limit_bytes)
        output_line_to_results(output, &all.to);
    else {
        output_line_to_results(output, &notable.to);
        running->end.verdicts_omitted += judgement->head.totals.justified;
    }
    writing_deinit(&all.to);
    writing_deinit(&notable.to);
}

/* The first one is told on standard error: nothing else of this run counts. */
static void running_alarm(struct running *running, const struct report_finding *finding)
{
    running->is_disputed = true;
    writing_clear(&running->text);
    json_dispute(&running->text, finding);
    output_line(&running->output, &running->text);
    running_say_kept(running, finding);
    if (running->is_alarmed)
        return;
    running->is_alarmed = true;
    (void)message_fail(EXIT_HARNESS, "the judges disagree: op %lu of %s trial %llu, seed %llu: %s; a fault of "
                       "hbmstress, kept in %s", (unsigned long)finding->verdict->op, finding->place.scenario,
                       (unsigned long long)finding->place.trial, (unsigned long long)finding->seed,
                       finding->verdict->reason, finding->repro == NULL ? "no file" : finding->repro);
}

static void running_say_dispute(struct running *running, const struct judgement *judgement)
{
    const struct kept_oom *oom = judgement_dispute(judgement);
    struct report_finding finding;
    if (oom == NULL)
        return;
    if (keeper_take_oom(&running->keeper, running->plan, judgement, oom, &finding) == KEEPER_FAILED) {
        running->is_failed = running->output.is_silent = true;
        finding.repro = NULL;
    }
    running_alarm(running, &finding);
}

static void running_say_finding(struct running *running, const struct judgement *judgement)
{
    const char *rule = judgement_rule(judgement);
    if (rule == NULL || running->is_failed || running->output.is_failed)
        return; /* one line tells of a full disk */
    struct report_finding finding = {.place = {running->plan->parts[judgement->head.task.part].name, judgement->head.task.trial},
                                     .verdict = &judgement->head.first, .rule = rule, .message = judgement->head.message};
    enum keeper_result kept = keeper_take(&running->keeper, running->plan, judgement, &finding);
    if (kept == KEEPER_DISPUTED) {
        running->results[judgement->head.task.part].totals.disputed++;
        running->end.totals.disputed++;
        running_alarm(running, &finding);
        return;
    }
    if (kept == KEEPER_FAILED)
        running->is_failed = running->output.is_silent = true;
    running->results[judgement->head.task.part].findings_only_counted += kept == KEEPER_COUNTED;
    writing_clear(&running->text);
    json_finding(&running->text, &finding);
    output_line(&running->output, &running->text);
    if (kept != KEEPER_COUNTED)
        running_say_kept(running, &finding);
}

/* Noise makes some tag grow in some trial: a scenario's tag is named when most of the trials that
 * were long enough for a look end with one that grows; then the one that grew most. */
static void part_take_growth(struct growing *growing, const struct judgement_head *head)
{
    growing->look_count += head->looked_op_count > 0;
    if (!head->is_growing)
        return;
    growing->trial_count++;
    uint64_t most = growing->growth.last_bytes - growing->growth.first_bytes;
    if (head->growth.last_bytes - head->growth.first_bytes <= most)
        return;
    growing->growth = head->growth;
    snprintf(growing->tag, sizeof growing->tag, "%s", head->growing_tag);
}

/* Counts one trial; all of it in the order of trials. */
static void running_take(struct running *running, const struct judgement *judgement)
{
    const struct judgement_head *head = &judgement->head;
    struct report_result *result = &running->results[head->task.part];
    if (head->end == JUDGEMENT_REFUSED) {
        char *note = NULL;
        CHECK(asprintf(&note, "ended at trial %llu: the target refuses its setup: %s",
                       (unsigned long long)head->task.trial, head->reason) >= 0);
        free((char *)result->note);
        result->note = note;
        return;
    }
    result->trials++;
    result->elapsed_ns += head->elapsed_ns;
    run_totals_add(&result->totals, &head->totals);
    running->end.trials++;
    run_totals_add(&running->end.totals, &head->totals);
    running->end.certificates_checked += head->certificates_checked;
    part_take_growth(&running->growing[head->task.part], head);
    running_say_verdicts(running, judgement);
    running_say_dispute(running, judgement);
    running_say_finding(running, judgement);
}

static bool running_must_stop(struct running *running)
{
    if (interrupt_asked())
        running->end.is_interrupted = true;
    return running->is_disputed || running->end.is_interrupted ||
           clock_now_ns() - running->start_ns >= running->plan->duration_ns;
}

/* One turn: tasks out, one judgement in, whatever counts by now.  False: all is done. */
static bool running_turn(struct running *running)
{
    struct task task;
    if (running_must_stop(running))
        trials_stop(running->trials);
    while (workers_have_idle(running->workers) && trials_next(running->trials, &task)) {
        if (!workers_start(running->workers, &task)) {
            running->is_failed = message_fail(EXIT_HARNESS, "a worker could not be started: %s", strerror(errno)) != EXIT_KEPT;
            return false;
        }
    }
    if (!workers_have_busy(running->workers))
        return false;
    struct judgement judgement;
    judgement_init(&judgement);
    enum workers_result result = workers_take(running->workers, WAIT_MS, &judgement);
    if (result == WORKERS_READY) {
        running->is_disputed |= judgement_dispute(&judgement) != NULL;
        trials_put(running->trials, &judgement);
    }
    judgement_deinit(&judgement);
    if (result == WORKERS_FAILED)
        running->is_failed = message_fail(EXIT_HARNESS, "a worker's answer makes no sense") != EXIT_KEPT;
    while (trials_take(running->trials, &judgement)) {
        running_take(running, &judgement);
        judgement_deinit(&judgement);
    }
    output_flush(&running->output);
    running_progress(running);
    return !running->is_failed && !running->output.is_failed && !running->output.is_pipe_closed;
}

static enum exit_code running_exit_code(const struct running *running)
{
    if (running->is_failed || running->output.is_failed)
        return EXIT_HARNESS;
    return totals_exit_code(&running->end.totals);
}

static void running_say_end(struct running *running)
{
    running->end.elapsed_ns = clock_now_ns() - running->start_ns;
    running->end.seed = running->plan->setup.seed;
    running->end.exit_code = (int)running_exit_code(running);
    running_clear_progress(running);
    for (size_t i = 0; i < running->plan->count; i++) {
        const struct growing *growing = &running->growing[i];
        if (growing->trial_count * 2 > growing->look_count) {
            running->results[i].growing_tag = growing->tag;
            running->results[i].growth = growing->growth;
        }
        writing_clear(&running->text);
        json_result(&running->text, &running->results[i]);
        output_line(&running->output, &running->text);
    }
    writing_clear(&running->text);
    json_end(&running->text, &running->end);
    output_line(&running->output, &running->text);
    writing_clear(&running->text);
    terminal_results(&running->text, running->results, running->plan->count);
    if (running->end.verdicts_omitted > 0)
        writing_append_format(&running->text, "%s: %llu justified verdicts are left out beyond --results-limit\n",
                              running->output.final_path, (unsigned long long)running->end.verdicts_omitted);
    if (running->keeper.certificate_count > 0)
        writing_append_format(&running->text,
                              "%s/certificates: %llu for hbmstress check; %llu were checked meanwhile\n",
                              running->keeper.directory, (unsigned long long)running->keeper.certificate_count,
                              (unsigned long long)running->end.certificates_checked);
    terminal_end(&running->text, &running->end);
    output_text(&running->output, &running->text);
}

static uint32_t worker_count(const struct arguments *arguments)
{
    if (arguments->worker_count != 0)
        return (uint32_t)arguments->worker_count;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1)
        return 1;
    return processors > WORKER_COUNT_DEFAULT_MAX ? WORKER_COUNT_DEFAULT_MAX : (uint32_t)processors;
}

static enum exit_code running_work(struct running *running)
{
    uint32_t count = worker_count(running->arguments);
    running_say_start(running);
    running->start_ns = clock_now_ns();
    running->workers = workers_create(running->plan, count, running->arguments->trial_timeout_ns);
    if (running->workers == NULL) {
        running->output.is_failed = true; /* nothing worth a final name was written */
        return message_fail(EXIT_HARNESS, "the workers could not be started: %s", strerror(errno));
    }
    running->trials = trials_create(running->plan, running->arguments->replay_sample,
                                    (uint64_t)count * TRIALS_AHEAD_PER_WORKER);
    while (running_turn(running))
        continue;
    workers_destroy(running->workers);
    trials_destroy(running->trials);
    running_say_end(running);
    return EXIT_KEPT;
}

static enum exit_code running_open(struct running *running, const struct arguments *arguments, const struct plan *plan)
{
    const char *directory = arguments->out == NULL ? "out" : arguments->out;
    *running = (struct running){.arguments = arguments, .plan = plan};
    output_init(&running->output, arguments->json);
    keeper_init(&running->keeper, directory, arguments->shrink_budget);
    running->shows_progress = !arguments->json && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    running->results = calloc(plan->count, sizeof *running->results);
    running->growing = calloc(plan->count, sizeof *running->growing);
    CHECK(running->results != NULL && running->growing != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        running->results[i].name = plan->parts[i].name;
        running->results[i].note = plan->parts[i].note[0] == '\0' ? NULL : strdup(plan->parts[i].note);
    }
    return output_open_results(&running->output, directory);
}

static void running_close(struct running *running)
{
    for (size_t i = 0; i < running->plan->count; i++) {
        free((char *)running->results[i].note);
    }
    free(running->results);
    free(running->growing);
    keeper_deinit(&running->keeper);
    writing_deinit(&running->text);
}

static bool plan_has_work(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->parts[i].note[0] == '\0')
            return true;
    return false;
}

static enum exit_code run_plan(const struct arguments *arguments, const struct plan *plan)
{
    if (!plan_has_work(plan))
        return message_fail(EXIT_USAGE, "nothing to run: %s %s", plan->parts[0].name, plan->parts[0].note);
    struct running running;
    enum exit_code code = running_open(&running, arguments, plan);
    if (code == EXIT_KEPT) {
        code = running_work(&running);
        output_close(&running.output);
        if (code == EXIT_KEPT)
            code = running_exit_code(&running);
    }
    running_close(&running);
    return code;
}

static enum exit_code run_subcommand(const struct arguments *arguments)
{
    struct plan plan;
    enum exit_code code = plan_make(arguments, arguments->has_seed ? arguments->seed : clock_seed(), &plan);
    if (code == EXIT_KEPT)
        code = run_plan(arguments, &plan);
    plan_deinit(&plan);
    return code;
}

static const char *const options[] = {"--job", "--target", "--target-option", "--chip", "--capacity", "--hosts", "--seed",
                                      "--ops", "--time", "--workers", "--out", "--json", "--replay-sample",
                                      "--shrink-budget", "--results-limit", "--trial-timeout", "--regret-max", NULL};

const struct subcommand subcommand_run = {
    .name = "run",
    .summary = "drive a target through scenarios and judge every out-of-memory",
    .usage = "[SCENARIO ...] [options]",
    .description = "Runs the named scenarios, or all of them, trial by trial and round robin, against one target.\n"
                   "Each out-of-memory is judged; a broken promise is shrunk and kept in DIR/repros, the proofs of\n"
                   "premature and unknown out-of-memories and of some justified ones in DIR/certificates.\n"
                   "When the judges of hbmstress itself disagree the run ends with exit 4 and DIR/disputes.\n"
                   "The same seed and options give the same results with any number of workers.\n\n"
                   "Example: hbmstress run fragmentation_storm --target first_fit --capacity 64M --seed 1\n"
                   "Example: hbmstress run --job scenarios/jobs/main.ini --time 60s",
    .options = options,
    .word_count_max = SIZE_MAX,
    .word_name = "SCENARIO",
    .run = run_subcommand,
};
