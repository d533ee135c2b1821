#include "campaign/trials/trials.h"

#include "harness/base/check.h"

#include <stdlib.h>

/* The progress of a part.  Its trials below `taken` count; those from there to `started` run or
 * wait to be taken.  With shards a part's i-th trial here is trial number i * shard_count +
 * shard_index of the whole campaign. */
struct part_progress {
    uint64_t started;
    uint64_t waiting_op_max;  /* the most ops that those in between can have */
    uint64_t justified_count; /* lists of justified OOMs that those taken brought */
    struct trials_progress counted;
};

/* The next trial result that counts is (round, part); waiting ones are in no order. */
struct trials {
    const struct plan *plan;
    struct part_progress *parts;   /* as in the plan */
    struct trial_result **waiting; /* waiting_count of them */
    size_t waiting_count;
    uint64_t replay_sample, window;
    uint64_t started, taken; /* in all */
    uint64_t round;
    size_t part;
    bool is_stopped;
};

static uint64_t number_trial(const struct plan *plan, uint64_t i)
{
    return i * plan->shard_count + plan->shard_index;
}

struct trials *trials_create(const struct plan *plan, uint64_t replay_sample, uint64_t window)
{
    struct trials *trials = calloc(1, sizeof *trials);
    CHECK(trials != NULL && plan->count > 0);
    *trials = (struct trials){.plan = plan,
                              .replay_sample = replay_sample,
                              .window = window,
                              .part = rounds_first_part(plan)};
    trials->parts = calloc(plan->count, sizeof *trials->parts);
    CHECK(trials->parts != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        trials->parts[i].counted.is_finished = plan->parts[i].note[0] != '\0' ||
                                               number_trial(plan, 0) >=
                                                   plan->parts[i].trial_count_max;
    }
    return trials;
}

void trials_destroy(struct trials *trials)
{
    for (size_t i = 0; i < trials->waiting_count; i++) {
        trial_result_deinit(trials->waiting[i]);
        free(trials->waiting[i]);
    }
    free(trials->waiting);
    free(trials->parts);
    free(trials);
}

bool trials_invariants_hold(const struct trials *trials)
{
    uint64_t started = 0, taken = 0;
    bool hold = trials->part < trials->plan->count;
    for (size_t i = 0; i < trials->plan->count; i++) {
        const struct part_progress *progress = &trials->parts[i];
        hold &= progress->counted.taken <= progress->started &&
                (!progress->counted.is_finished || progress->counted.taken == progress->started);
        started += progress->started;
        taken += progress->counted.taken;
    }
    return hold && started == trials->started && taken == trials->taken;
}

/* A shard's share of the part's ops, rounded up. */
static uint64_t share_op_count(const struct plan *plan, const struct part *part)
{
    return part->op_count_max == UINT64_MAX ? UINT64_MAX
                                            : part->op_count_max / plan->shard_count +
                                                  (part->op_count_max % plan->shard_count != 0);
}

/* The bound of the part's next trial; 0: it depends on trials that are not taken yet. */
static uint64_t bound_next_trial(const struct plan *plan, const struct part *part,
                                 const struct part_progress *progress)
{
    const uint64_t most = rounds_op_count(part);
    if (part->op_count_max == UINT64_MAX) {
        return most;
    }
    const uint64_t left = share_op_count(plan, part) - progress->counted.op_count;
    if (progress->started == progress->counted.taken) {
        return left < most ? left : most;
    }
    return left >= progress->waiting_op_max && left - progress->waiting_op_max >= most ? most : 0;
}

static bool is_window_full(const struct trials *trials, size_t part,
                           const struct part_progress *progress)
{
    const bool is_next_to_count = part == trials->part &&
                                  rounds_of(trials->plan, part, progress->started) == trials->round;
    return !is_next_to_count && trials->started - trials->taken >= trials->window;
}

/* Samples one trial in so many of a part, another one each time and in each part.  If each part
 * began with its first, short runs would consist of little else; if it stayed, it would always have
 * faults, or never. */
enum { SAMPLE_STEP = 5 };

static bool is_turn(uint64_t period, uint64_t first, uint64_t part, uint64_t trial)
{
    return trial % period == (first + SAMPLE_STEP * part + trial / period) % period;
}

static bool is_sampled(uint64_t replay_sample, uint64_t part, uint64_t trial)
{
    return replay_sample > 0 && is_turn(replay_sample, 0, part, trial);
}

