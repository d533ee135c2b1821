#include "campaign/trials/earlier_tasks.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

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
