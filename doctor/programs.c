/* The program itself with the files that come with it; other programs, libraries to build with, and
 * modules of Python. */
#include "campaign/plan/job.h"
#include "doctor/doctor.h"
#include "present/page/page.h"
#include "present/version.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define DURATION_NS UINT64_C(2000000000)

/* --- the program itself --- */

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
    if (program_find(doctor->path, row->what, place)) {
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

/* --- others --- */

/* Runs words[0] (its file) with these words, NULL at their end, for two seconds at most.  What it
 * prints is appended to output; it reads nothing. */
static enum ask_end ask_program(const char *const *words, struct writing *output)
{
    struct program_end end;
    if (!program_run(words, ".", DURATION_NS, output, &end)) {
        return ASK_NOT_ASKED;
    }
    return end.is_stopped ? ASK_LATE : end.status == 0 ? ASK_ANSWERED : ASK_FAILED;
}

/* Sets broken or unknown; false: it answered. */
static bool has_failed(enum ask_end end, const char *place, bool is_silent,
                       struct doctor_finding *finding)
{
    switch (end) {
    case ASK_ANSWERED:
        if (is_silent) {
            doctor_find(finding, DOCTOR_UNKNOWN, "%.500s prints nothing", place);
        }
        return is_silent;
    case ASK_FAILED:
        doctor_find(finding, DOCTOR_BROKEN, "%.500s fails", place);
        return true;
    case ASK_LATE:
        doctor_find(finding, DOCTOR_BROKEN, "%.500s does not answer", place);
        return true;
    case ASK_NOT_ASKED:
        break;
    }
    doctor_find(finding, DOCTOR_UNKNOWN, "%.500s; it cannot be run: %s", place, strerror(errno));
    return true;
}

void doctor_program(const struct doctor_row *row, struct doctor *doctor,
                    struct doctor_finding *finding)
{
    char place[PATH_MAX], version[VERSION_BYTES];
    struct writing output = {0};
    if (!program_find(doctor->path, row->what, place)) {
        doctor_find(finding, DOCTOR_MISSING, "%s", "");
        return;
    }
    doctor_find(finding, DOCTOR_OK, "%.500s", place);
    if (row->version == NULL) {
        return;
    }
    const enum ask_end end = ask_program((const char *[]){place, row->version, NULL}, &output);
    if (!has_failed(end, place, output.length == 0, finding) &&
        version_find(writing_string(&output), version)) {
        const bool is_old = row->least_version != NULL &&
                            version_compare(version, row->least_version) < 0;
        doctor_find(finding, is_old ? DOCTOR_LIMITED : DOCTOR_OK, "%s%s%s, %.500s", version,
                    is_old ? ", older than " : "", is_old ? row->least_version : "", place);
    }
    writing_deinit(&output);
}

/* --- the runtime of libFuzzer --- */

/* clang has it in one of two places, by its age. */
static bool find_runtime(const char *resources, char place[PATH_MAX])
{
    static const char *const patterns[] = {"%s/lib/linux/libclang_rt.fuzzer-%s.a",
                                           "%s/lib/%s-*/libclang_rt.fuzzer.a"};
    struct utsname system;
    char pattern[PATH_MAX];
    bool is_found = false;
    if (uname(&system) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !is_found; i++) {
        glob_t found = {0};
        (void)snprintf(pattern, sizeof pattern, i == 0 ? patterns[0] : patterns[1], resources,
                       system.machine);
        is_found = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
        (void)snprintf(place, PATH_MAX, "%s", is_found ? found.gl_pathv[0] : "");
        globfree(&found);
    }
    return is_found;
}

/* The package goes by the number of clang's version. */
static void mend_runtime(const struct doctor *doctor, const char *resources,
                         struct doctor_finding *finding)
{
    const char *slash = strrchr(resources, '/');
    uint64_t major;
    if (doctor->has_apt && slash != NULL && number_find(slash + 1, &major) && major < 1000) {
        doctor_mend_as_root(doctor, finding, "apt-get install libclang-rt-%u-dev", (unsigned)major);
    }
}

void doctor_fuzzer_runtime(const struct doctor_row *row, struct doctor *doctor,
                           struct doctor_finding *finding)
{
    char clang[PATH_MAX], resources[PATH_MAX], place[PATH_MAX];
    struct writing output = {0};
    if (!program_find(doctor->path, row->what, clang)) {
        doctor_find(finding, DOCTOR_MISSING, "clang is missing");
        return;
    }
    const enum ask_end end = ask_program((const char *[]){clang, row->version, NULL}, &output);
    if (!has_failed(end, clang, output.length == 0, finding)) {
        const char *line = writing_string(&output);
        (void)snprintf(resources, sizeof resources, "%.*s", (int)strcspn(line, "\n"), line);
        if (find_runtime(resources, place)) {
            doctor_find(finding, DOCTOR_OK, "%.500s", place);
        } else {
            doctor_find(finding, DOCTOR_MISSING, "nothing of it in %.400s/lib", resources);
            mend_runtime(doctor, resources, finding);
        }
    }
    writing_deinit(&output);
}

/* --- libraries and modules --- */

void doctor_library(const struct doctor_row *row, struct doctor *doctor,
                    struct doctor_finding *finding)
{
    char place[PATH_MAX], version[VERSION_BYTES];
    struct writing output = {0};
    if (!program_find(doctor->path, "pkg-config", place)) {
        doctor_find(finding, DOCTOR_UNKNOWN, "pkg-config is missing");
        return;
    }
    const enum ask_end end = ask_program((const char *[]){place, "--modversion", row->what, NULL},
                                         &output);
    if (end == ASK_FAILED) {
        doctor_find(finding, DOCTOR_MISSING, "%s", "");
    } else if (!has_failed(end, place, output.length == 0, finding)) {
        (void)version_find(writing_string(&output), version);
        doctor_find(finding, DOCTOR_OK, "%s", version);
    }
    writing_deinit(&output);
}

/* Prints those of its arguments that are modules.  Nothing of them runs, and no file of the working
 * directory counts. */
static const char list_modules[] =
    "import sys;sys.path=[p for p in sys.path if p];from importlib.util import find_spec as f;"
    "print('',*[m for m in sys.argv[1:] if f(m)],'')";

static enum ask_end ask_modules(struct doctor *doctor, const char *python)
{
    struct writing output = {0};
    const enum ask_end end = ask_program(
        (const char *[]){python, "-c", list_modules, "jsonschema", "junitparser", "selenium", NULL},
        &output);
    (void)snprintf(doctor->modules, sizeof doctor->modules, "%.250s", writing_string(&output));
    writing_deinit(&output);
    return end;
}

void doctor_module(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    char place[PATH_MAX], word[DOCTOR_MODULES_BYTES];
    if (!program_find(doctor->path, "python3", place)) {
        doctor_find(finding, DOCTOR_MISSING, "python3 is missing");
        return;
    }
    if (!doctor->has_modules_asked) {
        doctor->modules_end = ask_modules(doctor, place);
        doctor->has_modules_asked = true;
    }
    if (has_failed(doctor->modules_end, place, doctor->modules[0] == '\0', finding)) {
        return;
    }
    (void)snprintf(word, sizeof word, " %.200s ", row->what);
    const bool is_there = strstr(doctor->modules, word) != NULL;
    doctor_find(finding, is_there ? DOCTOR_OK : DOCTOR_MISSING, "%s%.500s",
                is_there ? "of " : "not in ", place);
    if (!is_there && strcmp(place, "/usr/bin/python3") != 0) { /* no package is for that one */
        doctor_mend(finding, "python3 -m pip install %s", row->what);
    }
}
