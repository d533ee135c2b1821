#include "campaign/engine/findings.h"

#include "campaign/base/file.h"
#include "harness/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE_BYTES_MAX = 16 << 20 };

static const char head[] = "hbmstress-baseline 1";
static const char finding_key[] = "finding: ", reason_key[] = "reason: ";

void baseline_deinit(struct baseline *baseline)
{
    free(baseline->signatures);
    *baseline = (struct baseline){0};
}

bool baseline_has(const struct baseline *baseline, const char *signature)
{
    for (size_t i = 0; i < baseline->count; i++) {
        if (strcmp(baseline->signatures[i], signature) == 0) {
            return true;
        }
    }
    return false;
}

/* --- reading --- */

/* One reading of a file. */
struct baseline_reading {
    struct baseline *baseline;
    const char *path;
    size_t line;
    bool has_head, needs_reason; /* of the last finding */
};

static enum exit_code fail_line(const struct baseline_reading *reading, const char *reason)
{
    return message_fail(EXIT_USAGE, "%s:%zu: %s", reading->path, reading->line, reason);
}

/* Returns the text behind the key if the line begins with the key. */
static const char *skip_key(const char *line, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(line, key, length) == 0 ? line + length : NULL;
}

static enum exit_code add_signature(struct baseline_reading *reading, const char *signature)
{
    struct baseline *baseline = reading->baseline;
    if (reading->needs_reason) {
        return fail_line(reading, "the finding above has no reason; a line 'reason: …' follows it");
    }
    if (signature[0] == '\0' || strlen(signature) >= SIGNATURE_BYTES) {
        return fail_line(reading, "a signature has 1 to 159 bytes");
    }
    if (baseline_has(baseline, signature)) {
        return fail_line(reading, "this finding is listed twice");
    }
    baseline->signatures = array_grown(baseline->signatures, baseline->count, &baseline->capacity,
                                       sizeof *baseline->signatures);
    strcpy(baseline->signatures[baseline->count++], signature);
    reading->needs_reason = true;
    return EXIT_KEPT;
}

static enum exit_code take_reason(struct baseline_reading *reading, const char *reason)
{
    if (!reading->needs_reason) {
        return fail_line(reading, "a reason follows its finding, and each finding has one");
    }
    if (reason[strspn(reason, " \t")] == '\0') {
        return fail_line(reading, "the reason is empty; it says why the finding is accepted");
    }
    reading->needs_reason = false;
    return EXIT_KEPT;
}

static enum exit_code read_line(struct baseline_reading *reading, const char *line)
{
    const char *signature = skip_key(line, finding_key);
    const char *reason = skip_key(line, reason_key);
    if (line[0] == '\0' || line[0] == '#') {
        return EXIT_KEPT;
    }
    if (!reading->has_head) {
        reading->has_head = strcmp(line, head) == 0;
        return reading->has_head ? EXIT_KEPT
                                 : fail_line(reading, "this is no baseline: it does not begin with "
                                                      "'hbmstress-baseline 1'");
    }
    return signature != NULL ? add_signature(reading, signature)
           : reason != NULL  ? take_reason(reading, reason)
                             : fail_line(reading, "neither 'finding: …' nor 'reason: …' nor a "
                                                   "comment with '#'");
}

static enum exit_code read_lines(struct baseline_reading *reading, char *text)
{
    enum exit_code code = EXIT_KEPT;
    for (char *line = text; line != NULL && code == EXIT_KEPT;) {
        char *end = strchr(line, '\n');
        reading->line++;
        if (end != NULL) {
            *end = '\0';
        }
        code = read_line(reading, line);
        line = end == NULL ? NULL : end + 1;
    }
    if (code == EXIT_KEPT && !reading->has_head) {
        return message_fail(EXIT_USAGE, "%s: this is no baseline: it is empty", reading->path);
    }
    return code == EXIT_KEPT && reading->needs_reason
               ? fail_line(reading, "the last finding has no reason")
               : code;
}

enum exit_code baseline_read(const char *path, struct baseline *baseline)
{
    struct baseline_reading reading = {.baseline = baseline, .path = path};
    struct writing bytes;
    *baseline = (struct baseline){0};
    writing_init(&bytes);
    enum exit_code code = EXIT_KEPT;
    if (!file_read(path, BASELINE_BYTES_MAX, &bytes)) {
        code = message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    } else if (bytes.length > 0 && memchr(bytes.bytes, '\0', bytes.length) != NULL) {
        code = message_fail(EXIT_USAGE, "%s: this is no baseline: it has a NUL byte", path);
    } else {
        writing_append(&bytes, "");
        code = read_lines(&reading, bytes.bytes);
    }
    writing_deinit(&bytes);
    return code;
}

/* --- printing --- */

static void print_finding(const struct finding *finding, struct writing *text)
{
    writing_append(text, finding_key);
    writing_append_visible(text, finding->signature);
    writing_append_format(text, "\n%s", reason_key);
    writing_append_visible(text, finding->reason[0] == '\0' ? "no words" : finding->reason);
    writing_append_format(text, " (seen %" PRIu64 " times, in %" PRIu64 " ops)\n\n",
                          finding->count - finding->moved_count, finding->op_count);
}

void baseline_print(const struct findings *findings, const char *target, struct writing *text)
{
    writing_append_format(text, "%s\n# Known findings of target ", head);
    writing_append_visible(text, target);
    writing_append(text,
                   ", for hbmstress run --baseline FILE.\n"
                   "# Replace each reason with the one for which you accept the finding.\n\n");
    for (size_t i = 0; i < findings->count; i++) {
        if (finding_is_shown(&findings->findings[i])) {
            print_finding(&findings->findings[i], text);
        }
    }
}
