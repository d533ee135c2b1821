#include "doctor/doctor.h"

#include "harness/base/check.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_WIDTH = 21 };

const char *doctor_state_name(enum doctor_state state)
{
    static const char *const names[] = {"ok", "limited", "missing", "broken", "unknown"};
    static_assert(sizeof names / sizeof *names == DOCTOR_STATE_COUNT, "one name each");
    CHECK(state < DOCTOR_STATE_COUNT);
    return names[state];
}

/* A driver of a GPU that nothing keeps awake takes seconds to start. */
#define DRIVER_NS_MAX UINT64_C(10000000000)

void doctor_init(struct doctor *doctor, const char *root, const char *out, uint64_t duration_ns)
{
    char place[PATH_MAX];
    const char *path = getenv("PATH");
    *doctor = (struct doctor){.root = root,
                              .path = path == NULL ? "" : path,
                              .out = out,
                              .driver_ns = duration_ns < DRIVER_NS_MAX ? duration_ns
                                                                       : DRIVER_NS_MAX,
                              .is_root = geteuid() == 0};
    doctor->has_apt = program_find(doctor->path, "apt-get", place);
}

/* --- texts --- */

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
    va_list values;
    finding->state = state;
    va_start(values, format);
    (void)vsnprintf(finding->found, sizeof finding->found, format, values);
    va_end(values);
}

void doctor_mean(struct doctor_finding *finding, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(finding->meaning, sizeof finding->meaning, format, values);
    va_end(values);
}

void doctor_mend(struct doctor_finding *finding, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(finding->remedy, sizeof finding->remedy, format, values);
    va_end(values);
}

void doctor_mend_as_root(const struct doctor *doctor, struct doctor_finding *finding,
                         const char *format, ...)
{
    const size_t used = (size_t)snprintf(finding->remedy, sizeof finding->remedy, "%s",
                                         doctor->is_root ? "" : "sudo ");
    va_list values;
    va_start(values, format);
    (void)vsnprintf(finding->remedy + used, sizeof finding->remedy - used, format, values);
    va_end(values);
}

/* --- files --- */

bool doctor_read(const struct doctor *doctor, const char *path, char text[DOCTOR_TEXT_BYTES])
{
    char whole[PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s%s", doctor->root, path);
    const int file = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    const ssize_t length = read(file, text, DOCTOR_TEXT_BYTES - 1);
    const int error = errno;
    (void)close(file);
    errno = error;
    text[length < 0 ? 0 : length] = '\0';
    if (length > 0 && text[length - 1] == '\n') {
        text[length - 1] = '\0';
    }
    return length >= 0;
}

bool doctor_read_number(const struct doctor *doctor, const char *path, uint64_t *number)
{
    char text[DOCTOR_TEXT_BYTES];
    if (!doctor_read(doctor, path, text)) {
        return false;
    }
    errno = 0;
    return number_find(text, number);
}

/* --- a row --- */

void doctor_look(const struct doctor_row *row, struct doctor *doctor,
                 struct doctor_finding *finding)
{
    *finding = (struct doctor_finding){.state = DOCTOR_UNKNOWN};
    row->look(row, doctor, finding);
    if (finding->state == DOCTOR_OK || finding->state == DOCTOR_UNKNOWN) {
        return; /* of what is not known nothing follows */
    }
    if (finding->meaning[0] == '\0' && row->meaning != NULL) {
        doctor_mean(finding, "%s", row->meaning);
    }
    if (finding->state == DOCTOR_MISSING && finding->remedy[0] == '\0' && row->package != NULL &&
        doctor->has_apt) {
        doctor_mend_as_root(doctor, finding, "apt-get install %s", row->package);
    }
}

/* --- how it is told --- */

/* A text that is too long for its line goes on below its beginning; what mends it is there to be
 * copied. */
static void append_words(const struct doctor_finding *finding, struct writing *words)
{
    enum { INDENT = 2 + 8 + 1 + NAME_WIDTH + 1 };
    const char *const texts[] = {finding->found, finding->meaning, finding->remedy};
    const size_t begin = words->length;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct writing line = {0};
        if (texts[i][0] == '\0') {
            continue;
        }
        writing_append_visible(&line, texts[i]);
        writing_append_format(words, "%*s", words->length == begin ? 0 : INDENT, "");
        if (texts[i] == finding->remedy) {
            writing_append_format(words, "to mend it: %s", writing_string(&line));
        } else {
            wrap_append(words, writing_string(&line), INDENT, screen_columns());
        }
        writing_append(words, "\n");
        writing_deinit(&line);
    }
    writing_append(words, words->length == begin ? "\n" : "");
}

