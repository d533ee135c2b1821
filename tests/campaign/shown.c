#include "tests/campaign/shown.h"

#include "campaign/base/repro.h"
#include "campaign/trials/trial_result.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 17, PATH_BYTES = 1024, PATH_COUNT = 4 };

/* --- trials --- */

void show_verdict(const struct verdict *verdict)
{
    show("%s", verdict_name(verdict->kind));
    if (verdict->rule != RULE_NONE) {
        show(" %s", rule_info(verdict->rule)->name);
    }
    show(" at op %u", verdict->op);
}

void show_totals(const struct run_totals *totals)
{
    GIVEN(totals->ops, totals->skipped, totals->ooms, totals->justified, totals->premature,
          totals->unknown, totals->broken, totals->disputed, totals->unrepeated);
    GIVEN(totals->schedules, totals->not_modelled);
}

static unsigned count_lines(const struct writing *text, size_t bytes)
{
    unsigned count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += text->bytes[i] == '\n';
    }
    ck_assert(bytes == 0 || text->bytes[bytes - 1] == '\n');
    return count;
}

static void show_saved(const struct trial_result *trial, const struct saved_oom *saved)
{
    char reason[CERTIFICATE_REASON_BYTES];
    show("saved: ");
    show_verdict(&saved->verdict);
    show(", else %" PRIu64 " bytes, line %u of all, line %u of notable", saved->largest.bytes,
         count_lines(&trial->all, saved->all_end),
         count_lines(&trial->notable, saved->notable_end));
    if (saved->diagnosis_bytes > 0) {
        show(", line %u of diagnoses",
             count_lines(&trial->diagnoses, saved->diagnosis_start + saved->diagnosis_bytes));
    }
    ck_assert_msg(certificate_is_accepted(trial->certificates.bytes + saved->certificate_start,
                                          saved->certificate_bytes, reason),
                  "%s", reason);
    show("%s\n", saved->message[0] == '\0' ? ", without words" : "");
}

void show_trial(struct trial_result *trial)
{
    static const char *const ends[] = {"done", "refused", "crashed", "hung", "failed"};
    const struct trial_result_head *head = &trial->head;
    const char *rule = trial_result_rule(trial);
    show("trial %" PRIu64 " %s%s%s%s%s\n", head->task.trial, ends[head->end],
         head->reason[0] == '\0' ? "" : ": ", head->reason, rule == NULL ? "" : "; breaks ",
         rule == NULL ? "" : rule);
    show_totals(&head->totals);
    if (head->has_list || trial->ops.count > 0) {
        show("list of %zu ops, %zu up to an oom\n", trial->ops.count,
             trial_result_until_oom(trial).count);
    }
    for (size_t i = 0; i < head->findings.count; i++) {
        const struct run_finding *finding = &head->findings.findings[i];
        show("found %" PRIu64 " times: ", finding->count);
        show_verdict(&finding->verdict);
        show(", %s%s\n", finding->signature,
             strcmp(finding->signature, head->signature) == 0 ? ", is selected" : "");
    }
    if (trial->all.length + trial->notable.length + trial->diagnoses.length > 0) {
        show("lines: all %u, notable %u, diagnoses %u\n",
             count_lines(&trial->all, trial->all.length),
             count_lines(&trial->notable, trial->notable.length),
             count_lines(&trial->diagnoses, trial->diagnoses.length));
    }
    if (head->ooms_seen > 0) {
        show("ooms: seen %" PRIu64 ", certificates checked %" PRIu64 ", saved %" PRIu64 "\n",
             head->ooms_seen, head->certificates_checked, head->saved_count);
    }
    size_t certificates_bytes = 0;
    for (size_t i = 0; i < head->saved_count; i++) {
        ck_assert_uint_eq(head->saved[i].certificate_start, certificates_bytes);
        certificates_bytes += head->saved[i].certificate_bytes;
        show_saved(trial, &head->saved[i]);
    }
    ck_assert_uint_eq(trial->certificates.length, certificates_bytes);
}

/* --- the folder of a test --- */

void folder_enter(const char *name)
{
    scratch_name(folder, name);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snap_mask(folder, "OUT");
}

void folder_leave(void)
{
    char command[SCRATCH_PATH_BYTES + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *format, va_list arguments)
{
    static char paths[PATH_COUNT][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % PATH_COUNT];
    const int length = snprintf(path, PATH_BYTES, "%s/", folder);
    ck_assert_int_lt(vsnprintf(path + length, PATH_BYTES - (size_t)length, format, arguments),
                     PATH_BYTES - length);
    return path;
}

const char *folder_path(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *path = path_of(format, arguments);
    va_end(arguments);
    return path;
}

const char *folder_read(const char *format, ...)
{
    static char texts[PATH_COUNT][TEXT_BYTES];
    static unsigned next;
    char *text = texts[next++ % PATH_COUNT];
    va_list arguments;
    va_start(arguments, format);
    const char *path = path_of(format, arguments);
    va_end(arguments);
    FILE *stream = fopen(path, "re");
    ck_assert_msg(stream != NULL, "there is no %s", path);
    text[fread(text, 1, TEXT_BYTES - 1, stream)] = '\0';
    fclose(stream);
    return text;
}

bool folder_has(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool is_there = access(path_of(format, arguments), F_OK) == 0;
    va_end(arguments);
    return is_there;
}

/* With the folders on the way to it. */
void folder_write(const char *name, const char *text)
{
    folder_write_bytes(name, text, strlen(text));
}

void folder_write_bytes(const char *name, const char *bytes, size_t length)
{
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        ck_assert(mkdir(folder_path("%.*s", (int)(slash - name), name), 0700) == 0 ||
                  errno == EEXIST);
    }
    FILE *stream = fopen(folder_path("%s", name), "we");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
}

unsigned count_text(const char *text, const char *wanted)
{
    unsigned count = 0;
    for (const char *at = strstr(text, wanted); at != NULL; at = strstr(at + 1, wanted)) {
        count++;
    }
    return count;
}
