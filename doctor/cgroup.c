#include "doctor/cgroup.h"

#include "doctor/text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