/* One trial in four times the replay sample is compared, as each takes a process and a run.  As
 * short runs have few trials, the fourth, the sixteenth and so on also are, in every
 * EARLY_PERIOD-th part. */
enum { EARLY_PERIOD = 8, COMPARED_FIRST = 3 };

static bool is_compared(uint64_t replay_sample, uint64_t part, uint64_t trial)
{
    const uint64_t period = replay_sample > UINT64_MAX / 4 ? UINT64_MAX : 4 * replay_sample;
    uint64_t power = 4;
    if (replay_sample == 0) {
        return false;
    }
    while (power < period && power < trial + 1) {
        power *= 4;
    }
    return is_turn(period, COMPARED_FIRST, part, trial) ||
           (part % EARLY_PERIOD == 0 && power < period && power == trial + 1);
}

bool trials_next(struct trials *trials, struct task *task)
{
    size_t best = SIZE_MAX;
    uint64_t best_op_count = 0;
    uint64_t best_round = 0;
    size_t i = rounds_first_part(trials->plan);
    for (size_t n = 0; n < trials->plan->count && !trials->is_stopped;
         n++, i = rounds_next_part(trials->plan, i)) {
        const struct part_progress *progress = &trials->parts[i];
        if (progress->counted.is_finished || is_window_full(trials, i, progress) ||
            number_trial(trials->plan, progress->started) >=
                trials->plan->parts[i].trial_count_max) {
            continue;
        }
        const uint64_t round = rounds_of(trials->plan, i, progress->started);
        if (best != SIZE_MAX && best_round <= round) {
            continue;
        }
        const uint64_t op_count = bound_next_trial(trials->plan, &trials->plan->parts[i], progress);
        if (op_count == 0) {
            continue;
        }
        best = i;
        best_round = round;
        best_op_count = op_count;
    }
    if (best == SIZE_MAX) {
        return false;
    }
    struct part_progress *progress = &trials->parts[best];
    *task = (struct task){.part = (uint32_t)best,
                          .trial = number_trial(trials->plan, progress->started),
                          .op_count_max = best_op_count};
    task->is_sampled = is_sampled(trials->replay_sample, best, task->trial) &&
                       !trials->plan->parts[best].scenario->is_run_once;
    task->is_kept = task->trial < trials->plan->parts[best].keep_count;
    task->is_compared = is_compared(trials->replay_sample, best, task->trial);
    /* A trial ahead of the first that count may be diagnosed in vain: what is saved is the same. */
    task->is_diagnosed = task->trial < TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT &&
                         progress->justified_count < TRIAL_RESULT_JUSTIFIED_COUNT_MAX;
    progress->started++;
    progress->waiting_op_max += best_op_count;
    trials->started++;
    return true;
}

/* Finishes a part, and forgets what was started of it beyond the trials that count. */
static void finish_part(struct trials *trials, struct part_progress *progress)
{
    trials->started -= progress->started - progress->counted.taken;
    progress->started = progress->counted.taken;
    progress->counted.is_finished = true;
}

void trials_put(struct trials *trials, struct trial_result *trial_result)
{
    if (trials->parts[trial_result->head.task.part].counted.is_finished) {
        trial_result_deinit(trial_result);
        trial_result_init(trial_result);
        return;
    }
    trials->waiting = realloc(trials->waiting,
                              (trials->waiting_count + 1) * sizeof *trials->waiting);
    struct trial_result *stored = malloc(sizeof *stored);
    CHECK(trials->waiting != NULL && stored != NULL);
    *stored = *trial_result;
    trials->waiting[trials->waiting_count++] = stored;
    trial_result_init(trial_result);
}

/* The round and part after the current ones. */
static void step_part(struct trials *trials)
{
    trials->part = rounds_next_part(trials->plan, trials->part);
    trials->round += trials->part == rounds_first_part(trials->plan);
}

/* Moves on to the next trial that was or will be started.  False: there is none. */
static bool find_next_to_count(struct trials *trials)
{
    uint64_t stride_max = 1;
    for (size_t i = 0; i < trials->plan->count; i++) {
        const uint64_t part_stride = rounds_stride(&trials->plan->parts[i]);
        stride_max = part_stride > stride_max ? part_stride : stride_max;
    }
    /* After this many rounds without a part to go on with, all parts are done. */
    for (uint64_t i = 0; i <= (stride_max + ROUNDS_LONG_WAIT + 1) * trials->plan->count; i++) {
        const struct part_progress *progress = &trials->parts[trials->part];
        const bool is_its_round = rounds_of(trials->plan, trials->part, progress->counted.taken) ==
                                  trials->round;
        if (is_its_round && !progress->counted.is_finished) {
            return progress->counted.taken < progress->started;
        }
        step_part(trials);
    }
    return false;
}

