/* Processor, memory, limits, settings of the kernel, control groups, and folders that are written
 * to. */
#include "campaign/process/child.h"
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* --- control groups --- */

enum { LINE_BYTES = 512, GROUP_COUNT_MAX = 64 };
/* Of version 1, "none" is a number near 2^63. */
#define NEARLY_NONE (UINT64_C(1) << 60)

/* The first line of a file; false: there is none. */
static bool read_line(const char *folder, const char *name, char line[LINE_BYTES])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX) {
        return false;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const bool is_read = fgets(line, LINE_BYTES, file) != NULL;
    (void)fclose(file);
    return is_read;
}

static void tighten(uint64_t *limit, uint64_t to)
{
    if (to < NEARLY_NONE && to < *limit) {
        *limit = to;
    }
}

static void read_bound(const char *folder, const char *name, uint64_t *limit)
{
    char line[LINE_BYTES];
    uint64_t number;
    if (read_line(folder, name, line) && number_find(line, &number)) {
        tighten(limit, number);
    }
}

/* quota of each period, both in microseconds. */
static void tighten_cores(struct cgroup_limits *limits, uint64_t quota, uint64_t period)
{
    if (period > 0 && quota < UINT64_MAX / 100) {
        tighten(&limits->core_hundredths, quota * 100 / period);
    }
}

/* "200000 100000", or "max 100000". */
static void read_cores(const char *folder, struct cgroup_limits *limits)
{
    char line[LINE_BYTES];
    uint64_t quota, period;
    if (read_line(folder, "cpu.max", line) && number_find(line, &quota) &&
        number_find(line + strcspn(line, " "), &period)) {
        tighten_cores(limits, quota, period);
    }
}

static void read_group(const char *folder, struct cgroup_limits *limits)
{
    read_bound(folder, "memory.max", &limits->memory_bytes);
    read_bound(folder, "pids.max", &limits->process_count);
    read_cores(folder, limits);
}

static void read_old_group(const char *folder, struct cgroup_limits *limits)
{
    char line[LINE_BYTES];
    uint64_t quota, period;
    read_bound(folder, "memory.limit_in_bytes", &limits->memory_bytes);
    read_bound(folder, "pids.max", &limits->process_count);
    if (read_line(folder, "cpu.cfs_quota_us", line) && number_find(line, &quota) &&
        read_line(folder, "cpu.cfs_period_us", line) && number_find(line, &period)) {
        tighten_cores(limits, quota, period);
    }
}

/* From the group up to the root; group begins with '/' and is changed.  In a container the upper
 * groups may not be there, or the group itself. */
static void read_chain(const char *folder, char *group, struct cgroup_limits *limits,
                       void (*read)(const char *folder, struct cgroup_limits *limits))
{
    char path[PATH_MAX];
    if (strstr(group, "..") != NULL) {
        group[0] = '\0';
    }
    for (int i = 0; i < GROUP_COUNT_MAX; i++) {
        if (snprintf(path, sizeof path, "%s%s", folder, group) < PATH_MAX) {
            read(path, limits);
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

/* "4:memory:/a/b", or of version 2 "0::/a/b". */
static void read_entry(const char *root, char *line, struct cgroup_limits *limits)
{
    char folder[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL) {
        return;
    }
    *group++ = '\0';
    controllers++;
    group[strcspn(group, "\n")] = '\0';
    const bool is_new = controllers[0] == '\0';
    if (strchr(controllers, '/') == NULL &&
        snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, is_new ? "" : "/",
                 controllers) < PATH_MAX) {
        read_chain(folder, group, limits, is_new ? read_group : read_old_group);
    }
}

void cgroup_read(const char *root, struct cgroup_limits *limits)
{
    char path[PATH_MAX], line[PATH_MAX];
    *limits = (struct cgroup_limits){CGROUP_NO_LIMIT, CGROUP_NO_LIMIT, CGROUP_NO_LIMIT};
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    for (int i = 0; i < GROUP_COUNT_MAX && fgets(line, sizeof line, file) != NULL; i++) {
        read_entry(root, line, limits);
    }
    (void)fclose(file);
}

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
    struct writing answer = {0};
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

/* --- folders, and the room on their disks --- */

/* Writes and syncs a small file and removes it.  NULL, or what failed; errno says why. */
static const char *try_folder(const char *folder)
{
    char path[PATH_MAX];
    static const char bytes[4096];
    if (snprintf(path, sizeof path, "%s/.hbmstress-doctor-XXXXXX", folder) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return "it cannot be written to";
    }
    const int file = mkostemp(path, O_CLOEXEC);
    if (file < 0) {
        return "it cannot be written to";
    }
    const char *failed = write(file, bytes, sizeof bytes) != (ssize_t)sizeof bytes
                             ? "a file in it cannot be written"
                         : fsync(file) != 0 ? "a file in it cannot be forced to the disk"
                                            : NULL;
    const int error = errno;
    (void)close(file);
    (void)unlink(path);
    errno = error;
    return failed;
}

static void look_at_folder(const char *folder, uint64_t least, struct doctor_finding *finding)
{
    struct statfs disk;
    char room[BYTES_TEXT_BYTES];
    const char *failed = try_folder(folder);
    if (failed != NULL || statfs(folder, &disk) != 0) {
        doctor_find(finding, DOCTOR_BROKEN, "%.400s: %s: %s", folder,
                    failed == NULL ? "its disk does not say its size" : failed, strerror(errno));
        return;
    }
    const uint64_t block_bytes = (uint64_t)disk.f_bsize;
    const uint64_t free_bytes = (uint64_t)disk.f_bavail > UINT64_MAX / block_bytes
                                    ? UINT64_MAX
                                    : (uint64_t)disk.f_bavail * block_bytes;
    doctor_find(finding, free_bytes < least ? DOCTOR_LIMITED : DOCTOR_OK, "%.400s, %s free%s",
                folder, bytes_print(free_bytes, room),
                disk.f_type == TMPFS_MAGIC ? ", in memory (tmpfs)" : "");
}

/* The folder itself, or the one above it that is there: the others would be made. */
static void find_parent(const char *folder, char parent[PATH_MAX])
{
    struct stat status;
    (void)snprintf(parent, PATH_MAX, "%s", folder);
    while (stat(parent, &status) != 0 && errno == ENOENT && strcmp(parent, ".") != 0 &&
           strcmp(parent, "/") != 0) {
        char copy[PATH_MAX];
        (void)snprintf(copy, sizeof copy, "%s", parent);
        (void)snprintf(parent, PATH_MAX, "%s", dirname(copy));
    }
}

void doctor_output_folder(const struct doctor_row *row, struct doctor *doctor,
                          struct doctor_finding *finding)
{
    char parent[PATH_MAX], place[PATH_MAX];
    if (strlen(doctor->out) >= PATH_MAX) {
        doctor_find(finding, DOCTOR_BROKEN, "its name is too long");
        return;
    }
    find_parent(doctor->out, parent);
    look_at_folder(realpath(parent, place) == NULL ? parent : place, row->least, finding);
}

void doctor_folder(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    const bool is_variable = row->what[0] == '$';
    const char *folder = is_variable ? getenv(row->what + 1) : row->what;
    (void)doctor;
    if (is_variable && (folder == NULL || folder[0] == '\0')) {
        folder = "/tmp";
    }
    look_at_folder(folder, row->least, finding);
}
