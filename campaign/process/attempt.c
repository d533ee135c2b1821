#include "campaign/process/attempt.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/base/rest.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/again.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"
#include "targets/adapters/adapters.h"

#include <errno.h>
#include <string.h>

/* The context of the child. */
struct attempt_work {
    const struct attempt *attempt;
    const struct op_list *ops;
    bool is_certificate_wanted;
};
/* The answer begins with this byte when the lists before it have run. */
enum { MARK = '+' };
/* The head of the rest; the certificate follows. */
struct attempt_answer {
    struct verdict first;
    char signature[SIGNATURE_BYTES];
};

/* The certificate of the finding that counts, as far as it is known by now. */
struct certifying {
    const char *signature;
    struct writing certificate;
    bool is_final; /* it is that one's */
};

static void take_certificate(void *context, const struct run *run, const struct verdict *verdict)
{
    struct certifying *certifying = context;
    char signature[SIGNATURE_BYTES];
    if ((verdict->kind != VERDICT_PREMATURE && verdict->kind != VERDICT_DISPUTED) ||
        certifying->is_final) {
        return;
    }
    signature_print(verdict, run_ops(run), signature);
    certifying->is_final = certifying->signature == NULL ||
                           signature_stands_for(signature, certifying->signature);
    writing_clear(&certifying->certificate);
    run_print_certificate(run, &certifying->certificate);
}

/* NULL: the trial broke nothing. */
static const struct run_finding *find_shown(const struct attempt *attempt,
                                            const struct trial *trial)
{
    const struct run_finding *shown = attempt->signature == NULL
                                          ? NULL
                                          : run_findings_find(&trial->findings, attempt->signature);
    return shown == NULL ? run_findings_gravest(&trial->findings) : shown;
}

void earlier_list_run(const struct earlier_list *list)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    if (trial_repeat(list->target, &list->setup, &list->ops, NULL, &trial, reason)) {
        trial_deinit(&trial);
    }
}

static bool seeks_difference(const struct attempt *attempt)
{
    return attempt->before_count > 0 && attempt->signature != NULL &&
           strstr(attempt->signature, FRESH_MECHANISM) != NULL;
}

/* Returns true if a fault shows only when the list is run again, here or in a fresh instance. */
static bool breaks_again(const struct attempt *attempt, struct fresh *fresh,
                         const struct trial *trial, struct verdict *again)
{
    if (trial_is_ended(trial)) {
        return false;
    }
    if (fresh != NULL) {
        return fresh_breaks(fresh, attempt->target, trial, again);
    }
    return attempt->is_run_again && (again_breaks(attempt->target, trial, again) ||
                                     related_breaks(attempt->target, trial, again));
}

/* The lists before it.  False: nobody listens any more. */
static bool run_before(const struct attempt *attempt, int file)
{
    const char mark = MARK;
    for (size_t i = 0; i < attempt->before_count; i++) {
        earlier_list_run(attempt->before[i]);
    }
    return file_write_all(file, &mark, sizeof mark);
}

/* Answers with no more than the mark when the target refuses. */
static void run_and_answer(void *context, int file)
{
    const struct attempt_work *work = context;
    struct fresh *fresh = seeks_difference(work->attempt) ? fresh_create() : NULL;
    struct trial trial;
    struct attempt_answer answer;
    struct certifying certifying = {.signature = work->attempt->signature};
    char reason[RUN_REASON_BYTES];
    writing_init(&certifying.certificate);
    const struct run_listener listener = {&certifying, take_certificate};
    if (!run_before(work->attempt, file) ||
        !trial_replay(work->attempt->target, work->attempt->setup, work->ops,
                      work->is_certificate_wanted ? &listener : NULL, &trial, reason)) {
        return;
    }
    struct verdict again;
    if (breaks_again(work->attempt, fresh, &trial, &again)) {
        run_findings_set(&trial.findings, &again, &trial.ops);
    }
    const struct run_finding *shown = find_shown(work->attempt, &trial);
    memset(&answer, 0, sizeof answer);
    if (shown != NULL) {
        answer.first = shown->verdict;
        memcpy(answer.signature, shown->signature, sizeof answer.signature);
    }
    if (answer.first.kind != VERDICT_PREMATURE && answer.first.kind != VERDICT_DISPUTED) {
        writing_clear(&certifying.certificate);
    }
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, certifying.certificate.bytes, certifying.certificate.length));
    trial_deinit(&trial);
    writing_deinit(&certifying.certificate);
    fresh_destroy(fresh);
}

