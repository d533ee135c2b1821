/* Prints what an op costs: raw through the target's table, and checked by the whole harness, for
 * targets null and hbm at three counts of live blocks.  Prints only; what is good enough is for
 * people to say. */
#include "bench/measure.h"
#include "harness/base/check.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint32_t block_counts[] = {1000, 10000, 100000};

/* The null target has slots of one size, which must hold the largest request. */
static const struct {
    const char *name;
    struct target_option option;
    bool has_slots;
} subjects[] = {{.name = "null", .option = {"slot", "1048576"}, .has_slots = true},
                {.name = "hbm"}};
static_assert(WORKLOAD_SIZE_BYTES_MAX == 1048576, "the slot of the null target");

enum { STEP_COUNT = 250000, SEED = 1 };

static void print_row(uint32_t block_count, const char *what, const char *target,
                      const struct measurement *result)
{
    if (result->op_count == 0) {
        printf("%8u  %-8s %-6s %10s  %s\n", block_count, what, target, "-", result->note);
        return;
    }
    printf("%8u  %-8s %-6s %10.1f %10" PRIu64 " %9" PRIu64 "  %s\n", block_count, what, target,
           result->ns_per_op, result->op_count, result->refused_count, result->note);
}

static void bench_block_count(uint32_t block_count, const struct measure_limits *limits)
{
    struct workload workload;
    struct measurement result;
    workload_init(&workload, block_count, STEP_COUNT, SEED);
    measure_empty(&workload, limits, &result);
    print_row(block_count, "empty", "-", &result);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        const uint64_t live_bytes = subjects[i].has_slots ? block_count * WORKLOAD_SIZE_BYTES_MAX
                                                          : workload.live_bytes;
        const struct measured_target measured = {
            .target = target_find(subjects[i].name),
            .capacity_bytes = workload_capacity_bytes(live_bytes),
            .option = subjects[i].option};
        CHECK(measured.target != NULL);
        measure_raw(&measured, &workload, limits, &result);
        print_row(block_count, "raw", subjects[i].name, &result);
        measure_checked(&measured, &workload, limits, &result);
        print_row(block_count, "checked", subjects[i].name, &result);
        fflush(stdout);
    }
    workload_deinit(&workload);
}

int main(int argument_count, char **arguments)
{
    const bool is_quick = argument_count == 2 && strcmp(arguments[1], "--quick") == 0;
    if (argument_count > 1 && !is_quick) {
        fprintf(stderr, "usage: %s [--quick]\n", arguments[0]);
        return 2;
    }
    struct measure_limits limits = {.repeat_count = is_quick ? 1 : 7,
                                    .second_count_max = is_quick ? 0.05 : 1.0};
    printf(
        "ns per op (one free or one alloc), median of %u repeats; device 70 %% full; sizes log-uniform "
        "from 512 B to 1 MiB; seed %d\n",
        limits.repeat_count, SEED);
    printf("%8s  %-8s %-6s %10s %10s %9s\n", "blocks", "what", "target", "ns per op", "ops",
           "refused");
    for (size_t i = 0; i < sizeof block_counts / sizeof block_counts[0]; i++) {
        bench_block_count(block_counts[i], &limits);
        if (is_quick) {
            break;
        }
    }
    return 0;
}