static struct trial_result **find_waiting(struct trials *trials)
{
    for (size_t i = 0; i < trials->waiting_count; i++) {
        const struct task *task = &trials->waiting[i]->head.task;
        if (task->part == trials->part &&
            task->trial / trials->plan->shard_count == trials->parts[task->part].counted.taken) {
            return &trials->waiting[i];
        }
    }
    return NULL;
}

static void count_trial(struct trials *trials, const struct trial_result_head *head)
{
    const struct part *part = &trials->plan->parts[head->task.part];
    struct part_progress *progress = &trials->parts[head->task.part];
    const uint64_t op_count = head->totals.ops + head->totals.skipped;
    progress->counted.taken++;
    trials->taken++;
    progress->waiting_op_max -= head->task.op_count_max;
    progress->counted.op_count += op_count < head->task.op_count_max ? op_count
                                                                     : head->task.op_count_max;
    progress->counted.elapsed_ns += head->elapsed_ns;
    for (size_t i = 0; i < head->saved_count; i++) {
        progress->justified_count += head->saved[i].verdict.kind == VERDICT_JUSTIFIED;
    }
    /* A trial without an op would be followed by others like it for ever, but for one whose device
     * is small: those between have another one. */
    const bool is_empty = head->end == TRIAL_RESULT_REFUSED || op_count == 0;
    if ((is_empty && !plan_trial_is_small(part, head->task.trial)) ||
        progress->counted.op_count >= share_op_count(trials->plan, part) ||
        number_trial(trials->plan, progress->counted.taken) >= part->trial_count_max ||
        progress->counted.elapsed_ns >= part->duration_ns) {
        finish_part(trials, progress);
    }
}

bool trials_take(struct trials *trials, struct trial_result *trial_result)
{
    if (!find_next_to_count(trials)) {
        return false;
    }
    struct trial_result **found = find_waiting(trials);
    if (found == NULL) {
        return false;
    }
    *trial_result = **found;
    free(*found);
    *found = trials->waiting[--trials->waiting_count];
    count_trial(trials, &trial_result->head);
    const struct part_progress *progress = &trials->parts[trials->part];
    if (progress->counted.is_finished ||
        rounds_of(trials->plan, trials->part, progress->counted.taken) != trials->round) {
        step_part(trials);
    }
    return true;
}

void trials_stop(struct trials *trials)
{
    trials->is_stopped = true;
}

void trials_finish(struct trials *trials, size_t part)
{
    CHECK(part < trials->plan->count);
    finish_part(trials, &trials->parts[part]);
}

/* The progress of part i, where each is a member of something of stride bytes. */
static struct trials_progress *progress_at(const struct trials_progress *first, size_t stride,
                                           size_t i)
{
    return (struct trials_progress *)((char *)first + i * stride);
}

struct trials_mark trials_save(const struct trials *trials, struct trials_progress *first,
                               size_t stride)
{
    for (size_t i = 0; i < trials->plan->count; i++) {
        *progress_at(first, stride, i) = trials->parts[i].counted;
    }
    return (struct trials_mark){trials->round, trials->part, trials->taken};
}

/* Rounds of so many trials are never reached; beyond, their numbers would not fit. */
#define TRIAL_COUNT_MAX (UINT64_C(1) << 40)

/* Returns true if an unfinished part has counted all of its trials before the mark, and no
 * other. */
static bool is_at_mark(const struct plan *plan, size_t i, const struct trials_mark *mark,
                       uint64_t taken)
{
    const size_t turn = rounds_turn(plan, i), turn_of_mark = rounds_turn(plan, (size_t)mark->part);
    if (taken > TRIAL_COUNT_MAX) {
        return false;
    }
    const uint64_t next = rounds_of(plan, i, taken);
    if (next < mark->round || (next == mark->round && turn < turn_of_mark)) {
        return false;
    }
    const uint64_t last = taken == 0 ? 0 : rounds_of(plan, i, taken - 1);
    /* Within its head start a part has several trials in a round. */
    return taken == 0 || last < mark->round ||
           (last == mark->round &&
            (turn < turn_of_mark || (turn == turn_of_mark && next == mark->round)));
}

