#include "cli/ops_output.h"

#include "cli/output.h"
#include "harness/lanes.h"
#include "harness/ops_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static enum exit_code print_to(FILE *stream, const char *name, const struct setup *setup, const struct op_list *ops,
                               const char *comments)
{
    ops_file_print(stream, setup, ops, comments);
    if (fflush(stream) == 0 && !ferror(stream))
        return EXIT_KEPT;
    return errno == EPIPE ? EXIT_KEPT : message_fail(EXIT_HARNESS, "%s: %s", name, strerror(errno));
}

static enum exit_code print_to_special(const char *path, const struct setup *setup, const struct op_list *ops,
                                       const char *comments)
{
    FILE *stream = fopen(path, "we");
    if (stream == NULL)
        return message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    enum exit_code code = print_to(stream, path, setup, ops, comments);
    if (fclose(stream) != 0 && code == EXIT_KEPT && errno != EPIPE)
        code = message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    return code;
}

/* The directory that a new file of that path lies in must be there. */
static enum exit_code check_directory(const char *path)
{
    char directory[OUTPUT_PATH_BYTES];
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return EXIT_KEPT;
    if (strlen(path) >= sizeof directory)
        return message_fail(EXIT_USAGE, "%.80s...: %s", path, strerror(ENAMETOOLONG));
    snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(directory, &status) != 0)
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    return S_ISDIR(status.st_mode) ? EXIT_KEPT : message_fail(EXIT_USAGE, "%s: %s", path, strerror(ENOTDIR));
}

enum exit_code output_path_check(const char *path, bool *is_special)
{
    struct stat status;
    *is_special = false;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(EISDIR));
    *is_special = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    return *is_special ? EXIT_KEPT : check_directory(path);
}

enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops, const char *comments)
{
    struct ops_file_error error = {0};
    bool is_special;
    if (path == NULL)
        return print_to(stdout, "standard output", setup, ops, comments);
    enum exit_code code = output_path_check(path, &is_special);
    if (code != EXIT_KEPT)
        return code;
    if (is_special)
        return print_to_special(path, setup, ops, comments);
    if (ops_file_write(path, setup, ops, comments, &error) != OPS_FILE_OK)
        return message_fail(EXIT_HARNESS, "%s", error.reason);
    return EXIT_KEPT;
}

void comment_append(struct writing *comments, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    writing_append(comments, name);
    writing_append_visible(comments, value);
    writing_append(comments, "\n");
}

void comment_append_lanes(struct writing *comments, const struct op_list *ops)
{
    const size_t switches = lanes_switch_count(ops);
    if (!lanes_are_in(ops))
        return;
    writing_append_format(comments, "%zu ops in %u lanes, %zu switch%s\n", ops->count - switches, lanes_count(ops),
                          switches, switches == 1 ? "" : "es");
}
