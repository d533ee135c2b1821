/* explain: the first broken promise of a list, or else its first out-of-memory, in words and
 * numbers, and why it came. */
#include "cli/subcommands.h"
#include "explain/explain.h"

static enum exit_code explain_subcommand(const struct arguments *arguments)
{
    const struct explain_options given = arguments_explaining(arguments);
    return given.alarm_percent > 0 && !given.has_timeline
               ? message_fail(EXIT_USAGE, "--alarm applies to --timeline")
               : explain_run(&given);
}

const struct subcommand subcommand_explain = {
    .name = "explain",
    .summary = "say why: the first broken promise of a file, or otherwise its first out-of-memory",
    .usage = "FILE|DIR [OTHER_FILE] [options]",
    .description =
        "FILE is an .ops file or anything that convert reads.  Explain prints the request, the free memory,\n"
        "who held the rest, what each mitigation had left, and the verdict.  For a premature out-of-memory\n"
        "it prints the plan that would have met the request.  hbmstress replay FILE.ops --certificates DIR\n"
        "gives the proof.  If a message alone lacks the fact that decides, the verdict is unknown.  Explain\n"
        "then prints when it would be premature, and what would settle it.  The verdict is also unknown if\n"
        "the list serves a request that failed in the file.\n\n"
        "For the log of a whole job it first prints which rank failed first, at which step, who only waited,\n"
        "and which warnings were no failure (docs/formats/log.md).  DIR has a log for each rank, host or\n"
        "pod, and may have the output of kubectl about the pods.  Explain also reads a log without an\n"
        "out-of-memory of the device: the host's memory, a time-out, a warning.\n"
        "If hosts of a list wait in vain for another one, it prints who waits for whom and why\n"
        "(docs/hangs.md).  If all clients wait for memory, it prints which one could have continued.\n\n"
        "Then comes the diagnosis: which of the usual causes were found (docs/diagnosis.md), the surest\n"
        "first, with their numbers.  A leak is reported even if the list has no out-of-memory, and on the\n"
        "host that has it, whichever failed.\n\n"
        "Then come the numbers: what is lost to fragmentation, below which size requests succeed, the\n"
        "smallest device that would have sufficed, and the op after which nothing could have avoided the\n"
        "failure (docs/explain.md).  If nothing failed, explain describes the peak, and who held memory\n"
        "then.  If memory grows, it prints when it runs out, and whether each remedy lasts to the last step\n"
        "of the job: the one in the log, or that of --until (docs/advice.md).\n"
        "--timeline prints the same numbers over time, and for each device the memory in use, the peak, a\n"
        "sparkline and the trend.  With --alarm 90%, a line that begins with ALARM follows each device that\n"
        "was filled to 90% or more, and the exit code is 1.  --svg FILE draws memory and the heap.\n\n"
        "With OTHER_FILE, explain compares the two runs, before and after a change: what grew, what is\n"
        "new, what is gone at the peak of each.\n\n"
        "A report of XLA's compiler is shown as one: nothing ran, so nothing is replayed.  Explain prints\n"
        "what the program needs, what fragmentation and padding lose, every allocation that is listed, and\n"
        "what the numbers say (docs/formats/hbm_report.md).\n\n"
        "With --what-if, the list is run again under each change that might help (another chip, donation,\n"
        "half the batch ...: docs/what-if.md), and a table shows which fit.  --checkpoint-tags names the tags\n"
        "whose blocks are released and made again, whether steps are seen or not.\n\n"
        "For a list with lanes, explain first prints which lane ran when, in a column for each lane.",
    .exits =
        {[EXIT_KEPT] = "the out-of-memory is justified; nothing failed; or two runs were compared",
         [EXIT_BROKEN] =
             "the out-of-memory is premature, another promise was broken, the target died, or a device alarms",
         [EXIT_USAGE] = "bad usage or input",
         [EXIT_UNKNOWN] = "the verdict is unknown: the file lacks the fact that decides",
         [EXIT_HARNESS] = "hbmstress itself failed or its judges disagree"},
    .examples = {"hbmstress explain job.log", "hbmstress explain logs/run-7",
                 "hbmstress explain crash.log --chip v4",
                 "hbmstress explain crash.log --chip v4 --what-if --what-if-out variants",
                 "hbmstress explain crash.log --checkpoint-tags activations,attention",
                 "hbmstress explain begun.ops --until 80000",
                 "hbmstress explain snapshot.pickle --timeline --svg memory.svg",
                 "hbmstress explain job.ops --timeline --alarm 90%",
                 "hbmstress explain before.pickle after.pickle",
                 "hbmstress explain out/repros/deadlock-queued_free_race-7.ops"},
    .options = "--format --target --target-option --chip --capacity --hosts --kv-bytes-per-token "
               "--kv-tokens-per-second --trial-timeout --op-timeout --what-if --what-if-out "
               "--checkpoint-tags --timeline --alarm --until --svg --json",
    .word_count_min = 1,
    .word_count_max = 2,
    .word_name = "FILE",
    .word_hint = ", a DIR, or - for standard input",
    .run = explain_subcommand,
};
