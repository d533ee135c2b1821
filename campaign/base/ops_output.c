#include "campaign/base/ops_output.h"

#include "campaign/base/message.h"
#include "campaign/base/partial.h"
#include "campaign/base/place.h"
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum exit_code print_to(FILE *stream, const char *name, const struct setup *setup,
                               const struct op_list *ops, const char *comments)
{
    ops_file_print(stream, setup, ops, comments);
    if (fflush(stream) == 0 && !ferror(stream)) {
        return EXIT_KEPT;
    }
    return errno == EPIPE ? EXIT_KEPT : message_fail(EXIT_HARNESS, "%s: %s", name, strerror(errno));
}

static enum exit_code print_to_special(const char *path, const struct setup *setup,
                                       const struct op_list *ops, const char *comments)
{
    FILE *stream = fopen(path, "we");
    if (stream == NULL) {
        return message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    }
    enum exit_code code = print_to(stream, path, setup, ops, comments);
    if (fclose(stream) != 0 && code == EXIT_KEPT && errno != EPIPE) {
        code = message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    }
    return code;
}

/* To partial, and then under its name. */
static enum exit_code print_whole(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments)
{
    FILE *stream = fopen(partial, "we");
    bool is_good = stream != NULL;
    if (is_good) {
        ops_file_print(stream, setup, ops, comments);
        is_good = fflush(stream) == 0 && !ferror(stream) && fsync(fileno(stream)) == 0;
        const int reason = errno;
        if (fclose(stream) == 0 || !is_good) {
            errno = reason;
        } else {
            is_good = false;
        }
    }
    is_good = is_good && rename(partial, path) == 0;
    return is_good ? EXIT_KEPT : message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
}

enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops,
                          const char *comments)
{
    struct place place;
    char partial[FILE_PATH_BYTES];
    if (path == NULL) {
        return print_to(stdout, "standard output", setup, ops, comments);
    }
    enum exit_code code = place_find(path, NULL, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (place.is_special) {
        return print_to_special(path, setup, ops, comments);
    }
    if (!partial_create(place.path, partial)) {
        return message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    }
    code = print_whole(partial, place.path, setup, ops, comments);
    partial_remove(partial);
    return code;
}

enum exit_code ops_output_through(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments)
{
    struct place place;
    const enum exit_code code = place_find(path, NULL, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    return place.is_special ? print_to_special(path, setup, ops, comments)
                            : print_whole(partial, path, setup, ops, comments);
}

void comment_append(struct writing *comments, const char *name, const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    writing_append(comments, name);
    writing_append_visible(comments, value);
    writing_append(comments, "\n");
}

void comment_append_lanes(struct writing *comments, const struct op_list *ops)
{
    const size_t switches = lanes_switch_count(ops);
    if (!lanes_are_in(ops)) {
        return;
    }
    writing_append_format(comments, "%zu ops in %u lanes, %zu switch%s\n", ops->count - switches,
                          lanes_count(ops), switches, switches == 1 ? "" : "es");
}
