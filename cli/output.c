#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void output_init(struct output *output, bool is_json)
{
    *output = (struct output){.is_json = is_json};
}

bool make_directories(const char *path)
{
    char part[OUTPUT_PATH_BYTES];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(part, path);
    for (char *slash = part + 1; *part != '\0' && (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
    }
    if (mkdir(part, 0777) == 0)
        return true;
    struct stat status;
    int reason = errno;
    if (reason == EEXIST && stat(part, &status) == 0 && !S_ISDIR(status.st_mode))
        reason = ENOTDIR;
    errno = reason;
    return reason == EEXIST;
}

enum exit_code output_open_results(struct output *output, const char *directory)
{
    if (!make_directories(directory)) {
        enum exit_code code = errno == ENOTDIR || errno == ENAMETOOLONG ? EXIT_USAGE : EXIT_HARNESS;
        return message_fail(code, "%s: %s", directory, strerror(errno));
    }
    if (snprintf(output->final_path, sizeof output->final_path, "%s/results.jsonl", directory) + 16 > OUTPUT_PATH_BYTES)
        return message_fail(EXIT_USAGE, "%s: %s", directory, strerror(ENAMETOOLONG));
    struct stat status;
    if (stat(output->final_path, &status) == 0 && S_ISDIR(status.st_mode))
        return message_fail(EXIT_USAGE, "%s: %s", output->final_path, strerror(EISDIR));
    snprintf(output->partial_path, sizeof output->partial_path, "%.4080s.partial", output->final_path);
    output->results = fopen(output->partial_path, "we");
    if (output->results == NULL)
        return message_fail(EXIT_HARNESS, "%s: %s", output->partial_path, strerror(errno));
    return EXIT_KEPT;
}

static void fail(struct output *output, const char *where)
{
    if (!output->is_failed && !output->is_silent)
        (void)message_fail(EXIT_HARNESS, "%s: %s", where, strerror(errno));
    output->is_failed = true;
}

static void fail_standard(struct output *output)
{
    if (errno != EPIPE)
        fail(output, "standard output");
    output->is_pipe_closed = true;
}

void output_line_to_results(struct output *output, const struct writing *line)
{
    if (output->results == NULL || output->is_failed)
        return;
    if (!writing_print(line, output->results))
        fail(output, output->final_path);
    output->results_bytes += line->length;
}

void output_line_to_standard(struct output *output, const struct writing *line)
{
    if (output->is_json && !output->is_pipe_closed && !writing_print(line, stdout))
        fail_standard(output);
}

void output_line(struct output *output, const struct writing *line)
{
    output_line_to_results(output, line);
    output_line_to_standard(output, line);
}

void output_text(struct output *output, const struct writing *text)
{
    if (!output->is_json && !output->is_pipe_closed && !writing_print(text, stdout))
        fail_standard(output);
}

void output_flush(struct output *output)
{
    if (!output->is_pipe_closed && fflush(stdout) != 0)
        fail_standard(output);
    if (output->results != NULL && !output->is_failed && fflush(output->results) != 0)
        fail(output, output->final_path);
}

void output_close(struct output *output)
{
    output_flush(output);
    if (output->results == NULL)
        return;
    if (!output->is_failed && fsync(fileno(output->results)) != 0)
        fail(output, output->final_path);
    if (fclose(output->results) != 0 && !output->is_failed)
        fail(output, output->final_path);
    output->results = NULL;
    if (!output->is_failed && rename(output->partial_path, output->final_path) != 0)
        fail(output, output->final_path);
    if (output->is_failed)
        (void)unlink(output->partial_path);
}
