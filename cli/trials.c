#include "cli/trials.h"

#include "harness/check.h"

#include <stdlib.h>

/* Trials below `taken` count; those from there to `started` run or wait to be taken. */
struct progress {
    uint64_t started, taken;
    uint64_t waiting_op_max; /* the most ops that those in between can have */
    uint64_t op_count;       /* of those taken */
    uint64_t elapsed_ns;     /* of those taken */
    bool is_finished;
};

/* The next judgement that counts is (round, part); waiting ones are in no order. */
struct trials {
    const struct plan *plan;
    struct progress *parts;     /* as in the plan */
    struct judgement **waiting; /* waiting_count of them */
    size_t waiting_count;
    uint64_t replay_sample, window;
    uint64_t started, taken; /* in all */
    uint64_t round;
    size_t part;
    bool is_stopped;
};

struct trials *trials_create(const struct plan *plan, uint64_t replay_sample, uint64_t window)
{
    struct trials *trials = calloc(1, sizeof *trials);
    CHECK(trials != NULL && plan->count > 0);
    *trials = (struct trials){.plan = plan, .replay_sample = replay_sample, .window = window};
    trials->parts = calloc(plan->count, sizeof *trials->parts);
    CHECK(trials->parts != NULL);
    for (size_t i = 0; i < plan->count; i++)
        trials->parts[i].is_finished = plan->parts[i].note[0] != '\0';
    return trials;
}

void trials_destroy(struct trials *trials)
{
    for (size_t i = 0; i < trials->waiting_count; i++) {
        judgement_deinit(trials->waiting[i]);
        free(trials->waiting[i]);
    }
    free(trials->waiting);
    free(trials->parts);
    free(trials);
}

static uint64_t op_count_per_trial(const struct part *part)
{
    /* A scenario that names no length gets the length of a common one. */
    return part->scenario->ops_per_trial == 0 ? 2000 : part->scenario->ops_per_trial;
}

/* Trial k of a part belongs to round k * stride: a scenario with long trials runs them more rarely, so that
 * every scenario gets about as many ops. */
static uint64_t stride(const struct part *part)
{
    const uint64_t stride = op_count_per_trial(part) / 2000;
    return stride == 0 ? 1 : stride;
}

/* The bound of the part's next trial; 0: it depends on trials that are not taken yet. */
static uint64_t op_count_of_next(const struct part *part, const struct progress *progress)
{
    uint64_t most = op_count_per_trial(part);
    if (part->op_count_max == UINT64_MAX)
        return most;
    uint64_t left = part->op_count_max - progress->op_count;
    if (progress->started == progress->taken)
        return left < most ? left : most;
    return left >= progress->waiting_op_max && left - progress->waiting_op_max >= most ? most : 0;
}

static bool is_window_full(const struct trials *trials, size_t part, const struct progress *progress)
{
    bool is_next_to_count =
        part == trials->part && progress->started * stride(&trials->plan->parts[part]) == trials->round;
    return !is_next_to_count && trials->started - trials->taken >= trials->window;
}

bool trials_next(struct trials *trials, struct task *task)
{
    size_t best = SIZE_MAX;
    uint64_t best_op_count = 0;
    uint64_t best_round = 0;
    for (size_t i = 0; i < trials->plan->count && !trials->is_stopped; i++) {
        const struct progress *progress = &trials->parts[i];
        if (progress->is_finished || is_window_full(trials, i, progress))
            continue;
        uint64_t round = progress->started * stride(&trials->plan->parts[i]);
        if (best != SIZE_MAX && best_round <= round)
            continue;
        uint64_t op_count = op_count_of_next(&trials->plan->parts[i], progress);
        if (op_count == 0)
            continue;
        best = i;
        best_round = round;
        best_op_count = op_count;
    }
    if (best == SIZE_MAX)
        return false;
    struct progress *progress = &trials->parts[best];
    *task = (struct task){.part = (uint32_t)best, .trial = progress->started, .op_count_max = best_op_count};
    task->is_sampled = trials->replay_sample > 0 && task->trial % trials->replay_sample == 0;
    progress->started++;
    progress->waiting_op_max += best_op_count;
    trials->started++;
    return true;
}

void trials_put(struct trials *trials, struct judgement *judgement)
{
    trials->waiting = realloc(trials->waiting, (trials->waiting_count + 1) * sizeof *trials->waiting);
    struct judgement *kept = malloc(sizeof *kept);
    CHECK(trials->waiting != NULL && kept != NULL);
    *kept = *judgement;
    trials->waiting[trials->waiting_count++] = kept;
    judgement_init(judgement);
}

/* The round and part after the current ones. */
static void step(struct trials *trials)
{
    if (++trials->part == trials->plan->count) {
        trials->part = 0;
        trials->round++;
    }
}

/* Moves on to the next trial that was or will be started.  False: there is none. */
static bool find_next_to_count(struct trials *trials)
{
    uint64_t stride_max = 1;
    for (size_t i = 0; i < trials->plan->count; i++) {
        uint64_t part_stride = stride(&trials->plan->parts[i]);
        stride_max = part_stride > stride_max ? part_stride : stride_max;
    }
    /* As many rounds without a part to go on with: all are done. */
    for (uint64_t i = 0; i <= (stride_max + 1) * trials->plan->count; i++) {
        const struct progress *progress = &trials->parts[trials->part];
        uint64_t part_stride = stride(&trials->plan->parts[trials->part]);
        uint64_t trial = trials->round / part_stride;
        bool is_its_round = trials->round % part_stride == 0;
        bool is_done = progress->is_finished || (trials->is_stopped && progress->started <= trial);
        if (is_its_round && !is_done)
            return progress->taken == trial;
        step(trials);
    }
    return false;
}

static struct judgement **find_waiting(struct trials *trials)
{
    for (size_t i = 0; i < trials->waiting_count; i++) {
        const struct task *task = &trials->waiting[i]->head.task;
        if (task->part == trials->part &&
            task->trial * stride(&trials->plan->parts[task->part]) == trials->round)
            return &trials->waiting[i];
    }
    return NULL;
}

static void count(struct trials *trials, const struct judgement_head *head)
{
    const struct part *part = &trials->plan->parts[head->task.part];
    struct progress *progress = &trials->parts[head->task.part];
    uint64_t op_count = head->totals.ops + head->totals.skipped;
    progress->taken++;
    trials->taken++;
    progress->waiting_op_max -= head->task.op_count_max;
    progress->op_count += op_count < head->task.op_count_max ? op_count : head->task.op_count_max;
    progress->elapsed_ns += head->elapsed_ns;
    /* A trial without an op would be followed by others like it for ever. */
    progress->is_finished = head->end == JUDGEMENT_REFUSED || op_count == 0 || progress->op_count >= part->op_count_max ||
                            progress->elapsed_ns >= part->duration_ns;
}

bool trials_take(struct trials *trials, struct judgement *judgement)
{
    if (!find_next_to_count(trials))
        return false;
    struct judgement **found = find_waiting(trials);
    if (found == NULL)
        return false;
    *judgement = **found;
    free(*found);
    *found = trials->waiting[--trials->waiting_count];
    count(trials, &judgement->head);
    step(trials);
    return true;
}

void trials_stop(struct trials *trials)
{
    trials->is_stopped = true;
}
