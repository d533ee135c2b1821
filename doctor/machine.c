/* Processor, memory, limits, and settings of the kernel. */
#include "campaign/process/child.h"
#include "doctor/cgroup.h"
#include "doctor/doctor.h"
#include "doctor/text.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- processes and processors --- */

#define CHILD_DURATION_NS UINT64_C(5000000000)

static void do_nothing(void *context, int file)
{
    (void)context;
    (void)file;
}

/* What bounds the processes of this user, and of its group. */
static uint64_t count_processes_max(const struct doctor *doctor)
{
    struct rlimit limit;
    struct cgroup_limits group;
    cgroup_read(doctor->root, &group);
    const uint64_t own = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
                             ? limit.rlim_cur
                             : UINT64_MAX;
    return own < group.process_count ? own : group.process_count;
}

static void mend_processes(struct doctor_finding *finding)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        doctor_mend(finding, "ulimit -u $(ulimit -Hu)");
    }
}

void doctor_processes(const struct doctor_row *row, struct doctor *doctor,
                      struct doctor_finding *finding)
{
    char death[CHILD_DEATH_BYTES];
    struct writing answer;
    writing_init(&answer);
    const enum child_end end = child_run(do_nothing, NULL, CHILD_DURATION_NS, true, &answer, death);
    const int error = errno;
    writing_deinit(&answer);
    if (end == CHILD_NOT_BORN) {
        doctor_find(finding, DOCTOR_BROKEN, "cannot start another process: %s", strerror(error));
        mend_processes(finding);
        return;
    }
    if (end != CHILD_DONE) {
        doctor_find(finding, DOCTOR_BROKEN, "a process that does nothing does not end well: %s",
                    end == CHILD_STOPPED ? "it hangs" : death);
        return;
    }
    const uint64_t count = count_processes_max(doctor);
    const bool is_few = count < row->least;
    if (count == UINT64_MAX) {
        doctor_find(finding, DOCTOR_OK, "can be started; no limit");
        return;
    }
    doctor_find(finding, is_few ? DOCTOR_LIMITED : DOCTOR_OK, "can be started; at most %" PRIu64,
                count);
    if (is_few) {
        doctor_mean(finding, "a campaign with many workers may not get all of them");
    }
}

void doctor_cores(const struct doctor_row *row, struct doctor *doctor,
                  struct doctor_finding *finding)
{
    cpu_set_t set;
    struct cgroup_limits group;
    (void)row;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        doctor_find(finding, DOCTOR_UNKNOWN, "sched_getaffinity: %s", strerror(errno));
        return;
    }
    const int count = CPU_COUNT(&set);
    cgroup_read(doctor->root, &group);
    if (group.core_hundredths == CGROUP_NO_LIMIT) {
        doctor_find(finding, DOCTOR_OK, "%d of %ld", count, online);
        return;
    }
    const bool is_less = group.core_hundredths < 100 * (uint64_t)count;
    doctor_find(finding, is_less ? DOCTOR_LIMITED : DOCTOR_OK,
                "%d of %ld, of which its control group gets the time of %" PRIu64 ".%02" PRIu64,
                count, online, group.core_hundredths / 100, group.core_hundredths % 100);
}

/* --- memory --- */

void doctor_memory(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    char text[DOCTOR_TEXT_BYTES], amounts[3][BYTES_TEXT_BYTES];
    uint64_t total, available;
    struct cgroup_limits group;
    if (!doctor_read(doctor, "/proc/meminfo", text) ||
        !number_find_named(text, "MemTotal", &total) ||
        !number_find_named(text, "MemAvailable", &available)) {
        doctor_find(finding, DOCTOR_UNKNOWN, "/proc/meminfo does not say it");
        return;
    }
    total = total > UINT64_MAX / 1024 ? UINT64_MAX : total * 1024;
    available = available > UINT64_MAX / 1024 ? UINT64_MAX : available * 1024;
    cgroup_read(doctor->root, &group);
    const bool is_bound = group.memory_bytes < total;
    const uint64_t usable = is_bound && group.memory_bytes < available ? group.memory_bytes
                                                                       : available;
    doctor_find(finding, usable < row->least ? DOCTOR_LIMITED : DOCTOR_OK, "%s, %s available%s%s",
                bytes_print(total, amounts[0]), bytes_print(available, amounts[1]),
                is_bound ? ", limit of its control group " : "",
                is_bound ? bytes_print(group.memory_bytes, amounts[2]) : "");
}

/* --- limits of a process --- */

void doctor_limit(const struct doctor_row *row, struct doctor *doctor,
                  struct doctor_finding *finding)
{
    struct rlimit limit;
    (void)doctor;
    if (getrlimit((__rlimit_resource_t)row->number, &limit) != 0) {
        doctor_find(finding, DOCTOR_UNKNOWN, "%s", strerror(errno));
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_find(finding, DOCTOR_OK, "no limit");
        return;
    }
    const bool is_less = limit.rlim_cur < row->least;
    doctor_find(finding,
                limit.rlim_cur < row->needed ? DOCTOR_BROKEN
                : is_less                    ? DOCTOR_LIMITED
                                             : DOCTOR_OK,
                "%" PRIu64, (uint64_t)limit.rlim_cur);
    if (!is_less || limit.rlim_max < row->least) {
        return; /* it is enough, or only root can raise it */
    }
    if (row->least == RLIM_INFINITY) {
        doctor_mend(finding, "ulimit -%s unlimited", row->what);
    } else {
        doctor_mend(finding, "ulimit -%s %" PRIu64, row->what, row->least);
    }
}

