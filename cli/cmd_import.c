/* import: a field log or a trace becomes a list of ops. */
#include "campaign/base/ops_output.h"
#include "campaign/base/place.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/target_probe.h"
#include "cli/subcommands.h"
#include "harness/base/size.h"
#include "recording/recording.h"

static enum exit_code print_written(const char *path, const struct recording *recording)
{
    struct output output;
    struct writing text;
    char capacity[SIZE_TEXT_BYTES];
    output_init(&output, false);
    writing_init(&text);
    size_print(recording->setup.capacity_bytes, capacity);
    writing_append_visible(&text, path);
    writing_append_format(&text, ": %zu ops, capacity %s, target ", recording->ops.count, capacity);
    writing_append_visible(&text, recording->setup.target);
    writing_append(&text, "\n");
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

/* What is written must replay. */
static enum exit_code check_target(const struct arguments *arguments, struct recording *recording)
{
    struct target_probe target_probe;
    if (recording->setup.capacity_bytes == 0) {
        return EXIT_KEPT; /* an .ops file may leave it to the command line of replay */
    }
    const enum exit_code code = lookup_target_of_list(
        arguments->run.target == NULL ? arguments->words[0] : NULL, recording->setup.target,
        &recording->target);
    if (code != EXIT_KEPT) {
        return code;
    }
    return target_probe_run(recording->target, &recording->setup, arguments->words[0],
                            arguments->run.trial_timeout_ns, &target_probe);
}

static enum exit_code import_subcommand(const struct arguments *arguments)
{
    struct recording recording = {0};
    struct writing notes;
    struct place place;
    if (arguments->output != NULL &&
        place_find(arguments->output, arguments->words[0], &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    op_list_init(&recording.ops);
    writing_init(&notes);
    enum exit_code code = recording_import(arguments->words[0], arguments_reading(arguments),
                                           &recording, &notes);
    if (code == EXIT_KEPT) {
        code = check_target(arguments, &recording);
    }
    target_path_append_comment(&notes, recording.setup.target, arguments->output);
    if (code == EXIT_KEPT) {
        code = ops_output(arguments->output, &recording.setup, &recording.ops,
                          notes.length == 0 ? NULL : writing_string(&notes));
    }
    if (code == EXIT_KEPT && arguments->output != NULL) {
        code = print_written(arguments->output, &recording);
    }
    writing_deinit(&notes);
    recording_deinit(&recording);
    return code;
}

static const char *const options[] = {
    "--format",   "--output", "--target", "--target-option",      "--chip",
    "--capacity", "--hosts",  "--seed",   "--kv-bytes-per-token", "--kv-tokens-per-second",
    NULL};

static const char *const examples[] = {
    "hbmstress import crash.log -o crash.ops --chip v4",
    "zcat crash.log.1.gz | hbmstress import - --chip v4",
    NULL,
};

const struct subcommand subcommand_import = {
    .name = "import",
    .summary = "turn a field log or a trace into an op list",
    .usage = "FILE [options]",
    .description =
        "Recognises the format by the text (list formats), unless --format names it.\n"
        "If a fact is missing, import names it and its line, and writes nothing.  Here, and wherever a log or\n"
        "an op list is read, - is standard input.",
    .exits = exit_meanings_of_work,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = import_subcommand,
};
