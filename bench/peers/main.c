/* Measures libhbm, a checked op and other allocators on the same lists: what an op costs in a
 * steady state, and how much memory a list needs. */
#include "bench/peers/packing.h"
#include "bench/peers/subjects.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "measure/per_op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULL_PERCENT_DEFAULT = 70, SEED = 1, LIVE_COUNT_MAX = 1000000, STEP_COUNT_MAX = 10000000 };

static const char usage[] =
    "usage: bench_peers list\n"
    "       bench_peers ops SUBJECT LIVE STEPS [PERCENT]\n"
    "       bench_peers packing FILE...\n\n"
    "list prints the subjects.  ops fills a device to PERCENT, 70 by default, with LIVE blocks, frees a\n"
    "random one and allocates another one LIVE times, and then STEPS times more, which it measures.  It\n"
    "prints the subject, LIVE, the ns per op and the share of refused allocs.  packing prints how much\n"
    "memory each list needs if nothing moves.\n\n"
    "Example: bench_peers ops libhbm 10000 100000\n";

static int fail(const char *text, const char *word)
{
    (void)fprintf(stderr, "bench_peers: %s%s; see bench_peers --help\n", text, word);
    return 2;
}

static bool parse_count(const char *text, uint64_t most, uint32_t *count)
{
    uint64_t number;
    if (!number_parse(text, strlen(text), &number) || number < 1 || number > most) {
        return false;
    }
    *count = (uint32_t)number;
    return true;
}

/* Returns the same ops with sizes in whole granules, and the capacity that these fill. */
static struct peer_list convert_workload(const struct op_workload *workload, uint32_t live_count,
                                         uint32_t full_percent)
{
    struct peer_op *ops = calloc(workload->ops.count, sizeof *ops);
    CHECK(ops != NULL);
    uint64_t live_bytes = 0;
    for (size_t i = 0; i < workload->ops.count; i++) {
        const struct op *op = &workload->ops.ops[i];
        ops[i] = op->kind == OP_ALLOC ? (struct peer_op){peer_round_up(op->size_bytes), 0}
                                      : (struct peer_op){0, op->ref};
        live_bytes += i < live_count ? ops[i].size_bytes : 0;
    }
    return (struct peer_list){.ops = ops,
                              .count = workload->ops.count,
                              .fill_count = workload->fill_count,
                              .capacity_bytes = workload_capacity_bytes(live_bytes, full_percent),
                              .live_count_max = live_count,
                              .workload = workload};
}

static int print_ops(const struct peer_subject *subject, uint32_t live_count, uint32_t step_count,
                     uint32_t full_percent)
{
    struct op_workload workload;
    /* A device that was only filled has no holes yet. */
    workload_init(&workload, live_count, live_count + step_count, SEED);
    workload.fill_count += 2 * live_count;
    const struct peer_list list = convert_workload(&workload, live_count, full_percent);
    struct played played;
    const bool is_played = subject->play(subject, &list, &played);
    if (is_played) {
        printf("%s %" PRIu32 " %.1f %.4f\n", subject->name, live_count,
               played.ns / (2.0 * step_count),
               (double)played.refused_count / (2.0 * live_count + step_count));
    }
    free((void *)(uintptr_t)list.ops);
    workload_deinit(&workload);
    return is_played ? 0 : fail("no heap of that size: ", subject->name);
}

static int run_ops(int argc, char **argv)
{
    const struct peer_subject *subject = subject_find(argv[2]);
    uint32_t live_count, step_count;
    uint32_t full_percent = FULL_PERCENT_DEFAULT;
    if (subject == NULL) {
        return fail("there is no subject ", argv[2]);
    }
    if (!parse_count(argv[3], LIVE_COUNT_MAX, &live_count) ||
        !parse_count(argv[4], STEP_COUNT_MAX, &step_count)) {
        return fail("LIVE is a number from 1 to 1000000, STEPS one from 1 to 10000000", "");
    }
    if (argc == 6 && !parse_count(argv[5], 100, &full_percent)) {
        return fail("PERCENT is a number from 1 to 100", "");
    }
    return print_ops(subject, live_count, step_count, full_percent);
}

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return fputs(usage, stdout) < 0 ? 4 : 0;
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; subjects[i] != NULL; i++) {
            puts(subjects[i]->name);
        }
        return 0;
    }
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "ops") == 0) {
        return run_ops(argc, argv);
    }
    if (argc >= 3 && strcmp(argv[1], "packing") == 0) {
        return packing_print(argv + 2, argc - 2);
    }
    return fail("bad usage", "");
}
