#include "campaign/sweep/sweep_campaign.h"

#include "campaign/base/clock.h"
#include "campaign/base/message.h"
#include "campaign/base/rest.h"
#include "campaign/process/child.h"
#include "campaign/process/guest.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/trial/trial_run.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 100, DEATHS_PER_MODE_MAX = SWEEP_SAME_COUNT_MAX };

/* The part of a sweep that remains when its process ends, in memory shared with its parent. */
struct shared {
    struct sweep_result result;
    uint64_t trial_next,
        trial_chosen;  /* of SWEEPS_TRIAL_COUNT; the list of trial_chosen is in `list` */
    uint64_t score[3]; /* of that list; see list_score */
    bool is_refused;
    char reason[RUN_REASON_BYTES];
};

/* One part.  process is 0 while none runs. */
struct sweeper {
    const struct part *part;
    struct shared *shared;
    struct last_words *list;  /* that is swept */
    struct last_words *words; /* of the replay under way */
    struct sweep_note *notes;
    size_t note_count;
    bool is_done;
    bool is_faulty; /* a CHECK of ours ended it: that was told */
    struct child child;
    struct writing input;
    uint64_t progress, progress_ns; /* how far it was when it was seen to move, and when */
    struct child_watch watch;
    struct sweep_place death_place; /* of the last death, and how many there were in its mode */
    uint64_t death_count;
};

struct sweep_campaign {
    struct sweep_campaign_setup setup;
    struct sweeper *sweepers; /* count of them, one per part */
    struct pollfd *files;
    size_t count;
};

/* --- in the child: the list --- */

/* Scores how much a list asks of the device: the number of kinds of call first, then the count of
 * the rarest kind, then all calls.  A list that breaks a promise by itself comes last. */
static void list_score(const struct trial *trial, uint64_t score[3])
{
    const struct run_totals *totals = &trial->totals;
    const uint64_t calls[] = {totals->drains, totals->moves, totals->evictions};
    score[0] = score[2] = 0;
    score[1] = UINT64_MAX;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        score[0] += calls[i] > 0;
        score[1] = calls[i] > 0 && calls[i] < score[1] ? calls[i] : score[1];
        score[2] += calls[i];
    }
    score[0] = trial->first.kind == VERDICT_NONE ? score[0] + 1 : 0;
}

static bool is_better(const uint64_t score[3], const uint64_t than[3])
{
    for (size_t i = 0; i < 3; i++) {
        if (score[i] != than[i]) {
            return score[i] > than[i];
        }
    }
    return false;
}

static void take_list(struct sweeper *sweeper, const struct trial *trial)
{
    struct shared *shared = sweeper->shared;
    uint64_t score[3];
    list_score(trial, score);
    if (sweeper->list->has_begun && !is_better(score, shared->score)) {
        return;
    }
    memcpy(shared->score, score, sizeof score);
    shared->trial_chosen = shared->trial_next;
    last_words_begin(sweeper->list, &trial->setup);
    for (size_t i = 0; i < trial->ops.count; i++) {
        last_words_note(sweeper->list, &trial->ops.ops[i]);
    }
}

/* False: the target refuses the setup. */
static bool try_trial(struct sweeper *sweeper)
{
    const struct part *part = sweeper->part;
    struct setup setup = part->setup;
    struct trial trial;
    setup.seed = plan_trial_seed(part, sweeper->shared->trial_next);
    const struct trial_plan plan = {.target = part->target,
                                    .scenario = part->scenario,
                                    .setup = &setup,
                                    .capacity_is_free = part->capacity_is_free,
                                    .op_count_max = part->op_count_max,
                                    .begun = last_words_begin,
                                    .chosen = last_words_note,
                                    .context = sweeper->words};
    if (!trial_run(&plan, NULL, &trial, sweeper->shared->reason)) {
        return false;
    }
    take_list(sweeper, &trial);
    trial_deinit(&trial);
    return true;
}

static bool choose_list(struct sweeper *sweeper)
{
    for (; sweeper->shared->trial_next < SWEEPS_TRIAL_COUNT; sweeper->shared->trial_next++) {
        if (!try_trial(sweeper)) {
            return false;
        }
    }
    return true;
}

/* --- in the child: the sweep --- */

struct sending {
    struct last_words *words;
    int file;
};

static void send_begin(void *context, const struct setup *setup)
{
    const struct sending *sending = context;
    last_words_begin(sending->words, setup);
}

static void send_step(void *context, const struct op *op)
{
    const struct sending *sending = context;
    last_words_note(sending->words, op);
}

