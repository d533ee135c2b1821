/* import: a field log or a trace becomes a list of ops. */
#include "cli/lookup.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "harness/ops_file.h"
#include "harness/size.h"

#include <errno.h>
#include <string.h>

static enum exit_code print_standard(const struct recording *recording, const char *notes)
{
    ops_file_print(stdout, &recording->setup, &recording->ops, notes[0] == '\0' ? NULL : notes);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_KEPT;
    return errno == EPIPE ? EXIT_KEPT : message_fail(EXIT_HARNESS, "standard output: %s", strerror(errno));
}

static enum exit_code write_file(const char *path, const struct recording *recording, const char *notes)
{
    struct ops_file_error error = {0};
    if (ops_file_write(path, &recording->setup, &recording->ops, notes[0] == '\0' ? NULL : notes, &error) != OPS_FILE_OK)
        return message_fail(EXIT_HARNESS, "%s: %s", path, error.reason);
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

static enum exit_code import_subcommand(const struct arguments *arguments)
{
    struct recording recording = {0};
    struct writing notes;
    op_list_init(&recording.ops);
    writing_init(&notes);
    enum exit_code code = recording_import(arguments->words[0], arguments, &recording, &notes);
    if (code == EXIT_KEPT && arguments->output == NULL)
        code = print_standard(&recording, writing_string(&notes));
    else if (code == EXIT_KEPT)
        code = write_file(arguments->output, &recording, writing_string(&notes));
    writing_deinit(&notes);
    op_list_deinit(&recording.ops);
    return code;
}

static const char *const options[] = {"--format", "--output", "--target", "--target-option", "--chip", "--capacity",
                                      "--hosts", "--seed", NULL};

const struct subcommand subcommand_import = {
    .name = "import",
    .summary = "turn a field log or a trace into a list of ops",
    .usage = "FILE [options]",
    .description = "The format is recognised by the text (list formats), or named with --format.\n"
                   "A fact that is missing is named, with its line; nothing is written then.\n\n"
                   "Example: hbmstress import crash.log -o crash.ops --chip v4",
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = import_subcommand,
};
