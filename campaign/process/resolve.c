#include "campaign/process/resolve.h"

#include "campaign/process/child.h"
#include "harness/call/driver.h"
#include "harness/lanes/lanes.h"
#include "harness/run/run_state.h"

#include <string.h>
#include <sys/mman.h>

/* What the child works on; shared is the list, in memory that both see. */
struct work {
    const struct attempt *attempt;
    struct op *shared;
    size_t count;
};

/* The op is written down before it runs: the target may not come back from it. */
static void resolve_all(void *context, int file)
{
    const struct work *work = context;
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(work->attempt->target, work->attempt->setup, reason);
    (void)file;
    for (size_t i = 0; run != NULL && i < work->count && !run_is_broken(run); i++) {
        struct op op = work->shared[i];
        if (op.host < run->setup.host_count) {
            driver_resolve(&run->hosts[op.host], &op);
        }
        work->shared[i] = op;
        (void)run_step(run, &op);
    }
    run_destroy(run);
}

static bool is_relative(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if ((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) != 0) {
            return true;
        }
    }
    return false;
}

static void resolve_in_child(const struct attempt *attempt, struct op_list *ops)
{
    const size_t bytes = ops->count * sizeof *ops->ops;
    struct writing answer;
    struct op *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                             0);
    struct death *death = shared == MAP_FAILED ? NULL : death_create();
    if (death == NULL) {
        if (shared != MAP_FAILED) {
            (void)munmap(shared, bytes);
        }
        return;
    }
    memcpy(shared, ops->ops, bytes);
    struct work work = {attempt, shared, ops->count};
    const struct child_job job = {.work = resolve_all,
                                  .context = &work,
                                  .duration_ns = attempt->duration_ns,
                                  .op_timeout_ns = attempt->op_timeout_ns,
                                  .stuck_ns = attempt->stuck_ns,
                                  .is_interruptible = true,
                                  .is_quiet = true};
    writing_init(&answer);
    (void)child_work(&job, &answer, death);
    memcpy(ops->ops, shared, bytes);
    writing_deinit(&answer);
    death_destroy(death);
    (void)munmap(shared, bytes);
}

void resolve_run(const struct attempt *attempt, const struct op_list *ops, struct op_list *resolved)
{
    op_list_copy(resolved, ops);
    if (!lanes_are_in(ops) && is_relative(ops)) {
        resolve_in_child(attempt, resolved);
    }
}
