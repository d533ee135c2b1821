#include "campaign/trials/earlier.h"

#include "campaign/base/rest.h"
#include "campaign/process/child.h"
#include "campaign/trials/trial_result.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* A trial with lanes runs its list under many schedules; what a target counts is full by then.  All
 * lists together must fit into memory. */
enum { RUN_COUNT_MAX = 64, OP_COUNT_MAX = 1 << 22 };

void earlier_deinit(struct earlier *earlier)
{
    for (size_t i = 0; i < earlier->owned_count; i++) {
        op_list_deinit(&earlier->owned[i].ops);
    }
    free(earlier->owned);
    free(earlier->lists);
    *earlier = (struct earlier){0};
}

/* --- in the child --- */

/* The context of the child. */
struct earlier_work {
    const struct plan *plan;
    const struct earlier_task *tasks; /* count of them */
    size_t count;
};
/* The child's answer for each task; setup and ops follow. */
struct earlier_answer {
    uint64_t task; /* its number */
    uint64_t run_count, op_count;
};

/* Counts how often a target is opened: a call of a target has no context but its instance. */
static struct {
    const struct target *target;
    uint64_t open_count;
} counted;

static enum target_result open_counted(const struct target_setup *setup,
                                       const struct device_services *services,
                                       struct target_instance **instance,
                                       struct target_contract *contract, char *reason,
                                       size_t reason_bytes)
{
    counted.open_count++;
    return counted.target->open(setup, services, instance, contract, reason, reason_bytes);
}

static uint64_t count_runs(const struct setup *setup)
{
    const uint64_t runs = counted.open_count / (setup->host_count == 0 ? 1 : setup->host_count);
    return runs == 0 ? 1 : runs > RUN_COUNT_MAX ? RUN_COUNT_MAX : runs;
}

/* plan has one part: that of the task, with a target that counts. */
static bool run_task(const struct plan *plan, const struct task *task, uint64_t number,
                     struct last_words *words, int file)
{
    struct trial_result trial_result;
    trial_result_init(&trial_result);
    counted.open_count = 0;
    trial_result_make(plan, task, words, &trial_result);
    const struct earlier_answer answer = {number, count_runs(&trial_result.setup),
                                          trial_result.ops.count};
    const bool is_told = !trial_result.head.has_list ||
                         (file_write_all(file, &answer, sizeof answer) &&
                          file_write_all(file, &trial_result.setup, sizeof trial_result.setup) &&
                          file_write_all(file, trial_result.ops.ops,
                                         trial_result.ops.count * sizeof *trial_result.ops.ops));
    trial_result_deinit(&trial_result);
    return is_told;
}

static void run_tasks(void *context, int file)
{
    const struct earlier_work *work = context;
    struct last_words *words = last_words_create();
    bool goes_on = words != NULL;
    for (size_t i = 0; i < work->count && goes_on; i++) {
        struct task task = work->tasks[i].task;
        struct part part = work->plan->parts[task.part];
        struct target target = *part.target;
        struct plan plan = *work->plan;
        counted.target = part.target;
        target.open = open_counted;
        part.target = &target;
        plan.parts = &part;
        plan.count = 1;
        task.part = 0;
        task.has_list_kept = true;
        goes_on = run_task(&plan, &task, i, words, file);
    }
}

/* --- in the parent --- */

/* The last ones that fit into the time and the memory. */
static struct earlier_work choose_tasks(const struct plan *plan, const struct earlier_tasks *tasks,
                                        uint64_t max_ns)
{
    size_t first = tasks->count;
    uint64_t elapsed_ns = 0, op_count = 0;
    while (first > 0) {
        const struct earlier_task *task = &tasks->tasks[first - 1];
        elapsed_ns += task->elapsed_ns;
        op_count += task->task.op_count_max;
        if (elapsed_ns > max_ns || op_count > OP_COUNT_MAX || task->task.part >= plan->count) {
            break;
        }
        first--;
    }
    return (struct earlier_work){plan, tasks->tasks + first, tasks->count - first};
}

