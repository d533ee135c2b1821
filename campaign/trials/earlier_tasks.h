/* The trials that a worker's process ran before one: what its target keeps between trials comes
 * from them. */
#ifndef CAMPAIGN_TRIALS_EARLIER_TASKS_H
#define CAMPAIGN_TRIALS_EARLIER_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One trial to run; a plain value. */
struct task {
    uint32_t part;      /* index into the plan */
    bool is_sampled;    /* run twice, and compared */
    bool is_kept;       /* its list is to be saved with its diagnosis, whatever it shows */
    bool is_diagnosed;  /* lists of its first justified OOMs may be saved, with the reason */
    bool is_compared;   /* compared with a fresh instance of the target */
    bool has_list_kept; /* its list leaves the worker, whatever it shows */
    uint64_t trial;     /* number within its part */
    uint64_t op_count_max;
};

/* The last so many are known. */
enum { EARLIER_TASK_COUNT_MAX = 1024 };

struct earlier_task {
    struct task task;
    uint64_t elapsed_ns; /* what it took */
};
/* The tasks, in the order in which they ran; zero is a valid start. */
struct earlier_tasks {
    struct earlier_task *tasks; /* count of them */
    size_t count, capacity;
};
void earlier_tasks_deinit(struct earlier_tasks *tasks);

/* A new process: nothing ran yet. */
void earlier_tasks_clear(struct earlier_tasks *tasks);
void earlier_tasks_add(struct earlier_tasks *tasks, const struct task *task, uint64_t elapsed_ns);
/* The last EARLIER_TASK_COUNT_MAX of them; *to is as zero. */
void earlier_tasks_copy(struct earlier_tasks *to, const struct earlier_tasks *from);

#endif
