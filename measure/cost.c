#include "measure/cost.h"

#include "harness/base/check.h"
#include "harness/base/order.h"
#include "measure/clock.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REASON_BYTES = 256 };

struct bare_run {
    const struct target *target;
    const struct op_list *ops;
    struct target_instance *instance;
    uint64_t *handles; /* by op; 0 = no block */
    uint64_t op_count;
};

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
    const uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < bare->ops->count; i++) {
        call_op(bare, i);
    }
    cost->ns = read_clock_ns(CLOCK_MONOTONIC) - start_ns;
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

static enum device_result bare_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    (void)context, (void)from, (void)to, (void)bytes;
    return DEVICE_OK;
}

static enum device_result bare_stage_out(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *stage)
{
    (void)context, (void)from, (void)bytes;
    *stage = 1;
    return DEVICE_OK;
}

static enum device_result bare_stage_in(void *context, uint64_t stage, uint64_t to)
{
    (void)context, (void)stage, (void)to;
    return DEVICE_OK;
}

static void bare_stage_drop(void *context, uint64_t stage)
{
    (void)context, (void)stage;
}

static uint64_t bare_zero(void *context)
{
    (void)context;
    return 0;
}

static bool bare_event_done(void *context, uint64_t event)
{
    (void)context, (void)event;
    return true;
}

static enum device_result bare_agree(void *context, uint64_t event_or_program)
{
    (void)context, (void)event_or_program;
    return DEVICE_OK;
}

static void *bare_host_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void bare_host_free(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    free(memory);
}

static enum device_result bare_region_take(void *context, uint64_t bytes,
                                           struct device_region *region)
{
    (void)context, (void)bytes, (void)region;
    return DEVICE_REFUSED;
}

static void bare_region_give(void *context, uint64_t address)
{
    (void)context, (void)address;
}

static const struct device_services bare_services = {
    .size_bytes = sizeof(struct device_services),
    .copy = bare_copy,
    .stage_out = bare_stage_out,
    .stage_in = bare_stage_in,
    .stage_drop = bare_stage_drop,
    .completed_count = bare_zero,
    .event_done = bare_event_done,
    .event_wait = bare_agree,
    .unload = bare_agree,
    .clock_ns = bare_zero,
    .host_alloc = bare_host_alloc,
    .host_free = bare_host_free,
    .region_take = bare_region_take,
    .region_give = bare_region_give,
};

bool bare_open(const struct target *target, const struct setup *setup,
               struct target_instance **instance, char *reason, size_t reason_bytes)
{
    struct target_option options[SETUP_OPTION_COUNT_MAX];
    struct target_contract contract = {0};
    const struct target_setup wanted = {.capacity_bytes = setup->capacity_bytes,
                                        .granule_bytes = setup->granule_bytes,
                                        .options = options,
                                        .option_count = setup->option_count};
    for (uint32_t i = 0; i < setup->option_count; i++) {
        options[i] = (struct target_option){setup->options[i].key, setup->options[i].value};
    }
    if (target->open(&wanted, &bare_services, instance, &contract, reason, reason_bytes) !=
        TARGET_OK) {
        return false;
    }
    const bool is_plain = !contract.regions.grows && !contract.stream_ordered;
    if (!is_plain) {
        target->close(*instance);
        (void)snprintf(reason, reason_bytes, "it takes regions, or orders frees by streams");
    }
    return is_plain;
}