/* A finding goes to the parent as its note, whose list has a count alone, and then its ops. */
static void send_finding(void *context, const struct sweep_finding *finding)
{
    const struct sending *sending = context;
    struct sweep_note *sent = calloc(1, sizeof *sent);
    CHECK(sent != NULL);
    sent->place = finding->place;
    sent->verdict = *finding->verdict;
    sent->setup = *finding->setup;
    sent->ops.count = finding->ops->count;
    snprintf(sent->message, sizeof sent->message, "%s", finding->message);
    sent->has_largest = finding->verdict->kind == VERDICT_PREMATURE;
    if (sent->has_largest) {
        sent->largest = run_find_largest(finding->run, ORACLE_LARGEST_NODES);
    }
    struct writing bytes;
    writing_init(&bytes);
    writing_append_bytes(&bytes, sent, sizeof *sent);
    writing_append_bytes(&bytes, finding->ops->ops,
                         finding->ops->count * sizeof *finding->ops->ops);
    child_announce(&sending->words->death, bytes.bytes, bytes.length);
    (void)file_write_all(sending->file, bytes.bytes, bytes.length);
    writing_deinit(&bytes);
    free(sent);
}

static void sweeper_work(struct sweeper *sweeper, int file)
{
    struct shared *shared = sweeper->shared;
    struct sending sending = {sweeper->words, file};
    struct op_list ops = {.ops = sweeper->list->ops};
    if (!choose_list(sweeper)) {
        shared->is_refused = true;
        return;
    }
    if (!sweeper->list->has_begun) {
        shared->result.place.phase = SWEEP_DONE; /* the target ended its process in each trial */
        return;
    }
    ops.count = sweeper->list->op_count;
    const struct sweep sweep = {.target = sweeper->part->target,
                                .setup = &sweeper->list->setup,
                                .ops = &ops,
                                .listener = {&sending, send_begin, send_step, send_finding}};
    shared->is_refused = !sweep_run(&sweep, &shared->result, shared->reason);
}

/* --- in the parent: notes --- */

static struct sweep_note *sweeper_add_note(struct sweeper *sweeper)
{
    sweeper->notes = array_resized(sweeper->notes,
                                   (sweeper->note_count + 1) * sizeof *sweeper->notes);
    struct sweep_note *note = &sweeper->notes[sweeper->note_count++];
    memset(note, 0, sizeof *note);
    return note;
}

/* Takes the findings that came whole; a process that died while it wrote leaves a part of one. */
static void sweeper_take_input(struct sweeper *sweeper)
{
    struct rest rest = rest_of(&sweeper->input);
    struct sweep_note sent;
    while (rest_take(&rest, &sent, sizeof sent)) {
        const size_t count = sent.ops.count;
        sent.trial = sweeper->shared->trial_chosen;
        op_list_init(&sent.ops);
        if (!rest_take_ops(&rest, count, &sent.ops)) {
            break;
        }
        *sweeper_add_note(sweeper) = sent;
    }
    writing_clear(&sweeper->input);
}

static bool is_same_mode(const struct sweep_place *a, const struct sweep_place *b)
{
    return a->phase == b->phase && a->kind == b->kind && a->host == b->host && a->mode == b->mode;
}

static bool is_choosing(const struct sweeper *sweeper)
{
    return sweeper->shared->trial_next < SWEEPS_TRIAL_COUNT;
}

static void sweeper_note_death(struct sweeper *sweeper, enum rule rule, const char *reason)
{
    struct sweep_note *note = sweeper_add_note(sweeper);
    const struct last_words *words = sweeper->words;
    note->place = sweeper->shared->result.place;
    note->trial = is_choosing(sweeper) ? sweeper->shared->trial_next
                                       : sweeper->shared->trial_chosen;
    note->setup = words->setup;
    note->is_whole = true;
    note->verdict = (struct verdict){.kind = VERDICT_BROKEN, .rule = rule};
    note->verdict.op = words->op_count == 0 ? 0 : (uint32_t)(words->op_count - 1);
    snprintf(note->verdict.reason, sizeof note->verdict.reason, "%s", reason);
    for (uint64_t i = 0; i < words->op_count && note->place.phase != SWEEP_OPEN; i++) {
        op_list_append(&note->ops, &words->ops[i]);
    }
}

/* The process ended in the middle of a trial or a replay: the next one goes on behind it. */
static void sweeper_take_death(struct sweeper *sweeper, enum rule rule, const char *reason)
{
    struct shared *shared = sweeper->shared;
    const struct sweep_place place = shared->result.place;
    if (shared->result.found[rule] < SWEEP_SAME_COUNT_MAX) {
        sweeper_note_death(sweeper, rule, reason);
    }
    if (is_choosing(sweeper)) {
        shared->trial_next++;
        shared->result.found[rule]++;
        return;
    }
    sweeper->death_count = is_same_mode(&place, &sweeper->death_place) ? sweeper->death_count + 1
                                                                       : 1;
    sweeper->death_place = place;
    (void)sweep_skip(&shared->result, rule, sweeper->death_count >= DEATHS_PER_MODE_MAX);
    sweeper->is_done = shared->result.place.phase == SWEEP_DONE;
}

