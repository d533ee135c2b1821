#include "campaign/base/repro.h"

#include "campaign/base/file.h"
#include "campaign/base/target_path.h"
#include "harness/base/whole_file.h"
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void comment_append(struct writing *comments, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return;
    }
    writing_append(comments, name);
    writing_append_visible(comments, value);
    writing_append(comments, "\n");
}

static void append_lanes(struct writing *comments, const struct op_list *ops)
{
    const size_t switches = lanes_switch_count(ops);
    if (!lanes_are_in(ops)) {
        return;
    }
    writing_append_format(comments, "%zu ops in %u lanes, %zu switch%s\n", ops->count - switches,
                          lanes_count(ops), switches, switches == 1 ? "" : "es");
}

void repro_append_comments(const struct repro *repro, struct writing *comments)
{
    comment_append(comments, "", repro->headline);
    comment_append(comments, "signature: ", repro->signature);
    comment_append(comments, "reason: ", repro->reason);
    comment_append(comments, "", repro->shrunk_from);
    comment_append(comments, "reason before shrinking: ", repro->first_reason);
    comment_append(comments, "message before shrinking: ", repro->first_message);
    comment_append(comments, "message: ", repro->message);
    comment_append(comments, "not shrunk: ", repro->not_shrunk);
    comment_append(comments, "not shrunk to the end: ", repro->not_to_the_end);
    comment_append(comments, "", repro->before);
    comment_append(comments, "unrepeated: ", repro->unrepeated);
    append_lanes(comments, repro->ops);
    comment_append(comments, "replay: ", repro->replay);
}

static bool write_list(const char *path, const struct repro *repro)
{
    char partial[WHOLE_FILE_PATH_BYTES];
    struct writing comments;
    FILE *stream = whole_file_begin(path, partial);
    if (stream == NULL) {
        return false;
    }
    writing_init(&comments);
    repro_append_comments(repro, &comments);
    target_path_append_comment(&comments, repro->setup->target, path);
    ops_file_print(stream, repro->setup, repro->ops, writing_string(&comments));
    writing_deinit(&comments);
    return whole_file_end(stream, partial, path, !repro->is_unforced);
}

enum exit_code repro_write(const char *path, const struct repro *repro)
{
    char directory[FILE_PATH_BYTES];
    if (!make_directory_of(path, directory)) {
        return message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
    }
    return write_list(path, repro)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "cannot write %s: %s", path, strerror(errno));
}

bool certificate_is_due(uint64_t number, enum verdict_kind kind)
{
    return kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
           number % CERTIFICATE_CHECK_PERIOD == 0;
}

bool certificate_is_accepted(const char *text, size_t length, char reason[CERTIFICATE_REASON_BYTES])
{
    return certificate_check(text, length, reason) == CERTIFICATE_VALID;
}

void certificate_dispute(const char *reason, struct verdict *verdict)
{
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle says %s, but the checker rejects its certificate: %.190s",
             verdict_name(verdict->kind), reason);
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
}

bool certificate_write(const char *path, const char *partial, const void *bytes, size_t length)
{
    FILE *stream = fopen(partial, "we");
    if (stream == NULL) {
        return false;
    }
    (void)fwrite(bytes, 1, length, stream); /* a failure stays in the stream */
    return whole_file_end(stream, partial, path, false);
}
