#include "present/bug_report.h"

#include "present/bug_text.h"

#include <inttypes.h>
#include <string.h>

static void append_item(struct writing *text, const char *name, const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    writing_append_format(text, "- %s: ", name);
    bug_text_append_markdown(text, value);
    writing_append(text, "\n");
}

/* The first line, without its end. */
static void append_first_line(struct writing *line, const char *lines)
{
    writing_append_bytes(line, lines, strcspn(lines, "\n"));
}

static void append_versions(const struct bug *bug, const struct bug_circumstances *circumstances,
                            struct writing *text)
{
    struct writing version;
    writing_init(&version);
    if (bug->api->version != NULL) {
        append_first_line(&version, circumstances->output);
    }
    writing_append(text, "## Versions\n\n");
    append_item(text, "allocator", writing_string(&version));
    append_item(text, "sources", circumstances->sources);
    append_item(text, "found through the target", bug->target);
    append_item(text, "compiler", circumstances->compiler);
    append_item(text, "system", circumstances->system);
    append_item(text, "hbmstress", circumstances->hbmstress);
    writing_deinit(&version);
}

/* What the last call has to do with. */
static void append_request(const struct bug *bug, struct writing *text)
{
    const struct bug_call *call = &bug->calls[bug->call_count - 1];
    writing_append_format(text, "Op %" PRIu32 " %s", call->op,
                          call->kind == BUG_FREE ? "frees" : "asks for");
    if (call->kind == BUG_FREE) {
        writing_append_format(text, " b%" PRIu32 ".", call->block);
        return;
    }
    writing_append_format(text, " b%" PRIu32 " of %" PRIu64 " bytes", call->block,
                          call->asked_bytes);
    if (call->align_bytes != 0) {
        writing_append_format(text, ", at a multiple of %" PRIu64, call->align_bytes);
    }
    writing_append(text, ".");
}

static void append_expected(const struct bug *bug, struct writing *text)
{
    switch (bug->sign) {
    case BUG_SIGN_REFUSED:
        writing_append_format(text,
                              "It is served: with header and rounding it needs %" PRIu64 " bytes, ",
                              bug->need_bytes);
        if (bug->has_places) {
            writing_append_format(text, "which fit at [0x%" PRIx64 ", 0x%" PRIx64 ").",
                                  bug->witness_address, bug->witness_address + bug->need_bytes);
        } else {
            writing_append_format(text, "and so many of %" PRIu64 " are free.",
                                  bug->capacity_bytes);
        }
        return;
    case BUG_SIGN_OVERLAP:
        writing_append(text, "Its block meets no other live block.");
        return;
    case BUG_SIGN_OUTSIDE:
        writing_append_format(text, "Its block lies inside the %" PRIu64 " bytes of the allocator.",
                              bug->capacity_bytes);
        return;
    case BUG_SIGN_MISALIGNED:
        writing_append_format(text, "Its address is a multiple of %" PRIu64 ".", bug->align_bytes);
        return;
    case BUG_SIGN_TAKEN:
        writing_append_format(text, "Its block takes %" PRIu64 " to %" PRIu64 " bytes.",
                              bug->least_bytes, bug->need_bytes);
        return;
    case BUG_SIGN_CONTENTS:
        writing_append(text, "Every live block holds what was written into it.");
        return;
    case BUG_SIGN_CRASH:
    case BUG_SIGN_HANG:
        writing_append(text, "The call returns.");
        return;
    }
}

static void append_expected_and_observed(const struct bug *bug,
                                         const struct bug_circumstances *circumstances,
                                         struct writing *text)
{
    writing_append(text, "\n## Expected\n\n");
    if (bug->call_count > 0) {
        append_request(bug, text);
        writing_append(text, "\n");
    }
    append_expected(bug, text);
    writing_append(text, "\n\n## Observed\n\n");
    writing_append_format(text, "%sIn the replay of hbmstress: ",
                          bug->sign == BUG_SIGN_REFUSED ? "It is refused.\n" : "");
    bug_text_append_markdown(text, bug->reason);
    writing_append(text, ".\n\nThe program below ends with ");
    bug_text_append_markdown(text, circumstances->end);
    writing_append(text, ", and prints:\n\n");
    bug_text_append_code(text, "text", circumstances->output);
}

static void append_picture(const struct bug *bug, struct writing *text)
{
    struct writing picture;
    writing_init(&picture);
    bug_picture_append(bug, &picture);
    if (picture.length > 0) {
        writing_append(text,
                       "\n## The heap after the last call\n\n`#` is taken, `.` is free; a block "
                       "is shown with its header.\n\n");
        bug_text_append_code(text, "text", writing_string(&picture));
    }
    writing_deinit(&picture);
}

static void append_program(const struct bug *bug, const struct bug_circumstances *circumstances,
                           struct writing *text)
{
    struct writing commands;
    writing_init(&commands);
    writing_append_format(&commands, "%s%s\n%s\n", circumstances->variables, circumstances->build,
                          circumstances->run);
    writing_append(text, "\n## The program\n\nIt uses the allocator's own API alone.  To build and "
                         "run it:\n\n");
    bug_text_append_code(text, "sh", writing_string(&commands));
    writing_append(text, "\n`");
    writing_append(text, circumstances->file);
    writing_append(text, "`:\n\n");
    bug_text_append_code(text, strcmp(bug->api->language, "c") == 0 ? "c" : "cpp",
                         circumstances->program);
    writing_deinit(&commands);
}

void bug_report_append(const struct bug *bug, const struct bug_circumstances *circumstances,
                       struct writing *text)
{
    writing_append(text, "# ");
    bug_text_append_markdown(text, bug->target);
    writing_append_format(text, ": %s\n\n", bug_sign_title(bug->sign));
    append_versions(bug, circumstances, text);
    append_expected_and_observed(bug, circumstances, text);
    append_picture(bug, text);
    append_program(bug, circumstances, text);
    writing_append(text,
                   "\n## How it was found\n\nhbmstress found it and shrank it to these ops:\n\n");
    bug_text_append_code(text, "text", circumstances->list);
    writing_append(text, "\nThis line repeats the finding:\n\n");
    bug_text_append_code(text, "sh", circumstances->repeat);
}
