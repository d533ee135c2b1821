#include "campaign/engine/annotate.h"

#include "campaign/base/message.h"
#include "campaign/base/place.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *get_directory(const struct run_options *options)
{
    return options->out == NULL ? "out" : options->out;
}

static void print_path(const struct run_options *options, char path[FILE_PATH_BYTES])
{
    (void)snprintf(path, FILE_PATH_BYTES, "%.3800s/%s", get_directory(options),
                   ANNOTATION_GITLAB_NAME);
}

enum exit_code annotate_begin(const struct run_options *options)
{
    char path[FILE_PATH_BYTES];
    print_path(options, path);
    if (options->annotation != ANNOTATION_GITLAB || unlink(path) == 0 || errno == ENOENT ||
        errno == ENOTDIR) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
}

static enum exit_code write_report(const struct run_options *options, const struct writing *text)
{
    char path[FILE_PATH_BYTES];
    print_path(options, path);
    const enum exit_code code = place_make_folder(get_directory(options));
    if (code != EXIT_KEPT) {
        return code;
    }
    return whole_file_write(path, text->bytes, text->length, true)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
}

enum exit_code annotate_put(const struct run_options *options, struct output *output,
                            const char *heading, const struct annotations *annotations)
{
    enum exit_code code = EXIT_KEPT;
    struct writing text;
    writing_init(&text);
    if (options->annotation == ANNOTATION_GITLAB) {
        annotations_print_gitlab(&text, annotations);
        code = write_report(options, &text);
    } else if (options->annotation == ANNOTATION_GITHUB) {
        annotations_print_github(&text, annotations);
        output_commands(output, &text);
        output_flush(output);
        writing_clear(&text);
        annotations_print_markdown(&text, heading, annotations);
        output_step(output, &text);
    }
    writing_deinit(&text);
    return output->is_failed ? EXIT_HARNESS : code;
}