static void take_answer(const struct writing *bytes, struct writing *certificate,
                        struct attempt_result *result)
{
    struct rest rest = rest_of(bytes);
    struct attempt_answer answer;
    char mark;
    if (!rest_take(&rest, &mark, sizeof mark) || !rest_take(&rest, &answer, sizeof answer)) {
        result->end = ATTEMPT_REFUSED;
        return;
    }
    result->end = ATTEMPT_ENDED;
    result->first = answer.first;
    memcpy(result->signature, answer.signature, sizeof result->signature);
    if (certificate != NULL) {
        (void)rest_take_text(&rest, rest.length, certificate);
    }
}

static void take_death(const struct death *death, struct attempt_result *result)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    result->end = death->kind == DEATH_CHECK ? ATTEMPT_FAULTY : ATTEMPT_DIED;
    result->first = (struct verdict){
        .kind = VERDICT_BROKEN, .rule = death_rule(death), .op = death->progress.op};
    snprintf(result->first.reason, sizeof result->first.reason, "%s", words);
    death_signature(death, result->signature);
}

void attempt_run(const struct attempt *attempt, const struct op_list *ops,
                 struct writing *certificate, struct attempt_result *result)
{
    struct attempt_work work = {attempt, ops, certificate != NULL};
    const struct child_job job = {.work = run_and_answer,
                                  .context = &work,
                                  .duration_ns = attempt->duration_ns,
                                  .op_timeout_ns = attempt->op_timeout_ns,
                                  .stuck_ns = attempt->stuck_ns,
                                  .is_interruptible = !attempt->is_uninterruptible,
                                  .is_quiet = true};
    struct death death;
    struct writing bytes;
    *result = (struct attempt_result){.end = ATTEMPT_FAILED, .op_count = ops->count};
    writing_init(&bytes);
    enum child_end end = child_work(&job, &bytes, &death);
    const bool is_hang_sought = attempt->signature != NULL &&
                                strncmp(attempt->signature, rule_info(RULE_HANG)->name,
                                        strlen(rule_info(RULE_HANG)->name)) == 0;
    if (end == CHILD_STOPPED && death.was_paused && !is_hang_sought) { /* from outside, maybe */
        writing_clear(&bytes);
        end = child_work(&job, &bytes, &death);
    }
    switch (end) {
    case CHILD_DONE:
        take_answer(&bytes, certificate, result);
        break;
    case CHILD_NOT_BORN:
        break;
    case CHILD_STOPPED:
        if (death.kind == DEATH_NONE) {
            result->end = ATTEMPT_STOPPED;
            break;
        }
        /* fallthrough */
    case CHILD_FAULTY:
    case CHILD_DIED:
        take_death(&death, result);
        break;
    }
    if (result->end == ATTEMPT_DIED && bytes.length == 0) {
        *result = (struct attempt_result){.end = ATTEMPT_EARLIER, .op_count = ops->count};
    }
    const bool is_in_list = result->first.kind != VERDICT_NONE && result->first.op < ops->count &&
                            (result->end == ATTEMPT_ENDED || death.progress.phase == PROGRESS_OP);
    /* With lanes the ops behind it may have run before it. */
    if (is_in_list && !lanes_are_in(ops)) {
        result->op_count = (size_t)result->first.op + 1;
    }
    writing_deinit(&bytes);
}

/* --- in the child --- */

/* Runs one search, and goes on after harm with other signatures that ends it.  True: one had the
 * same. */
static bool search_signature(const struct repeat *repeat, const struct lanes_search *how,
                             struct op_list *shown)
{
    char reason[RUN_REASON_BYTES];
    bool is_same = false, goes_on = true;
    struct lanes_search search = *how;
    search.goes_on = true;
    search.signature = repeat->signature;
    while (goes_on && !is_same) {
        struct trial trial;
        struct lanes_found found;
        if (!lanes_search(repeat->target, repeat->setup, repeat->ops, &search, NULL, &trial, &found,
                          reason)) {
            return false;
        }
        const struct run_finding *same = run_findings_find(&trial.findings, repeat->signature);
        is_same = same != NULL;
        if (is_same && !search.is_free_running) {
            op_list_copy(shown, trial_list(&trial, same));
        }
        goes_on = trial_is_ended(&trial) && found.schedule_count > 0 &&
                  found.schedule_count < search.schedule_count_max;
        search.schedule_count_max -= goes_on ? found.schedule_count : 0;
        search.seed = random_derive(search.seed, 1);
        trial_deinit(&trial);
    }
    return is_same;
}

