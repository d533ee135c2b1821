#include "cli/cmd_sweep.h"

#include "campaign/sweep/sweeping.h"
#include "campaign/trials/last_words.h"

/* --faults: none alone, over what a job says. */
static const char *const taken_options[] = {
    "--sweep",      "--job",      "--target",        "--target-option", "--chip",
    "--capacity",   "--hosts",    "--seed",          "--ops",           "--workers",
    "--out",        "--json",     "--shrink-budget", "--trial-timeout", "--op-timeout",
    "--regret-max", "--rounding", "--weights",       "--faults",        NULL};

static enum exit_code check_options(const struct arguments *arguments)
{
    if (arguments->run.lanes.lane_count != 0 || lane_options_how(&arguments->run.lanes) != NULL) {
        return message_fail(
            EXIT_USAGE,
            "--sweep fails the device calls of one client, one by one; it accepts no lanes");
    }
    if (arguments->run.duration_ns != 0) {
        return message_fail(
            EXIT_USAGE,
            "--sweep ends when it has failed every call; bound it with --ops, not with --time");
    }
    if (arguments->run.faults.kinds != 0) {
        return message_fail(EXIT_USAGE,
                            "--sweep arms every fault itself; it accepts only --faults none");
    }
    const char *other = arguments_gave_besides(arguments, taken_options);
    if (other != NULL) {
        return message_fail(EXIT_USAGE, "%s applies to a campaign; --sweep does not accept it",
                            other);
    }
    if (arguments->run.op_count_max > LAST_OP_COUNT_MAX) {
        return message_fail(EXIT_USAGE, "--ops: a sweep accepts at most %d", LAST_OP_COUNT_MAX);
    }
    return EXIT_KEPT;
}

enum exit_code cmd_sweep_run(const struct arguments *arguments)
{
    const enum exit_code code = check_options(arguments);
    return code == EXIT_KEPT ? sweeping_run(&arguments->run) : code;
}