static bool can_restore_part(const struct plan *plan, size_t i, const struct trials_mark *mark,
                             const struct trials_progress *progress)
{
    const struct part *part = &plan->parts[i];
    const uint64_t share = share_op_count(plan, part);
    const bool is_counted = progress->taken == 0 ||
                            (progress->taken <= UINT64_MAX / plan->shard_count &&
                             number_trial(plan, progress->taken - 1) < part->trial_count_max);
    return is_counted && progress->op_count <= share &&
           (progress->is_finished || is_at_mark(plan, i, mark, progress->taken));
}

bool trials_can_restore(const struct plan *plan, const struct trials_mark *mark,
                        const struct trials_progress *first, size_t stride)
{
    bool can_restore = mark->part < plan->count;
    for (size_t i = 0; i < plan->count && can_restore; i++) {
        can_restore = can_restore_part(plan, i, mark, progress_at(first, stride, i));
    }
    return can_restore;
}

void trials_restore(struct trials *trials, const struct trials_mark *mark,
                    const struct trials_progress *first, size_t stride)
{
    CHECK(trials->started == 0 && mark->part < trials->plan->count);
    for (size_t i = 0; i < trials->plan->count; i++) {
        const struct trials_progress *counted = progress_at(first, stride, i);
        trials->parts[i] = (struct part_progress){.started = counted->taken, .counted = *counted};
    }
    trials->started = trials->taken = mark->taken;
    trials->round = mark->round;
    trials->part = (size_t)mark->part;
}

size_t rounds_first_part(const struct plan *plan)
{
    return plan->has_canary ? plan->count - 1 : 0;
}

size_t rounds_next_part(const struct plan *plan, size_t part)
{
    return part + 1 == plan->count ? 0 : part + 1;
}

size_t rounds_turn(const struct plan *plan, size_t part)
{
    return plan->has_canary ? rounds_next_part(plan, part) : part;
}

/* A host does at most so many ops in a step, those before the first one and faults included. */
enum { OPS_PER_STEP_MAX = 64 };

uint64_t rounds_op_count(const struct part *part)
{
    if (part->trace != NULL) {
        return trace_op_count_max(part->trace);
    }
    if (part->setup.until_step != 0) {
        return (part->setup.until_step + 1) * part->setup.host_count * OPS_PER_STEP_MAX;
    }
    CHECK(part->scenario->ops_per_trial > 0);
    return part->scenario->ops_per_trial;
}

uint64_t rounds_stride(const struct part *part)
{
    const uint64_t stride = part->stride != 0 ? part->stride : rounds_op_count(part) / 2000;
    return stride == 0 ? 1 : stride;
}

/* A trial that takes as long as so many others is very long. */
enum { LONG_STRIDE = 10 };

static bool is_long(const struct part *part)
{
    return rounds_stride(part) >= LONG_STRIDE;
}

/* Returns how many rounds a long scenario waits: none if all scenarios are long. */
static uint64_t choose_long_wait(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const bool is_canary = plan->has_canary && i + 1 == plan->count;
        if (!is_canary && !plan->parts[i].is_tentative && !is_long(&plan->parts[i])) {
            return ROUNDS_LONG_WAIT;
        }
    }
    return 0;
}

uint64_t rounds_of(const struct plan *plan, size_t index, uint64_t i)
{
    const struct part *part = &plan->parts[index];
    const uint64_t first = is_long(part) ? choose_long_wait(plan) : 0;
    const uint64_t head_start = part->head_start == 0 ? 1 : part->head_start;
    const uint64_t turns = i < head_start ? 0 : i - head_start + 1;
    return first + turns * rounds_stride(part);
}

bool rounds_count_before(const struct plan *plan, const struct task *a, const struct task *b)
{
    if (a->part == b->part) { /* several trials of a head start have one round */
        return a->trial < b->trial;
    }
    const uint64_t round_a = rounds_of(plan, a->part, a->trial / plan->shard_count);
    const uint64_t round_b = rounds_of(plan, b->part, b->trial / plan->shard_count);
    return round_a != round_b ? round_a < round_b
                              : rounds_turn(plan, a->part) < rounds_turn(plan, b->part);
}