/* --- in the parent: processes --- */

static bool sweeper_init(struct sweeper *sweeper, const struct part *part)
{
    *sweeper = (struct sweeper){.part = part, .is_done = part->note[0] != '\0'};
    sweeper->shared = shared_memory_create(sizeof *sweeper->shared);
    sweeper->list = last_words_create();
    sweeper->words = last_words_create();
    return sweeper->shared != NULL && sweeper->list != NULL && sweeper->words != NULL;
}

/* Ends the sweeper's process.  All that it reported counts, also what is still in the pipe.  A
 * process that the target left behind may hold the pipe open. */
static int sweeper_bury(struct sweeper *sweeper)
{
    bool was_alive = false;
    const int status = child_end(&sweeper->child, &was_alive);
    if (was_alive) {
        death_note_channel(&sweeper->words->death);
    }
    while (child_listen(&sweeper->child, 0, &sweeper->input) == CHILD_HEARD) {
    }
    if (child_look_at_answer(&sweeper->child, &sweeper->words->death) == CHILD_ANSWER_DAMAGED) {
        writing_clear(&sweeper->input); /* nobody knows what of it is true */
        death_note_channel(&sweeper->words->death);
    }
    sweeper_take_input(sweeper);
    child_close(&sweeper->child);
    return status;
}

static void sweeper_deinit(struct sweeper *sweeper)
{
    if (sweeper->child.process != 0) {
        child_kill(&sweeper->child);
        (void)sweeper_bury(sweeper);
    }
    for (size_t i = 0; i < sweeper->note_count; i++) {
        op_list_deinit(&sweeper->notes[i].ops);
    }
    free(sweeper->notes);
    writing_deinit(&sweeper->input);
    shared_memory_destroy(sweeper->shared, sizeof *sweeper->shared);
    last_words_destroy(sweeper->list);
    last_words_destroy(sweeper->words);
}

static uint64_t sweeper_progress(const struct sweeper *sweeper)
{
    return sweeper->shared->trial_next + sweeper->shared->result.replays;
}

static void sweep_and_answer(void *context, int tasks, int answers)
{
    struct sweeper *sweeper = context;
    (void)tasks;
    death_clear(&sweeper->words->death);
    death_watch(&sweeper->words->death);
    child_begin_answer();
    sweeper_work(sweeper, answers);
    (void)strays_end();
    child_announce(&sweeper->words->death, NULL, 0);
    death_watch(NULL);
}

static bool sweeper_start(struct sweeper *sweeper)
{
    if (!child_start(&sweeper->child, sweep_and_answer, sweeper, 0)) {
        return false;
    }
    sweeper->progress = sweeper_progress(sweeper);
    sweeper->progress_ns = clock_now_ns();
    return true;
}

/* It ended by itself. */
static void sweeper_conclude(struct sweeper *sweeper, int status)
{
    struct death *death = &sweeper->words->death;
    char name[SIGNATURE_BYTES], reason[VERDICT_REASON_BYTES];
    if (death->kind == DEATH_NONE && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        sweeper->is_done = true;
        return;
    }
    death_conclude(death, status);
    if (death->kind == DEATH_CHECK) {
        sweeper->is_done = sweeper->is_faulty = true;
        (void)message_fail(EXIT_HARNESS,
                           "internal error: %s, in the sweep of %s. Please report this.",
                           death->text, sweeper->part->name);
        return;
    }
    death_name(death, name);
    snprintf(reason, sizeof reason, "%s: %s",
             death->kind == DEATH_HANG ? "the target does not return"
                                       : "the target ended its process",
             name);
    sweeper_take_death(sweeper, death_rule(death), reason);
}

static void sweeper_read(struct sweeper *sweeper)
{
    if (child_listen(&sweeper->child, 0, &sweeper->input) == CHILD_CLOSED) {
        sweeper_conclude(sweeper, sweeper_bury(sweeper));
    }
}

/* Ends it, unless it has just ended by itself. */
static void sweeper_stop(struct sweeper *sweeper)
{
    child_kill(&sweeper->child);
    const int status = sweeper_bury(sweeper);
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!is_killed || sweeper->words->death.kind != DEATH_NONE) {
        sweeper_conclude(sweeper, status);
    }
}

