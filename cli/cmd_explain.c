/* explain: the first broken promise of a list, or else its first out-of-memory, in words and
 * numbers, and why it came. */
#include "campaign/base/interrupt.h"
#include "campaign/base/place.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "cli/subcommands.h"
#include "explain/compare.h"
#include "explain/log.h"
#include "explain/two_runs.h"
#include "explain/report.h"
#include "explain/what_if.h"
#include "recording/picture.h"
#include "recording/recording.h"

#include <errno.h>
#include <string.h>
static enum exit_code fail_without_answer(const struct arguments *arguments, enum child_end end,
                                          const char *death)
{
    const char *path = arguments->words[0];
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was explained");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the list did not end within --trial-timeout or --op-timeout; hbmstress replay reports at which op",
            path);
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error: %s", path, death);
    }
    if (end == CHILD_DIED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the target ended its process: %s; hbmstress replay reports at which op", path,
            death);
    }
    return message_fail(EXIT_HARNESS,
                        "%s: the target now refuses the setup that it accepted before", path);
}

static bool is_whole_answer(const struct writing *answer)
{
    uint64_t svg_bytes;
    const size_t least = sizeof svg_bytes + sizeof(enum exit_code);
    if (answer->length < least) {
        return false;
    }
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    return svg_bytes <= answer->length - least;
}

/* Writes the picture where it is wanted, and prints the text. */
static enum exit_code take_answer(const struct arguments *arguments, const struct writing *answer)
{
    uint64_t svg_bytes;
    struct writing text;
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    const size_t start = sizeof svg_bytes + (size_t)svg_bytes;
    writing_init(&text);
    writing_append_bytes(&text, answer->bytes + start, answer->length - start);
    enum exit_code code = output_answer(arguments->run.is_json, &text);
    writing_deinit(&text);
    if (arguments->svg != NULL && svg_bytes > 0) {
        const enum exit_code written = picture_write(
            arguments->svg, answer->bytes + sizeof svg_bytes, (size_t)svg_bytes);
        code = written == EXIT_KEPT ? code : written;
    } else if (arguments->svg != NULL) {
        message_note("%s: not written, as no memory was ever in use", arguments->svg);
    }
    return code;
}

static enum exit_code explain_recording(const struct arguments *arguments,
                                        const struct recording *recording)
{
    struct explain_work work = {recording, arguments};
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    writing_init(&answer);
    death_set_op_timeout(arguments->run.op_timeout_ns);
    const enum child_end end = child_run(explain_and_answer, &work, arguments->run.trial_timeout_ns,
                                         true, &answer, death);
    const bool is_answered = end == CHILD_DONE && is_whole_answer(&answer);
    const enum exit_code code = is_answered ? take_answer(arguments, &answer)
                                            : fail_without_answer(arguments, end, death);
    writing_deinit(&answer);
    return code;
}

/* A compiler's report is told without a run; what a runtime's failure has of one comes behind. */
static enum exit_code explain_file(const struct arguments *arguments,
                                   const struct recording *recording)
{
    return explain_report_is_told(recording)
               ? explain_report(arguments, recording)
               : explain_report_after(arguments, recording,
                                      explain_recording(arguments, recording));
}

/* With what the options of --what-if ask for there must be a list. */
static enum exit_code check_what_if(const struct arguments *arguments,
                                    const struct recording *recording)
{
    if (recording->why_no_list[0] == '\0') {
        return what_if_check(arguments, recording);
    }
    return arguments->has_what_if || arguments->what_if_out != NULL ||
                   arguments->checkpoint_tags != NULL
               ? fail_in_file(arguments->words[0], 0, 0, recording->why_no_list)
               : EXIT_KEPT;
}

/* What the log tells, where there is no list: because it needs none (code is EXIT_KEPT), or because
 * it could not be read. */
static enum exit_code explain_log_only(const struct arguments *arguments,
                                       const struct recording *recording, enum exit_code code)
{
    struct writing text;
    writing_init(&text);
    if (code == EXIT_KEPT) {
        explain_log_alone(&recording->story, recording->why_no_list, arguments->run.is_json, &text);
    } else if (recording->story.event_count > 1 || recording->story.source_count > 1) {
        explain_log(&recording->story, arguments->run.is_json, &text);
    }
    if (!writing_print(&text, stdout)) {
        code = message_fail(EXIT_HARNESS, "standard output: %s", strerror(errno));
    }
    writing_deinit(&text);
    return code;
}

