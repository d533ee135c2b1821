/* pod: runs each host of a list as a process of its own, in real time. */
#include "campaign/base/file.h"
#include "campaign/plan/plan.h"
#include "campaign/process/death.h"
#include "cli/subcommands.h"
#include "harness/lanes/lanes_list.h"
#include "pod/pod.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS UINT64_C(5000000000)
#define PACE_DEFAULT 0.001
#define PACE_MAX 1000.0

static const char *read_variable(const char *name)
{
    return getenv(name);
}

static enum exit_code read_pace(const struct arguments *arguments, double *pace)
{
    char *end = NULL;
    *pace = arguments->pace == NULL ? PACE_DEFAULT : strtod(arguments->pace, &end);
    return arguments->pace == NULL || (*end == '\0' && *pace >= 0 && *pace <= PACE_MAX)
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "--pace '%s' is not a number from 0 to 1000",
                              arguments->pace);
}

/* Finds this process's rank: as it is given, or as mpirun or srun says. */
static enum exit_code find_rank(const struct arguments *arguments, uint32_t host_count,
                                uint32_t *rank)
{
    struct rank found = {.index = arguments->rank, .count = host_count};
    char reason[RANK_REASON_BYTES];
    if (!arguments_has(arguments, "--rank") && !rank_find(read_variable, &found, reason)) {
        return message_fail(EXIT_USAGE, "--meet without --rank: %s", reason);
    }
    if (found.count != host_count) {
        return message_fail(EXIT_USAGE,
                            "%" PRIu64 " ranks were started, but the list has %" PRIu32 " hosts",
                            found.count, host_count);
    }
    if (found.index >= host_count) {
        return message_fail(EXIT_USAGE, "--rank %" PRIu64 ": the list has %" PRIu32 " hosts",
                            found.index, host_count);
    }
    *rank = (uint32_t)found.index;
    return EXIT_KEPT;
}

/* Refuses ranks that do not meet: each would be a pod, and all would write to one directory. */
static enum exit_code check_alone(const struct arguments *arguments)
{
    struct rank found;
    char reason[RANK_REASON_BYTES];
    if (arguments_has(arguments, "--rank")) {
        return message_fail(EXIT_USAGE, "--rank applies to a rank that meets others; also give "
                                        "--meet HOST:PORT");
    }
    return rank_find(read_variable, &found, reason) && found.count > 1
               ? message_fail(EXIT_USAGE,
                              "this is one of %" PRIu64 " processes that mpirun or srun started; "
                              "give --meet HOST:PORT, so that they are one pod",
                              found.count)
               : EXIT_KEPT;
}

static enum exit_code check_list(const struct recording *recording, const char *path)
{
    if (lanes_are_in(&recording->ops)) {
        return message_fail(EXIT_USAGE,
                            "%s: a list with lanes has one clock for all its hosts; "
                            "a pod cannot run it",
                            path);
    }
    if (recording->setup.shared_hosts != 0) {
        return message_fail(EXIT_USAGE,
                            "%s: its hosts share a device; in a pod each has one of its own", path);
    }
    if (!recording->setup.has_clocks && recording->setup.host_count > 1) {
        message_note("%s: its hosts share one clock; here each has its own, as with 'clocks own'",
                     path);
    }
    return EXIT_KEPT;
}

static enum exit_code run_pod(const struct arguments *arguments, struct pod_plan *plan)
{
    enum exit_code code = check_list(plan->recording, arguments->words[0]);
    if (code == EXIT_KEPT) {
        code = arguments->meet == NULL
                   ? check_alone(arguments)
                   : find_rank(arguments, plan->recording->setup.host_count, &plan->rank);
    }
    if (code == EXIT_KEPT && !make_directories(plan->directory)) {
        code = message_fail(EXIT_USAGE, "%s cannot be made: %s", plan->directory, strerror(errno));
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    return plan->meet == NULL || plan->rank == 0 ? pod_keep(plan) : pod_follow(plan);
}

static enum exit_code read_and_run(const struct arguments *arguments)
{
    static struct recording recording;
    struct pod_plan plan = {.recording = &recording,
                            .directory = arguments->run.out,
                            .meet = arguments->meet,
                            .patience_ns = arguments->patience_ns == 0 ? PATIENCE_NS
                                                                       : arguments->patience_ns,
                            .is_json = arguments->run.is_json};
    enum exit_code code = read_pace(arguments, &plan.pace);
    if (code == EXIT_KEPT) {
        code = recording_read(arguments->words[0], arguments_reading(arguments), false, &recording);
        code = code == EXIT_KEPT ? run_pod(arguments, &plan) : code;
        recording_deinit(&recording);
    }
    return code;
}

static enum exit_code pod_subcommand(const struct arguments *arguments)
{
    static const char of_merge[] = "--merge --output --json";
    if (arguments->merge != NULL) {
        const char *other = arguments_gave_besides(arguments, of_merge);
        if (other != NULL || arguments->word_count > 0) {
            return message_fail(EXIT_USAGE, "--merge runs no rank: %s does not apply",
                                other != NULL ? other : arguments->words[0]);
        }
        return pod_merge(arguments->merge, arguments->output);
    }
    if (arguments->word_count == 0) {
        return message_fail(EXIT_USAGE, "pod: give LIST.ops, or --merge DIR");
    }
    if (arguments->output != NULL) {
        return message_fail(EXIT_USAGE,
                            "--output applies to --merge; the ranks write to --out DIR");
    }
    if (arguments->run.out == NULL) {
        return message_fail(EXIT_USAGE, "pod: give --out DIR, where the ranks write what they do");
    }
    death_set_op_timeout(arguments->run.op_timeout_ns);
    return read_and_run(arguments);
}

const struct subcommand subcommand_pod = {
    .name = "pod",
    .summary = "run each host of a list as a process of its own, in real time",
    .usage = "LIST.ops --out DIR [options]\n       hbmstress pod --merge DIR [-o FILE.ops]",
    .description =
        "Each host of the list is a rank: a process with its own allocator, which runs the ops of that host.\n"
        "It waits at a collective until the other members of its group are there.  A rank that is killed or\n"
        "stopped, or whose target crashes, costs only itself: those that wait for it are told so, and go on.\n"
        "At the end each rank is reported, and who waited in vain for whom, since when.\n\n"
        "DIR gets rank-R.ops (what each rank did, up to the op under way when it is killed), arrivals (the\n"
        "order in which ranks came to collectives) and processes (which process is which rank).\n"
        "--merge makes one list of them, in which that order is kept: replay runs it in lock step.\n\n"
        "With --meet, this is one rank, and rank 0 is the meeting point; mpirun or srun start the others.",
    .exits = {[EXIT_KEPT] = "every allocator kept its promises, whoever died or waited",
              [EXIT_BROKEN] = "an allocator broke a promise",
              [EXIT_USAGE] = "bad usage or input; or this rank has another list than the others",
              [EXIT_UNKNOWN] = "an out-of-memory stayed unknown",
              [EXIT_HARNESS] = "a rank failed, the meeting point is gone, or the user interrupted"},
    .examples = {"hbmstress pod job.ops --out pod",
                 "hbmstress pod --merge pod -o merged.ops && hbmstress replay merged.ops",
                 "mpirun -n 8 hbmstress pod job.ops --out pod --meet node1:7777"},
    .options =
        "--out --pace --patience --meet --rank --merge --output --target --target-option --chip "
        "--capacity --rounding --op-timeout --json",
    .word_count_min = 0,
    .word_count_max = 1,
    .word_name = "LIST.ops",
    .run = pod_subcommand,
};
