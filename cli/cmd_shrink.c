/* shrink: fewer ops that end in the same finding. */
#include "campaign/base/ops_output.h"
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "campaign/process/death.h"
#include "campaign/process/shrink_process.h"
#include "cli/subcommands.h"
#include "recording/recording.h"

#include <inttypes.h>

/* What the shorter list shows. */
static const char *name_effect(const struct shrunk *shrunk)
{
    if (shrunk->first.kind == VERDICT_DISPUTED) {
        return "no promise, but the judges of hbmstress disagree";
    }
    return shrunk->signature;
}

static enum exit_code save_shrunk(const struct arguments *arguments,
                                  const struct recording *recording, const struct shrunk *shrunk)
{
    char headline[VERDICT_REASON_BYTES + SIGNATURE_BYTES + 16], shrunk_from[96];
    struct writing comments;
    snprintf(headline, sizeof headline, "breaks %s: %s", name_effect(shrunk), shrunk->first.reason);
    snprintf(shrunk_from, sizeof shrunk_from, "shrunk from %zu ops in %" PRIu64 " replays%s",
             recording->ops.count, shrunk->replays,
             shrunk->is_minimal ? "; no single op can be removed" : "");
    const struct repro repro = {.ops = &shrunk->ops,
                                .headline = headline,
                                .shrunk_from = shrunk_from,
                                .not_to_the_end = shrunk->cut};
    writing_init(&comments);
    repro_append_comments(&repro, &comments);
    target_path_append_comment(&comments, shrunk->setup.target, arguments->output);
    const enum exit_code code = ops_output(arguments->output, &shrunk->setup, &shrunk->ops,
                                           writing_string(&comments));
    if (code == EXIT_KEPT) {
        message_note("%zu of %zu ops are left after %" PRIu64 " replays, and break %s%s%s",
                     shrunk->ops.count, recording->ops.count, shrunk->replays, name_effect(shrunk),
                     shrunk->cut[0] == '\0' ? "" : "; a shorter list may exist: ", shrunk->cut);
    }
    writing_deinit(&comments);
    if (code != EXIT_KEPT) {
        return code;
    }
    return shrunk->first.kind == VERDICT_DISPUTED ? EXIT_HARNESS : EXIT_BROKEN;
}

static enum exit_code shrink_recording(const struct arguments *arguments,
                                       const struct recording *recording)
{
    struct shrunk shrunk = {0};
    op_list_init(&shrunk.ops);
    enum exit_code code;
    const struct shrink_process shrink_process = {.target = recording->target,
                                                  .setup = &recording->setup,
                                                  .ops = &recording->ops,
                                                  .replay_count_max = arguments->run.shrink_budget,
                                                  .duration_ns = arguments->run.duration_ns,
                                                  .changes_setup = true};
    death_set_op_timeout(arguments->run.op_timeout_ns);
    switch (shrink_process_run(&shrink_process, &shrunk)) {
    case SHRINK_PROCESS_DONE:
        code = save_shrunk(arguments, recording, &shrunk);
        break;
    case SHRINK_PROCESS_NOT_BROKEN:
        code =
            shrunk.signature[0] == '\0'
                ? message_fail(
                      EXIT_USAGE,
                      "%s: the list breaks no promise of target %s, so there is nothing to shrink",
                      arguments->words[0], recording->setup.target)
                : message_fail(
                      EXIT_BROKEN,
                      "%s: the list breaks %s, but not in every replay, so nothing shorter is written",
                      arguments->words[0], shrunk.signature);
        break;
    default:
        code = message_fail(EXIT_HARNESS, "%s: %s", arguments->words[0], shrunk.why);
        break;
    }
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return code;
}

static enum exit_code shrink_subcommand(const struct arguments *arguments)
{
    struct recording recording;
    struct place place;
    if (arguments->output != NULL &&
        place_find(arguments->output, arguments->words[0], &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    enum exit_code code = recording_read(arguments->words[0], arguments_reading(arguments), false,
                                         &recording);
    if (code == EXIT_KEPT) {
        code = shrink_recording(arguments, &recording);
    }
    recording_deinit(&recording);
    return code;
}

static const char *const options[] = {"--output",     "--shrink-budget", "--time",
                                      "--op-timeout", "--target",        "--target-option",
                                      "--chip",       "--capacity",      NULL};

static const char *const examples[] = {
    "hbmstress shrink crash.ops -o small.ops",
    NULL,
};

static const char *const exits[EXIT_MEANING_COUNT] = {
    [EXIT_BROKEN] =
        "the shorter list shows the finding; or the list shows it only sometimes, and nothing is written",
    [EXIT_USAGE] = "bad usage or input, or the list breaks no promise",
    [EXIT_HARNESS] = "hbmstress itself failed or its judges disagree",
};

const struct subcommand subcommand_shrink = {
    .name = "shrink",
    .summary = "find a shorter op list that gives the same finding",
    .usage = "FILE.ops [options]",
    .description =
        "Removes ops, searches for fewer that do the same, and simplifies sizes and the device.  The finding\n"
        "stays the same: the same rule broken in the same kind of op, the same crash in the same place, or\n"
        "the same hang.  The same list gives the same result.  Shrink runs the result three more times, in\n"
        "fresh processes, and writes it to standard output or to --output.\n\n"
        "After --time (default 10m), or at ctrl-C, the result is the shortest list found so far.",
    .exits = exits,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE.ops",
    .run = shrink_subcommand,
};