static enum exit_code explain_subcommand(const struct arguments *arguments)
{
    struct recording recording;
    struct place place;
    if (arguments->word_count == 2) {
        return explain_compare(arguments);
    }
    if (arguments->svg != NULL &&
        place_find(arguments->svg, arguments->words[0], &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    enum exit_code code = recording_read_to_tell(arguments->words[0], arguments_reading(arguments),
                                                 &recording);
    if (code != EXIT_KEPT ||
        (recording.why_no_list[0] != '\0' && recording.compile_report == NULL)) {
        code = explain_log_only(arguments, &recording, code);
        recording_deinit(&recording);
        return code;
    }
    if (arguments->run.until_step > 0) {
        recording.setup.until_step = arguments->run.until_step;
    }
    if (code == EXIT_KEPT) {
        code = check_what_if(arguments, &recording);
    }
    if (code == EXIT_KEPT) {
        code = what_if_explain(arguments, &recording, explain_file(arguments, &recording));
    }
    recording_deinit(&recording);
    return code;
}

static const char *const options[] = {"--format",
                                      "--target",
                                      "--target-option",
                                      "--chip",
                                      "--capacity",
                                      "--hosts",
                                      "--kv-bytes-per-token",
                                      "--kv-tokens-per-second",
                                      "--trial-timeout",
                                      "--op-timeout",
                                      "--what-if",
                                      "--what-if-out",
                                      "--checkpoint-tags",
                                      "--timeline",
                                      "--until",
                                      "--svg",
                                      "--json",
                                      NULL};

static const char *const examples[] = {
    "hbmstress explain job.log",
    "hbmstress explain logs/run-7",
    "hbmstress explain crash.log --chip v4",
    "hbmstress explain crash.log --chip v4 --what-if --what-if-out variants",
    "hbmstress explain crash.log --checkpoint-tags activations,attention",
    "hbmstress explain begun.ops --until 80000",
    "hbmstress explain snapshot.pickle --timeline --svg memory.svg",
    "hbmstress explain before.pickle after.pickle",
    "hbmstress explain out/repros/deadlock-queued_free_race-7.ops",
    NULL,
};

static const char *const exits[EXIT_MEANING_COUNT] = {
    [EXIT_KEPT] = "the out-of-memory is justified; nothing failed; or two runs were compared",
    [EXIT_BROKEN] =
        "the out-of-memory is premature, another promise was broken, or the target died",
    [EXIT_USAGE] = "bad usage or input",
    [EXIT_UNKNOWN] = "the verdict is unknown: the file lacks the fact that decides",
    [EXIT_HARNESS] = "hbmstress itself failed or its judges disagree",
};

const struct subcommand subcommand_explain = {
    .name = "explain",
    .summary = "say why: the first broken promise of a file, or otherwise its first out-of-memory",
    .usage = "FILE|DIR [OTHER_FILE] [options]",
    .description =
        "FILE is an .ops file or anything that import reads.  Explain prints the request, the free memory,\n"
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
        "--timeline prints the same numbers over time; --svg FILE draws memory and the heap.\n\n"
        "With OTHER_FILE, explain compares the two runs, before and after a change: what grew, what is\n"
        "new, what is gone at the peak of each.\n\n"
        "A report of XLA's compiler is shown as one: nothing ran, so nothing is replayed.  Explain prints\n"
        "what the program needs, what fragmentation and padding lose, every allocation that is listed, and\n"
        "what the numbers say (docs/formats/hbm_report.md).\n\n"
        "With --what-if, the list is run again under each change that might help (another chip, donation,\n"
        "half the batch ...: docs/what-if.md), and a table shows which fit.  --checkpoint-tags names the tags\n"
        "whose blocks are released and made again, whether steps are seen or not.\n\n"
        "For a list with lanes, explain first prints which lane ran when, in a column for each lane.",
    .exits = exits,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 2,
    .word_name = "FILE",
    .word_hint = ", a DIR, or - for standard input",
    .run = explain_subcommand,
};
