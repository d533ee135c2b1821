#include "campaign/plan/job_files.h"

#include "harness/base/check.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char job_suffix[] = ".ini";

/* The folders of the job files, relative to the program's own folder: as installed, and as built.
 * The program's bytes do not depend on where it was built, so it knows no build folder. */
static const char *const job_places[] = {HBMSTRESS_JOBS_FROM_PROGRAM, "../../../scenarios/jobs"};

static bool has_suffix(const char *name)
{
    const size_t length = strlen(name), suffix_length = sizeof job_suffix - 1;
    return length > suffix_length && strcmp(name + length - suffix_length, job_suffix) == 0;
}

/* The first place that is there; else that of a tree that one stands in. */
static void find_folder(char folder[PATH_MAX])
{
    char program[PATH_MAX], place[PATH_MAX + 64];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof job_places / sizeof *job_places; i++) {
        *slash = '\0';
        (void)snprintf(place, sizeof place, "%s/%s", program, job_places[i]);
        if (realpath(place, folder) != NULL) {
            return;
        }
    }
    strcpy(folder, "scenarios/jobs");
}

bool job_names_path(const char *name, char path[FILE_PATH_BYTES])
{
    char folder[PATH_MAX];
    find_folder(folder);
    return snprintf(path, FILE_PATH_BYTES, "%s/%s%s", folder, name,
                    has_suffix(name) ? "" : job_suffix) < FILE_PATH_BYTES;
}

static int is_job(const struct dirent *entry)
{
    return has_suffix(entry->d_name);
}

void job_names_init(struct job_names *jobs)
{
    char folder[PATH_MAX];
    struct dirent **entries = NULL;
    find_folder(folder);
    const int count = scandir(folder, &entries, is_job, alphasort);
    *jobs = (struct job_names){.count = count < 0 ? 0 : (size_t)count};
    jobs->names = calloc(jobs->count + 1, sizeof *jobs->names);
    CHECK(jobs->names != NULL);
    for (size_t i = 0; i < jobs->count; i++) {
        const char *name = entries[i]->d_name;
        jobs->names[i] = strndup(name, strlen(name) - (sizeof job_suffix - 1));
        CHECK(jobs->names[i] != NULL);
        free(entries[i]);
    }
    free(entries);
}

void job_names_deinit(struct job_names *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        free(jobs->names[i]);
    }
    free(jobs->names);
    *jobs = (struct job_names){0};
}

static enum exit_code fail_unknown_job(const char *name)
{
    struct job_names jobs;
    job_names_init(&jobs);
    const enum exit_code code = message_unknown(
        "job", name, message_nearest(name, (const char *const *)jobs.names, jobs.count),
        "no such file; see hbmstress list jobs");
    job_names_deinit(&jobs);
    return code;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

enum exit_code job_file_find(const char *name, char path[FILE_PATH_BYTES])
{
    if (strchr(name, '/') == NULL && !is_file(name)) {
        return job_names_path(name, path) && is_file(path) ? EXIT_KEPT : fail_unknown_job(name);
    }
    return snprintf(path, FILE_PATH_BYTES, "%s", name) < FILE_PATH_BYTES
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "--job: the path is too long");
}

void job_file_beside(const char *job, const char *name, char *path, size_t path_bytes)
{
    const char *slash = strrchr(job, '/');
    const int length = slash == NULL ? 0 : (int)(slash - job) + 1;
    const int whole = snprintf(path, path_bytes, "%.*s%s", length, job, name);
    if (name[0] == '/' || (size_t)whole >= path_bytes || access(path, F_OK) != 0) {
        (void)snprintf(path, path_bytes, "%s", name);
    }
}
