/* The program itself: what it was built with, and the files that come with it. */
#include "campaign/plan/job.h"
#include "doctor/doctor.h"
#include "present/page/page.h"
#include "present/version.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

void doctor_version(const struct doctor_row *row, struct doctor *doctor,
                    struct doctor_finding *finding)
{
    (void)row;
    (void)doctor;
    doctor_find(finding, DOCTOR_OK, "%s", version_text());
}

void doctor_build(const struct doctor_row *row, struct doctor *doctor,
                  struct doctor_finding *finding)
{
    (void)row;
    (void)doctor;
    doctor_find(finding, DOCTOR_OK, "%s", HBMSTRESS_BUILD ", " COMPILER);
}

void doctor_jobs(const struct doctor_row *row, struct doctor *doctor,
                 struct doctor_finding *finding)
{
    struct job_names jobs;
    char path[FILE_PATH_BYTES];
    (void)row;
    (void)doctor;
    job_names_init(&jobs);
    if (jobs.count == 0 || !job_names_path(jobs.names[0], path)) {
        doctor_find(finding, DOCTOR_MISSING, "none comes with this program");
    } else {
        doctor_find(finding, DOCTOR_OK, "%zu in %.900s", jobs.count, dirname(path));
    }
    job_names_deinit(&jobs);
}

/* Next to the program as it is installed, and as it is built. */
void doctor_checker(const struct doctor_row *row, struct doctor *doctor,
                    struct doctor_finding *finding)
{
    static const char *const places[] = {"", "../checker/"};
    char program[PATH_MAX], place[2 * PATH_MAX], whole[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        slash[1] = '\0';
        (void)snprintf(place, sizeof place, "%s%s%s", program, places[i], row->what);
        if (access(place, X_OK) == 0 && realpath(place, whole) != NULL) {
            doctor_find(finding, DOCTOR_OK, "%.900s", whole);
            return;
        }
    }
    if (find_program(doctor->path, row->what, place)) {
        doctor_find(finding, DOCTOR_OK, "%.900s", place);
    } else {
        doctor_find(finding, DOCTOR_MISSING, "neither next to the program nor on PATH");
    }
}

void doctor_curves(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    (void)row;
    (void)doctor;
    doctor_find(finding, page_has_curves() ? DOCTOR_OK : DOCTOR_MISSING, "%s",
                page_has_curves() ? "uPlot is built in" : "this build has no uPlot");
}
