/* A field log or a trace becomes a list of ops. */
#include "campaign/base/ops_output.h"
#include "campaign/base/place.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/target_probe.h"
#include "harness/base/size.h"
#include "replay/convert.h"

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

/* Checks that the list which is written can be replayed. */
static enum exit_code check_target(const struct convert_options *options,
                                   struct recording *recording)
{
    struct target_probe target_probe;
    if (recording->setup.capacity_bytes == 0) {
        return EXIT_KEPT; /* an .ops file may leave it to the command line of replay */
    }
    const enum exit_code code = lookup_target_of_list(
        options->reading.run->target == NULL ? options->path : NULL, recording->setup.target,
        &recording->target);
    if (code != EXIT_KEPT) {
        return code;
    }
    return target_probe_run(recording->target, &recording->setup, options->path,
                            options->reading.run->trial_timeout_ns, &target_probe);
}

enum exit_code convert_to_ops(const struct convert_options *options)
{
    struct recording recording = {0};
    struct writing notes;
    struct place place;
    if (options->output != NULL &&
        place_find(options->output, options->path, &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    op_list_init(&recording.ops);
    writing_init(&notes);
    enum exit_code code = recording_import(options->path, options->reading, &recording, &notes);
    if (code == EXIT_KEPT) {
        code = check_target(options, &recording);
    }
    target_path_append_comment(&notes, recording.setup.target, options->output);
    if (code == EXIT_KEPT) {
        code = ops_output(options->output, &recording.setup, &recording.ops,
                          notes.length == 0 ? NULL : writing_string(&notes));
    }
    if (code == EXIT_KEPT && options->output != NULL) {
        code = print_written(options->output, &recording);
    }
    writing_deinit(&notes);
    recording_deinit(&recording);
    return code;
}