/* --- the kernel --- */

/* Sets unknown; false: it was read. */
static bool is_untold(const struct doctor *doctor, const char *path, uint64_t *number,
                      struct doctor_finding *finding)
{
    if (doctor_read_number(doctor, path, number)) {
        return false;
    }
    doctor_find(finding, DOCTOR_UNKNOWN, "%s: %s", path,
                errno == 0 ? "it has no number" : strerror(errno));
    return true;
}

void doctor_randomisation(const struct doctor_row *row, struct doctor *doctor,
                          struct doctor_finding *finding)
{
    uint64_t kind, bits;
    if (doctor_read_number(doctor, "/proc/sys/kernel/randomize_va_space", &kind) && kind == 0) {
        doctor_find(finding, DOCTOR_OK, "off");
        return;
    }
    if (is_untold(doctor, row->what, &bits, finding)) {
        return;
    }
    const bool is_more = bits > row->least;
    doctor_find(finding, is_more ? DOCTOR_LIMITED : DOCTOR_OK, "%" PRIu64 " bits", bits);
    if (is_more) {
        doctor_mend_as_root(doctor, finding, "sysctl vm.mmap_rnd_bits=%" PRIu64, row->least);
    }
}

void doctor_overcommit(const struct doctor_row *row, struct doctor *doctor,
                       struct doctor_finding *finding)
{
    static const char *const words[] = {"as the kernel guesses", "always", "never"};
    uint64_t mode;
    if (is_untold(doctor, row->what, &mode, finding)) {
        return;
    }
    doctor_find(finding, mode == 2 ? DOCTOR_LIMITED : DOCTOR_OK, "%" PRIu64 ", %s", mode,
                mode < sizeof words / sizeof *words ? words[mode] : "a new mode");
    if (mode == 2) {
        doctor_mend_as_root(doctor, finding, "sysctl vm.overcommit_memory=0");
    }
}

/* "always [madvise] never" */
void doctor_huge_pages(const struct doctor_row *row, struct doctor *doctor,
                       struct doctor_finding *finding)
{
    char text[DOCTOR_TEXT_BYTES];
    if (!doctor_read(doctor, row->what, text)) {
        doctor_find(finding, DOCTOR_UNKNOWN, "%s: %s", row->what, strerror(errno));
        return;
    }
    const char *open = strchr(text, '[');
    const char *chosen = open == NULL ? text : open + 1;
    doctor_find(finding, DOCTOR_OK, "%.*s", (int)strcspn(chosen, "]\n"), chosen);
}

/* A kernel without Yama restricts nothing. */
void doctor_ptrace(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    uint64_t scope;
    char text[DOCTOR_TEXT_BYTES];
    if (!doctor_read_number(doctor, row->what, &scope)) {
        const bool is_open = errno == ENOENT &&
                             doctor_read(doctor, "/proc/sys/kernel/osrelease", text);
        doctor_find(finding, is_open ? DOCTOR_OK : DOCTOR_UNKNOWN, "%s",
                    is_open ? "not restricted" : row->what);
        return;
    }
    doctor_find(finding, scope > 1 ? DOCTOR_LIMITED : DOCTOR_OK, "scope %" PRIu64, scope);
    if (scope == 2) { /* 3 stays until the machine starts again */
        doctor_mend_as_root(doctor, finding, "sysctl kernel.yama.ptrace_scope=1");
    }
}

void doctor_core_files(const struct doctor_row *row, struct doctor *doctor,
                       struct doctor_finding *finding)
{
    char text[DOCTOR_TEXT_BYTES];
    struct rlimit limit = {0, 0};
    if (!doctor_read(doctor, row->what, text)) {
        doctor_find(finding, DOCTOR_UNKNOWN, "%s: %s", row->what, strerror(errno));
        return;
    }
    (void)getrlimit(RLIMIT_CORE, &limit);
    if (text[0] == '|') {
        doctor_find(finding, DOCTOR_LIMITED, "to a program: %.300s", text + 1);
        doctor_mean(finding, "each crash of a target starts that program, which takes time; "
                             "afl-fuzz by hand refuses to start");
        doctor_mend_as_root(doctor, finding, "sysctl kernel.core_pattern=core");
        return;
    }
    doctor_find(finding, limit.rlim_cur == 0 ? DOCTOR_OK : DOCTOR_LIMITED, "%s",
                limit.rlim_cur == 0 ? "none is written" : "are written");
    if (limit.rlim_cur != 0) {
        doctor_mend(finding, "ulimit -c 0");
    }
}
