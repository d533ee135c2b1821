/* replay: runs a recorded list again and judges it again, or searches for fewer ops. */
#include "cli/subcommands.h"
#include "replay/replay.h"

/* Refuses options that only a log accepts. */
static enum exit_code check_log(const struct arguments *arguments)
{
    const char *only = arguments->format != NULL             ? "--format"
                       : arguments->kv_bytes_per_token > 0   ? "--kv-bytes-per-token"
                       : arguments->kv_tokens_per_second > 0 ? "--kv-tokens-per-second"
                                                             : NULL;
    if (only != NULL && !arguments->has_compare) {
        return message_fail(
            EXIT_USAGE, "%s applies to a log, with --compare; an .ops file does not need it", only);
    }
    return EXIT_KEPT;
}

/* Refuses options that only a search accepts, and those that it does not accept. */
static enum exit_code check_search(const struct arguments *arguments)
{
    const char *only = arguments->run.lanes.has_schedules ? "--schedules"
                       : arguments->run.lanes.has_backend ? "--backend"
                       : arguments->run.out != NULL       ? "--out"
                                                          : NULL;
    const char *never = arguments->replay_count != 0      ? "--times"
                        : arguments->after_count != 0     ? "--after"
                        : arguments->certificates != NULL ? "--certificates"
                                                          : NULL;
    if (arguments->run.lanes.strategy == NULL && only != NULL) {
        return message_fail(EXIT_USAGE,
                            "%s applies to a search for other schedules; also give --strategy NAME",
                            only);
    }
    if (arguments->run.lanes.strategy != NULL && arguments->has_compare) {
        return message_fail(
            EXIT_USAGE,
            "--compare compares one run with the log, but --strategy makes many runs; give one of them");
    }
    if (arguments->run.lanes.strategy != NULL && never != NULL) {
        return message_fail(
            EXIT_USAGE,
            "%s repeats the schedule of the file, but --strategy tries others; give one of them",
            never);
    }
    return EXIT_KEPT;
}

/* Refuses options that only the search for fewer ops accepts, and those that it does not. */
static enum exit_code check_shrink(const struct arguments *arguments)
{
    static const char taken[] =
        "--shrink --output --shrink-budget --time --target --target-option --op-timeout "
        "--chip --capacity";
    const char *only = arguments->output != NULL            ? "--output"
                       : arguments_has(arguments, "--time") ? "--time"
                       : arguments_has(arguments, "--shrink-budget") &&
                               arguments->run.lanes.strategy == NULL
                           ? "--shrink-budget"
                           : NULL;
    const char *besides = arguments_gave_besides(arguments, taken);
    if (!arguments->has_shrink && only != NULL) {
        return message_fail(EXIT_USAGE, "%s applies to a search for fewer ops; also give --shrink",
                            only);
    }
    return arguments->has_shrink && besides != NULL
               ? message_fail(EXIT_USAGE, "%s has no meaning with --shrink", besides)
               : EXIT_KEPT;
}

static enum exit_code shrink_given(const struct arguments *arguments)
{
    const struct shrink_options given = {.reading = arguments_reading(arguments),
                                         .path = arguments->words[0],
                                         .output = arguments->output};
    return replay_shrink(&given);
}

static enum exit_code replay_subcommand(const struct arguments *arguments)
{
    const struct replay_options given = {.reading = arguments_reading(arguments),
                                         .path = arguments->words[0],
                                         .after = arguments->after,
                                         .after_count = arguments->after_count,
                                         .certificates = arguments->certificates,
                                         .replay_count = arguments->replay_count,
                                         .has_compare = arguments->has_compare};
    enum exit_code code = check_shrink(arguments);
    code = code == EXIT_KEPT ? check_search(arguments) : code;
    code = code == EXIT_KEPT ? check_log(arguments) : code;
    if (code != EXIT_KEPT) {
        return code;
    }
    return arguments->has_shrink ? shrink_given(arguments) : replay_run(&given);
}

const struct subcommand subcommand_replay = {
    .name = "replay",
    .summary = "run a recorded op list again and judge it again; --shrink finds a shorter one",
    .usage = "FILE.ops [options]",
    .description =
        "Target, options and device come from the file, unless the command line overrides them.  A target\n"
        "other than the file's gets none of the file's options.\n"
        "The list runs twice, and the observations are compared.  Related lists must get the same answers\n"
        "(--replay-sample 0: the list runs once).\n"
        "If hosts wait in vain for another one, replay prints who waits for whom and why; that breaks no\n"
        "promise (docs/hangs.md).\n"
        "With --certificates, each out-of-memory leaves its proof in DIR/op-NUMBER-VERDICT.json, and the\n"
        "list and what it met are written to DIR/list.ops and DIR/observations.jsonl, for hbmstress check or\n"
        "any other checker.  If the judges of hbmstress itself disagree: exit 4.\n\n"
        "A list with lanes has its own schedule, which is repeated exactly.  With --strategy, replay\n"
        "searches other schedules instead: as many as --schedules, or all of them with exhaustive.\n"
        "--out DIR saves the list and the schedule that break a promise.\n\n"
        "With --after, other lists run first in the same process, as trials did before this one.  Only FILE\n"
        "is judged.  It is then also compared with a process in which the target never ran.\n\n"
        "With --shrink, replay searches for fewer ops that show the same finding: the same rule broken in\n"
        "the same kind of op, the same crash in the same place, or the same hang.  It removes ops, and\n"
        "simplifies sizes and the device.  The same list gives the same result.  Replay runs the result\n"
        "three more times, in fresh processes, and writes it to standard output or to --output.  After\n"
        "--time (default 10m), or at ctrl-C, the result is the shortest list found so far.  Exit 1: the\n"
        "shorter list shows the finding, or the list shows it only sometimes, and nothing is written.\n\n"
        "With --compare, FILE is the log itself, in any format that convert knows.  Replay prints the first\n"
        "20 differences, and the totals: requests that the run answered differently from the log, and byte\n"
        "counts that differ.",
    .examples =
        {"hbmstress replay out/repros/premature-fragmentation_storm-7.ops",
         "hbmstress replay crash.log --compare", "hbmstress replay crash.ops --shrink -o small.ops",
         "hbmstress replay out/repros/deadlock-queued_free_race-7.ops --strategy exhaustive=3",
         "hbmstress replay out/repros/premature-fragmentation_storm-7.ops --certificates proofs"},
    .options =
        "--target --target-option --chip --capacity --hosts --seed --replay-sample "
        "--trial-timeout --op-timeout --regret-max --rounding --certificates --times --after "
        "--compare --format --kv-bytes-per-token --kv-tokens-per-second --strategy --schedules "
        "--backend --check-races --shrink --output --time --shrink-budget --out --json",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE.ops",
    .run = replay_subcommand,
};
