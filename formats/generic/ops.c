/* The .ops text as a format: harness/ops_file does the work. */
#include "formats/common/import.h"
#include "harness/op/ops_file.h"

#include <string.h>

/* The version line is the first line that is neither empty nor a comment. */
static unsigned recognise_ops(const char *text, size_t length)
{
    static const char head[] = "hbmstress-ops";
    size_t at = 0;
    while (at < length && (text[at] == '#' || text[at] == '\n' || text[at] == '\r')) {
        const char *newline = memchr(text + at, '\n', length - at);
        if (newline == NULL) {
            return 0;
        }
        at = (size_t)(newline - text) + 1;
    }
    return length - at >= sizeof head - 1 && memcmp(text + at, head, sizeof head - 1) == 0 ? 100
                                                                                           : 0;
}

static enum import_result import_ops(const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    struct ops_file_error wrong = {0};
    const enum ops_file_result result = ops_file_parse(input->text, input->length, &import->setup,
                                                       &import->ops, &wrong);
    if (result != OPS_FILE_OK) {
        return import_fail(error, IMPORT_INVALID, wrong.line, wrong.column, "%s", wrong.reason);
    }
    memcpy(import->named_target, import->setup.target, sizeof import->named_target);
    import_apply_fixed(input->fixed, &import->setup);
    import_read_comments(input->text, input->length, import);
    return IMPORT_OK;
}

const struct format format_ops = {
    .name = "ops",
    .summary = "a recorded run of hbmstress as text",
    .recognise = recognise_ops,
    .import = import_ops,
};