static void sweeper_watch(struct sweeper *sweeper, uint64_t timeout_ns)
{
    const uint64_t now_ns = clock_now_ns(), progress = sweeper_progress(sweeper);
    const enum child_state state = child_look(&sweeper->child, &sweeper->words->death.progress,
                                              death_op_timeout(), death_op_timeout(),
                                              &sweeper->watch);
    if (state == CHILD_PAUSED) {
        (void)kill(sweeper->child.process, SIGCONT); /* it waits for the time that it may take */
    }
    if (progress != sweeper->progress) {
        sweeper->progress = progress;
        sweeper->progress_ns = now_ns;
    }
    if (state == CHILD_STUCK) {
        child_kill(&sweeper->child);
        (void)sweeper_bury(sweeper);
        sweeper_take_death(sweeper, RULE_HANG, "the target does not return");
    } else if (now_ns - sweeper->progress_ns > timeout_ns) {
        child_kill(&sweeper->child);
        (void)sweeper_bury(sweeper);
        sweeper_take_death(sweeper, RULE_HANG, "the replay did not end within --trial-timeout");
    }
}

/* --- all of them --- */

struct sweep_campaign *sweep_campaign_create(const struct sweep_campaign_setup *setup)
{
    struct sweep_campaign *sweep_campaign = calloc(1, sizeof *sweep_campaign);
    CHECK(sweep_campaign != NULL);
    sweep_campaign->setup = *setup;
    sweep_campaign->sweepers = calloc(setup->plan->count, sizeof *sweep_campaign->sweepers);
    sweep_campaign->files = calloc(setup->plan->count, sizeof *sweep_campaign->files);
    CHECK(sweep_campaign->sweepers != NULL && sweep_campaign->files != NULL);
    for (; sweep_campaign->count < setup->plan->count; sweep_campaign->count++) {
        if (!sweeper_init(&sweep_campaign->sweepers[sweep_campaign->count],
                          &setup->plan->parts[sweep_campaign->count])) {
            sweep_campaign->count++;
            sweep_campaign_destroy(sweep_campaign);
            return NULL;
        }
    }
    return sweep_campaign;
}

void sweep_campaign_destroy(struct sweep_campaign *sweep_campaign)
{
    for (size_t i = 0; i < sweep_campaign->count; i++) {
        sweeper_deinit(&sweep_campaign->sweepers[i]);
    }
    free(sweep_campaign->sweepers);
    free(sweep_campaign->files);
    free(sweep_campaign);
}

static bool start_some(struct sweep_campaign *sweep_campaign)
{
    size_t busy = 0;
    for (size_t i = 0; i < sweep_campaign->count; i++) {
        busy += sweep_campaign->sweepers[i].child.process != 0;
    }
    for (size_t i = 0; i < sweep_campaign->count && busy < sweep_campaign->setup.worker_count;
         i++) {
        struct sweeper *sweeper = &sweep_campaign->sweepers[i];
        if (sweeper->is_done || sweeper->child.process != 0) {
            continue;
        }
        if (!sweeper_start(sweeper)) {
            return false;
        }
        busy++;
    }
    return true;
}

bool sweep_campaign_turn(struct sweep_campaign *sweep_campaign, bool *is_failed)
{
    bool has_work = false;
    *is_failed = !start_some(sweep_campaign);
    for (size_t i = 0; i < sweep_campaign->count; i++) {
        const struct sweeper *sweeper = &sweep_campaign->sweepers[i];
        has_work |= !sweeper->is_done;
        sweep_campaign->files[i] = (struct pollfd){
            .fd = sweeper->child.process != 0 ? sweeper->child.answers : -1, .events = POLLIN};
    }
    if (*is_failed || !has_work) {
        return false;
    }
    if (poll(sweep_campaign->files, sweep_campaign->count, WAIT_MS) < 0) {
        return true;
    }
    for (size_t i = 0; i < sweep_campaign->count; i++) {
        struct sweeper *sweeper = &sweep_campaign->sweepers[i];
        if (sweeper->child.process != 0) {
            sweeper_read(sweeper);
        }
        if (sweeper->child.process != 0 && sweep_campaign->files[i].revents == 0) {
            sweeper_watch(sweeper, sweep_campaign->setup.timeout_ns);
        }
    }
    return true;
}

void sweep_campaign_stop(struct sweep_campaign *sweep_campaign)
{
    for (size_t i = 0; i < sweep_campaign->count; i++) {
        if (sweep_campaign->sweepers[i].child.process != 0) {
            sweeper_stop(&sweep_campaign->sweepers[i]);
        }
    }
}

struct sweep_part sweep_campaign_part(const struct sweep_campaign *sweep_campaign, size_t part)
{
    CHECK(part < sweep_campaign->count);
    const struct sweeper *sweeper = &sweep_campaign->sweepers[part];
    return (struct sweep_part){.result = &sweeper->shared->result,
                               .notes = sweeper->notes,
                               .note_count = sweeper->note_count,
                               .trial = sweeper->shared->trial_chosen,
                               .is_done = sweeper->is_done,
                               .is_faulty = sweeper->is_faulty,
                               .refusal = sweeper->shared->is_refused ? sweeper->shared->reason
                                                                      : ""};
}
