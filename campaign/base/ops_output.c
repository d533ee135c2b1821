#include "campaign/base/ops_output.h"

#include "campaign/base/message.h"
#include "campaign/base/partial.h"
#include "campaign/base/place.h"
#include "harness/base/whole_file.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <string.h>

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

/* Writes to partial, and then gives it the name of path. */
static enum exit_code print_whole(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments)
{
    FILE *stream = fopen(partial, "we");
    if (stream != NULL) {
        ops_file_print(stream, setup, ops, comments);
        if (whole_file_end(stream, partial, path, true)) {
            return EXIT_KEPT;
        }
    }
    return message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
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