void doctor_tell(const char *group, const char *name, const struct doctor_finding *finding,
                 struct facts *facts)
{
    struct writing words = {0};
    writing_append_format(&words, "  %-8s %-*s ", doctor_state_name(finding->state), NAME_WIDTH,
                          name);
    append_words(finding, &words);
    facts_lines(facts, &words);
    writing_deinit(&words);
    facts_open(facts, "doctor");
    facts_text(facts, "group", group);
    facts_text(facts, "name", name);
    facts_text(facts, "state", doctor_state_name(finding->state));
    facts_text(facts, "found", finding->found);
    facts_text_if(facts, "meaning", finding->meaning);
    facts_text_if(facts, "remedy", finding->remedy);
    facts_close(facts);
}

void doctor_tell_summary(const struct doctor_summary *summary, enum exit_code code,
                         struct facts *facts)
{
    struct writing counts = {0};
    facts_open(facts, "doctor_end");
    for (enum doctor_state state = DOCTOR_OK; state < DOCTOR_STATE_COUNT; state++) {
        facts_count(facts, doctor_state_name(state), summary->counts[state]);
        if (state == DOCTOR_OK || summary->counts[state] > 0) {
            writing_append_format(&counts, "%s %" PRIu64 " %s", state == DOCTOR_OK ? ";" : ",",
                                  summary->counts[state], doctor_state_name(state));
        }
    }
    facts_count(facts, "exit", (uint64_t)code);
    facts_close(facts);
    facts_heading(facts, "hbmstress can%s do its work here%s%s%s",
                  summary->broken.length > 0 ? "not" : "", summary->broken.length > 0 ? ": " : "",
                  writing_string(&summary->broken), writing_string(&counts));
    writing_deinit(&counts);
}

/* --- numbers and versions in texts --- */

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

bool version_find(const char *text, char version[VERSION_BYTES])
{
    version[0] = '\0';
    while (*text != '\0') {
        const size_t length = strspn(text, "0123456789");
        if (length > 0 && text[length] == '.' && is_digit(text[length + 1])) {
            size_t whole = strspn(text, "0123456789.");
            whole -= text[whole - 1] == '.';
            (void)snprintf(version, VERSION_BYTES, "%.*s", (int)(whole < 31 ? whole : 31), text);
            return true;
        }
        text += length > 0 ? length : 1;
    }
    return false;
}

/* The number at *at, which moves behind it and a dot. */
static unsigned long take_part(const char **at)
{
    char *end;
    const unsigned long part = strtoul(*at, &end, 10);
    *at = *end == '.' ? end + 1 : end;
    return part;
}

int version_compare(const char *a, const char *b)
{
    while (is_digit(*a) || is_digit(*b)) {
        const unsigned long one = is_digit(*a) ? take_part(&a) : 0;
        const unsigned long other = is_digit(*b) ? take_part(&b) : 0;
        if (one != other) {
            return one < other ? -1 : 1;
        }
    }
    return 0;
}

bool number_find(const char *text, uint64_t *number)
{
    text += strspn(text, " \t");
    if (!is_digit(*text)) {
        return false;
    }
    errno = 0;
    const unsigned long long read = strtoull(text, NULL, 10);
    if (errno != 0) {
        return false;
    }
    *number = read;
    return true;
}

bool number_find_named(const char *text, const char *name, uint64_t *number)
{
    const size_t length = strlen(name);
    while (*text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == ':') {
            return number_find(text + length + 1, number);
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return false;
}

const char *bytes_print(uint64_t bytes, char text[BYTES_TEXT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        (void)snprintf(text, BYTES_TEXT_BYTES, "%u bytes", (unsigned)bytes);
        return text;
    }
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        amount /= 1024;
        unit++;
    }
    (void)snprintf(text, BYTES_TEXT_BYTES, "%.1f %s", amount, units[unit]);
    return text;
}
