/* Folders that are written to, and the room on their disks. */
#include "doctor/doctor.h"
#include "doctor/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

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
