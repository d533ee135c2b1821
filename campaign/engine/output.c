#include "campaign/engine/output.h"

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/base/place.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/checkpoint.h"
#include "harness/base/standard.h"
#include "harness/base/whole_file.h"
#include "present/annotation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void output_init(struct output *output, bool is_json)
{
    *output = (struct output){.is_json = is_json, .results = -1};
}

/* Processes of a campaign that was just killed may hold it for a moment yet: 2 s. */
static bool lock_results(const struct output *output)
{
    for (int i = 0; i < 200; i++) {
        if (flock(output->results, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            return true; /* some file systems have no locks */
        }
        (void)usleep(10000);
    }
    return false;
}

/* A folder that was given to us may have anything under that name. */
static enum exit_code fail_open(const char *path)
{
    const bool is_link = errno == ELOOP, is_no_file = errno == EISDIR || errno == ENXIO;
    return message_fail(is_link || is_no_file ? EXIT_USAGE : EXIT_HARNESS, "%s: %s", path,
                        is_link ? "it is a link, and none is followed there" : strerror(errno));
}

enum exit_code output_open_results(struct output *output, const char *directory,
                                   uint64_t saved_bytes)
{
    const enum exit_code code = place_make_folder(directory);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (snprintf(output->path, sizeof output->path, "%s/results.jsonl", directory) + 16 >
        OUTPUT_PATH_BYTES) {
        return message_fail(EXIT_USAGE, "%s: %s", directory, strerror(ENAMETOOLONG));
    }
    output->results = open(output->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                           0666);
    if (output->results < 0) {
        return fail_open(output->path);
    }
    if (below_refusal(output->results) != NULL) {
        return message_fail(EXIT_USAGE, "%s: %s", output->path, below_refusal(output->results));
    }
    if (!lock_results(output)) {
        return message_fail(EXIT_USAGE, "%s: another process is writing to it", output->path);
    }
    if (lseek(output->results, 0, SEEK_END) < (off_t)saved_bytes) {
        return message_fail(EXIT_USAGE, "%s: the file is shorter than its checkpoint records",
                            output->path);
    }
    if (saved_bytes == 0) {
        checkpoint_forget(directory);
    }
    if (!campaign_view_forget(directory)) {
        return EXIT_HARNESS;
    }
    if (ftruncate(output->results, (off_t)saved_bytes) != 0 ||
        lseek(output->results, 0, SEEK_END) != (off_t)saved_bytes) {
        return message_fail(EXIT_HARNESS, "%s: %s", output->path, strerror(errno));
    }
    output->results_bytes = saved_bytes;
    return EXIT_KEPT;
}

static void fail_output(struct output *output, const char *where)
{
    if (!output->is_failed && !output->is_silent) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", where, strerror(errno));
    }
    output->is_failed = true;
}

static void fail_standard(struct output *output)
{
    if (errno != EPIPE) {
        fail_output(output, "standard output");
    }
    output->is_pipe_closed = true;
}

void output_line_to_results(struct output *output, const struct writing *line)
{
    if (output->results < 0 || output->is_failed) {
        return;
    }
    writing_append_bytes(&output->waiting, line->bytes, line->length);
    output->results_bytes += line->length;
}

static void print_standard(struct output *output, const struct writing *text)
{
    struct writing disarmed;
    writing_init(&disarmed);
    if (output->is_of_github) {
        annotation_append_disarmed(&disarmed, text, output->is_json);
    }
    if (!output->is_pipe_closed &&
        !writing_print(output->is_of_github ? &disarmed : text, standard_output())) {
        fail_standard(output);
    }
    writing_deinit(&disarmed);
}

void output_line_to_standard(struct output *output, const struct writing *line)
{
    if (output->is_json) {
        print_standard(output, line);
    }
}

void output_line(struct output *output, const struct writing *line)
{
    output_line_to_results(output, line);
    output_line_to_standard(output, line);
}

void output_text(struct output *output, const struct writing *text)
{
    if (!output->is_json) {
        print_standard(output, text);
    }
}

void output_take_line(struct output *output, struct writing *line)
{
    output_line(output, line);
    writing_clear(line);
}

void output_take_text(struct output *output, struct writing *text)
{
    output_text(output, text);
    writing_clear(text);
}

void output_commands(struct output *output, const struct writing *text)
{
    if (output->is_json) {
        /* When standard error is gone there is nobody left to tell. */
        (void)writing_print(text, standard_error());
    } else if (!output->is_pipe_closed && !writing_print(text, standard_output())) {
        fail_standard(output);
    }
}

void output_step(struct output *output, const struct writing *text)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    if (path == NULL || path[0] == '\0') {
        return;
    }
    FILE *file = fopen(path, "ae");
    const bool is_written = file != NULL && writing_print(text, file);
    if ((file != NULL && fclose(file) != 0) || !is_written) {
        fail_output(output, path);
    }
}

/* On a full disk the file is cut back to the lines that are whole. */
static void flush_results(struct output *output)
{
    const uint64_t whole_bytes = output->results_bytes - output->waiting.length;
    for (size_t done = 0; done < output->waiting.length;) {
        const ssize_t put = write(output->results, output->waiting.bytes + done,
                                  output->waiting.length - done);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            fail_output(output, output->path);
            output->results_bytes = whole_bytes;
            (void)!ftruncate(output->results, (off_t)whole_bytes);
            break;
        }
        done += (size_t)put;
    }
    writing_clear(&output->waiting);
}

bool output_report(void *context, const struct report_sink *sink, enum report_kind kind,
                   const struct writing *text)
{
    struct output *output = context;
    (void)kind;
    if (sink->form == REPORT_LINES) {
        output_line(output, text);
    } else if (sink->form == REPORT_PEOPLE) {
        output_text(output, text);
    } else if (sink->form == REPORT_COMMANDS) {
        output_commands(output, text);
    } else if (sink->form == REPORT_STEP) {
        output_step(output, text);
    }
    output_flush(output);
    return !output->is_failed;
}

void output_flush(struct output *output)
{
    if (!output->is_pipe_closed && fflush(standard_output()) != 0) {
        fail_standard(output);
    }
    if (output->results >= 0 && !output->is_failed) {
        flush_results(output);
    }
}

void output_facts(struct output *output, struct facts *facts)
{
    struct writing text = {0};
    facts_print(facts, output->is_json ? FACTS_JSON : FACTS_WORDS, &text);
    if (output->is_json) {
        output_line(output, &text);
    } else {
        output_text(output, &text);
    }
    output_flush(output);
    writing_deinit(&text);
    facts_clear(facts);
}

void output_close(struct output *output)
{
    output_flush(output);
    if (output->results >= 0 && close(output->results) != 0) {
        fail_output(output, output->path);
    }
    output->results = -1;
    writing_deinit(&output->waiting);
}

enum exit_code output_once(bool is_json, struct writing *text, enum exit_code code)
{
    struct output output;
    output_init(&output, is_json);
    output_line(&output, text);
    output_text(&output, text);
    output_flush(&output);
    writing_deinit(text);
    return output.is_failed ? EXIT_HARNESS : code;
}

enum exit_code output_answer(bool is_json, const struct writing *answer)
{
    enum exit_code code;
    struct writing text;
    memcpy(&code, answer->bytes, sizeof code);
    writing_init(&text);
    writing_append_bytes(&text, answer->bytes + sizeof code, answer->length - sizeof code);
    return output_once(is_json, &text, code);
}

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
