#include "doctor/doctor.h"

#include "doctor/text.h"
#include "harness/base/check.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    doctor->has_apt = find_program(doctor->path, "apt-get", place);
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
