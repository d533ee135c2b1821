/* What control groups allow this process, of both versions of them. */
#ifndef DOCTOR_CGROUP_H
#define DOCTOR_CGROUP_H

#include <stdint.h>

#define CGROUP_NO_LIMIT UINT64_MAX

/* The tightest limits from its own group up to the root; CGROUP_NO_LIMIT where nothing limits. */
struct cgroup_limits {
    uint64_t memory_bytes;
    uint64_t core_hundredths; /* processor time: 150 is one core and a half */
    uint64_t process_count;
};

/* root stands before /proc and /sys. */
void cgroup_read(const char *root, struct cgroup_limits *limits);

#endif