/* False: the answer is not whole. */
static bool take_list(struct rest *rest, const struct earlier_work *work, struct earlier_list *list,
                      uint64_t *run_count)
{
    struct earlier_answer answer;
    if (!rest_take(rest, &answer, sizeof answer) ||
        !rest_take(rest, &list->setup, sizeof list->setup) || answer.task >= work->count ||
        !rest_take_ops(rest, answer.op_count, &list->ops)) {
        return false;
    }
    list->target = work->plan->parts[work->tasks[answer.task].task.part].target;
    *run_count = answer.run_count;
    return true;
}

/* Each list as often as it ran; of too many the last ones. */
static void lay_out(struct earlier *earlier, const uint64_t *run_counts)
{
    size_t capacity = 0;
    for (size_t i = 0; i < earlier->owned_count; i++) {
        for (uint64_t k = 0; k < run_counts[i]; k++) {
            earlier->lists = array_grown(earlier->lists, earlier->count, &capacity,
                                         sizeof *earlier->lists);
            earlier->lists[earlier->count++] = &earlier->owned[i];
        }
    }
    if (earlier->count > EARLIER_LIST_COUNT_MAX) {
        memmove(earlier->lists, earlier->lists + (earlier->count - EARLIER_LIST_COUNT_MAX),
                EARLIER_LIST_COUNT_MAX * sizeof *earlier->lists);
        earlier->count = EARLIER_LIST_COUNT_MAX;
    }
}

static void take_lists(const struct writing *bytes, const struct earlier_work *work,
                       struct earlier *earlier)
{
    uint64_t *run_counts = calloc(work->count, sizeof *run_counts);
    earlier->owned = calloc(work->count, sizeof *earlier->owned);
    CHECK(run_counts != NULL && earlier->owned != NULL);
    struct rest rest = rest_of(bytes);
    bool is_whole = true;
    while (is_whole && earlier->owned_count < work->count) {
        struct earlier_list *list = &earlier->owned[earlier->owned_count];
        op_list_init(&list->ops);
        is_whole = take_list(&rest, work, list, &run_counts[earlier->owned_count]);
        earlier->owned_count += is_whole;
    }
    lay_out(earlier, run_counts);
    free(run_counts);
}

bool earlier_collect(const struct plan *plan, const struct earlier_tasks *tasks, uint64_t max_ns,
                     struct earlier *earlier)
{
    struct earlier_work work = choose_tasks(plan, tasks, max_ns);
    const struct child_job job = {
        .work = run_tasks, .context = &work, .duration_ns = 2 * max_ns, .is_interruptible = true};
    struct death death;
    struct writing bytes;
    *earlier = (struct earlier){0};
    if (work.count == 0) {
        return false;
    }
    writing_init(&bytes);
    const bool is_done = child_work(&job, &bytes, &death) == CHILD_DONE;
    if (is_done) {
        take_lists(&bytes, &work, earlier);
    }
    writing_deinit(&bytes);
    return is_done && earlier->count > 0;
}

void earlier_tasks_deinit(struct earlier_tasks *tasks)
{
    free(tasks->tasks);
    *tasks = (struct earlier_tasks){0};
}

void earlier_tasks_clear(struct earlier_tasks *tasks)
{
    tasks->count = 0;
}

/* Twice as many as are known are kept, so that they seldom move. */
void earlier_tasks_add(struct earlier_tasks *tasks, const struct task *task, uint64_t elapsed_ns)
{
    if (tasks->count == 2 * (size_t)EARLIER_TASK_COUNT_MAX) {
        memmove(tasks->tasks, tasks->tasks + EARLIER_TASK_COUNT_MAX,
                EARLIER_TASK_COUNT_MAX * sizeof *tasks->tasks);
        tasks->count = EARLIER_TASK_COUNT_MAX;
    }
    tasks->tasks = array_grown(tasks->tasks, tasks->count, &tasks->capacity, sizeof *tasks->tasks);
    tasks->tasks[tasks->count++] = (struct earlier_task){*task, elapsed_ns};
}

void earlier_tasks_copy(struct earlier_tasks *to, const struct earlier_tasks *from)
{
    const size_t count = from->count < EARLIER_TASK_COUNT_MAX ? from->count
                                                              : EARLIER_TASK_COUNT_MAX;
    if (count == 0) {
        return;
    }
    to->tasks = malloc(count * sizeof *to->tasks);
    CHECK(to->tasks != NULL);
    memcpy(to->tasks, from->tasks + (from->count - count), count * sizeof *to->tasks);
    to->count = to->capacity = count;
}