/* Answers with the count of ops and these, or with nothing. */
static void search_and_answer(void *context, int file)
{
    const struct repeat *repeat = context;
    struct op_list shown;
    bool is_same = false;
    op_list_init(&shown);
    for (size_t i = 0; i < repeat->search_count && !is_same; i++) {
        is_same = search_signature(repeat, &repeat->searches[i], &shown);
    }
    if (is_same) {
        const uint64_t count = shown.count;
        (void)(file_write_all(file, &count, sizeof count) &&
               file_write_all(file, shown.ops, shown.count * sizeof *shown.ops));
    }
    op_list_deinit(&shown);
}

/* --- in the parent --- */

/* False: there is no answer. */
static bool take_shown(const struct writing *answer, struct op_list *shown)
{
    struct rest rest = rest_of(answer);
    uint64_t count;
    return rest_take(&rest, &count, sizeof count) && rest_take_ops(&rest, count, shown);
}

bool repeat_shows(const struct repeat *repeat, struct op_list *shown)
{
    struct repeat work = *repeat;
    const struct child_job job = {.work = search_and_answer,
                                  .context = &work,
                                  .duration_ns = repeat->duration_ns,
                                  .is_interruptible = true,
                                  .is_quiet = true};
    struct writing answer;
    struct death death;
    CHECK(repeat->search_count > 0);
    op_list_clear(shown);
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, &death);
    const bool is_late = end == CHILD_STOPPED && !interrupt_is_requested();
    const bool is_shown = end == CHILD_DONE ? take_shown(&answer, shown) : !is_late;
    writing_deinit(&answer);
    return is_shown;
}

/* The context of the child, and what it answers. */
struct probe_work {
    const struct target *target;
    const struct setup *setup;
};
struct probe_answer {
    bool is_taken;
    struct target_probe opened;
    char reason[RUN_REASON_BYTES];
};

static void open_and_answer(void *context, int file)
{
    const struct probe_work *work = context;
    struct probe_answer answer;
    memset(&answer, 0, sizeof answer);
    struct run *run = run_create(work->target, work->setup, answer.reason);
    if (run != NULL) {
        answer.is_taken = true;
        const struct target_contract *contract = model_contract(run_model(run, 0));
        const char *why = lanes_why_not(contract);
        answer.opened.has_programs = contract->programs;
        answer.opened.has_regions = contract->regions.grows;
        answer.opened.sleeps = contract->sleeps != SLEEP_NONE;
        snprintf(answer.opened.why_no_lanes, sizeof answer.opened.why_no_lanes, "%s",
                 why == NULL ? "" : why);
        run_destroy(run);
    }
    (void)file_write_all(file, &answer, sizeof answer);
}

/* Returns true if the name is that of an adapter that this machine cannot run. */
static bool is_unusable(const char *name)
{
    char reason[ADAPTER_REASON_BYTES];
    size_t index;
    return adapter_find(name, &index) && !adapter_is_usable(index, reason);
}

static enum exit_code report_failure(enum child_end end, const char *prefix, const char *target,
                                     const char *death)
{
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%sinternal error: %s. Please report this.", prefix,
                            death);
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(EXIT_BROKEN, "%starget %s does not return from open", prefix, target);
    }
    return message_fail(EXIT_BROKEN, "%starget %s ended its process when it was opened: %s", prefix,
                        target, death);
}

enum exit_code target_probe_run(const struct target *target, const struct setup *setup,
                                const char *where, uint64_t duration_ns,
                                struct target_probe *target_probe)
{
    struct probe_work work = {target, setup};
    struct writing bytes;
    struct probe_answer answer;
    char prefix[SETUP_VALUE_BYTES] = "", death[CHILD_DEATH_BYTES];
    if (where != NULL) {
        snprintf(prefix, sizeof prefix, "%.250s: ", where);
    }
    writing_init(&bytes);
    const enum child_end end = child_run(open_and_answer, &work, duration_ns, true, &bytes, death);
    const bool is_whole = end == CHILD_DONE && bytes.length == sizeof answer;
    if (is_whole) {
        memcpy(&answer, bytes.bytes, sizeof answer);
    }
    writing_deinit(&bytes);
    if (!is_whole) {
        return report_failure(end, prefix, setup->target,
                              end == CHILD_DONE ? "it exited early" : death);
    }
    if (!answer.is_taken) {
        return message_fail(EXIT_USAGE, "%starget %s refuses: %s%s", prefix, setup->target,
                            answer.reason,
                            is_unusable(setup->target) ? "; see hbmstress doctor" : "");
    }
    *target_probe = answer.opened;
    return EXIT_KEPT;
}
