#include "measure/cost.h"

#include "harness/base/check.h"
#include "harness/base/order.h"
#include "measure/bare_services.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { REASON_BYTES = 256 };

struct bare_run {
    const struct target *target;
    const struct op_list *ops;
    struct target_instance *instance;
    uint64_t *handles; /* by op; 0 = no block */
    uint64_t op_count;
};

static uint64_t read_clock_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A counter of the instructions of this process in user mode; -1: the machine has none for us. */
static int open_counter(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_HW_INSTRUCTIONS,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static void call_op(struct bare_run *bare, uint32_t i)
{
    const struct op *op = &bare->ops->ops[i];
    if (op->kind == OP_ALLOC || op->kind == OP_OUTPUT) {
        const struct target_request request = {
            .id = i + UINT64_C(1),
            .size_bytes = op->size_bytes,
            .align_bytes = op->align_log2 == 0 ? 0 : UINT64_C(1) << op->align_log2,
            .kind = BLOCK_BUFFER,
            .tag_name = ""};
        struct target_block block;
        bare->op_count++;
        if (bare->target->alloc(bare->instance, &request, &block) == TARGET_OK) {
            bare->handles[i] = block.handle;
        }
    } else if ((op->kind == OP_FREE || op->kind == OP_FREE_AFTER) && op->ref < i &&
               bare->handles[op->ref] != 0) {
        bare->op_count++;
        (void)bare->target->free(bare->instance, bare->handles[op->ref], 0);
        bare->handles[op->ref] = 0;
    }
}

static void run_ops_once(struct bare_run *bare, int counter, struct cost *cost)
{
    memset(bare->handles, 0, (bare->ops->count + 1) * sizeof *bare->handles);
    bare->op_count = 0;
    if (counter >= 0) {
        (void)ioctl(counter, PERF_EVENT_IOC_RESET, 0);
        (void)ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    }
    const uint64_t start_ns = read_clock_ns();
    for (uint32_t i = 0; i < bare->ops->count; i++) {
        call_op(bare, i);
    }
    cost->ns = read_clock_ns() - start_ns;
    cost->instructions = 0;
    if (counter >= 0) {
        (void)ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
        if (read(counter, &cost->instructions, sizeof cost->instructions) !=
            sizeof cost->instructions) {
            cost->instructions = 0;
        }
    }
    cost->op_count = bare->op_count;
}

void cost_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  struct cost *cost)
{
    struct bare_run bare = {
        .target = target, .ops = ops, .handles = calloc(ops->count + 1, sizeof *bare.handles)};
    uint64_t ns[COST_REPEAT_COUNT], instructions[COST_REPEAT_COUNT];
    const int counter = open_counter();
    char reason[REASON_BYTES];
    CHECK(bare.handles != NULL);
    *cost = (struct cost){0};
    size_t done = 0;
    while (done < COST_REPEAT_COUNT &&
           bare_open(target, setup, &bare.instance, reason, sizeof reason)) {
        run_ops_once(&bare, counter, cost);
        target->close(bare.instance);
        ns[done] = cost->ns;
        instructions[done++] = cost->instructions;
    }
    if (done == COST_REPEAT_COUNT) {
        cost->ns = median_of_numbers(ns, COST_REPEAT_COUNT);
        cost->instructions = median_of_numbers(instructions, COST_REPEAT_COUNT);
    } else {
        *cost = (struct cost){0};
    }
    if (counter >= 0) {
        (void)close(counter);
    }
    free(bare.handles);
}
