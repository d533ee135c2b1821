/* Drivers, devices, and the libraries behind adapters.  A driver may hang or crash, so a process of
 * its own asks it. */
#include "campaign/process/child.h"
#include "doctor/doctor.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the libraries of adapters --- */

static void examine(void *context, int file)
{
    struct adapter_findings findings;
    adapter_examine(*(const size_t *)context, &findings);
    (void)file_write_all(file, &findings, sizeof findings);
}

static void take_answer(struct doctor_answer *answer, enum child_end end, const struct death *death,
                        const struct writing *bytes)
{
    switch (end) {
    case CHILD_DONE:
        CHECK(bytes->length == sizeof answer->findings);
        memcpy(&answer->findings, bytes->bytes, sizeof answer->findings);
        answer->end = ANSWER_WHOLE;
        return;
    case CHILD_STOPPED:
        answer->end = ANSWER_LATE;
        return;
    case CHILD_DIED:
    case CHILD_FAULTY: {
        char name[SIGNATURE_BYTES];
        death_name(death, name);
        (void)snprintf(answer->death, sizeof answer->death, "%.300s", name);
        answer->end = ANSWER_DEAD;
        return;
    }
    case CHILD_NOT_BORN:
        answer->end = ANSWER_NONE;
        (void)snprintf(answer->death, sizeof answer->death, "%s", strerror(errno));
        return;
    }
}

static const struct doctor_answer *ask_adapter(struct doctor *doctor, size_t index)
{
    CHECK(index < DOCTOR_ADAPTER_COUNT_MAX);
    struct doctor_answer *answer = &doctor->answers[index];
    struct death death;
    if (answer->is_asked) {
        return answer;
    }
    struct writing bytes = {0}, output = {0}; /* a driver may print what it likes */
    const struct child_job job = {.work = examine,
                                  .context = &index,
                                  .duration_ns = doctor->driver_ns,
                                  .is_interruptible = true,
                                  .output = &output,
                                  .is_quiet = true};
    const enum child_end end = child_work(&job, &bytes, &death);
    take_answer(answer, end, &death, &bytes);
    answer->is_asked = true;
    writing_deinit(&bytes);
    writing_deinit(&output);
    return answer;
}

/* Sets broken or unknown; false: it answered. */
static bool has_no_answer(const struct doctor *doctor, const struct doctor_answer *answer,
                          const char *file, struct doctor_finding *finding)
{
    char duration[SIZE_TEXT_BYTES];
    if (!answer->is_asked || answer->end == ANSWER_NONE) {
        doctor_find(finding, DOCTOR_UNKNOWN, "no process to ask it: %s", answer->death);
        return true;
    }
    if (answer->end == ANSWER_LATE) {
        duration_print(doctor->driver_ns, duration);
        doctor_find(finding, DOCTOR_BROKEN, "%s does not answer within %s", file, duration);
        return true;
    }
    if (answer->end == ANSWER_DEAD) {
        doctor_find(finding, DOCTOR_BROKEN, "%s ends its process: %s", file, answer->death);
        return true;
    }
    return false;
}

/* No such file; anything else that the loader says is of one that is there. */
static bool is_absent(const char *reason)
{
    return strstr(reason, "No such file") != NULL || strchr(reason, '(') == NULL;
}

static const char nvidia_vendor[] = "0x10de";

static bool has_nvidia_device(const struct doctor *doctor)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    bool is_there = false;
    (void)snprintf(pattern, sizeof pattern, "%s/sys/bus/pci/devices/*/vendor", doctor->root);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !is_there; i++) {
            char text[DOCTOR_TEXT_BYTES];
            is_there = doctor_read(doctor, found.gl_pathv[i] + strlen(doctor->root), text) &&
                       strcmp(text, nvidia_vendor) == 0;
        }
    }
    globfree(&found);
    return is_there;
}

static bool has_device_files(const struct doctor *doctor, const char *pattern, char first[PATH_MAX],
                             size_t *count)
{
    char whole[PATH_MAX];
    glob_t found = {0};
    (void)snprintf(whole, sizeof whole, "%s%s", doctor->root, pattern);
    const bool is_found = glob(whole, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    *count = is_found ? found.gl_pathc : 0;
    (void)snprintf(first, PATH_MAX, "%s", is_found ? found.gl_pathv[0] + strlen(doctor->root) : "");
    globfree(&found);
    return is_found;
}

/* A package of Debian has no blank in its name, and one for a GPU helps where there is one. */
static void mend_library(const struct doctor *doctor, size_t index,
                         const struct adapter_library *library, const struct doctor_answer *answer,
                         struct doctor_finding *finding)
{
    if (library->wants != NULL && strstr(answer->findings.reason, library->wants) != NULL) {
        finding->state = DOCTOR_LIMITED;
        /* Not for all that comes: a driver may not start with it. */
        doctor_mend(finding, "%s hbmstress run --target %s", library->wants, adapters[index]->name);
        return;
    }
    const bool is_cuda = strcmp(library->package, "libcuda1") == 0;
    if (!doctor->has_apt || (is_cuda && !has_nvidia_device(doctor))) {
        return;
    }
    if (answer->findings.file[0] == '\0' && strchr(library->package, ' ') == NULL) {
        doctor_mend_as_root(doctor, finding, "apt-get install %s", library->package);
    } else if (strcmp(library->package, "libvulkan1") == 0 && answer->findings.device_count == 0) {
        doctor_mend_as_root(doctor, finding, "apt-get install mesa-vulkan-drivers");
    }
}

void doctor_look_at_adapter(struct doctor *doctor, size_t index, struct doctor_finding *finding)
{
    const struct adapter_library library = adapter_library(index);
    const struct doctor_answer *answer = ask_adapter(doctor, index);
    const struct adapter_findings *findings = &answer->findings;
    *finding = (struct doctor_finding){.state = DOCTOR_UNKNOWN};
    if (!has_no_answer(doctor, answer, library.file, finding) && findings->is_usable) {
        doctor_find(finding, DOCTOR_OK, "%s", findings->file);
        return;
    }
    if (!answer->is_asked || answer->end == ANSWER_NONE) {
        return;
    }
    doctor_mean(finding, "--target %s cannot be opened", adapters[index]->name);
    if (finding->state == DOCTOR_BROKEN) {
        return;
    }
    const bool is_broken = findings->file[0] == '\0' ? !is_absent(findings->reason)
                                                     : findings->device_count > 0;
    doctor_find(finding, is_broken ? DOCTOR_BROKEN : DOCTOR_MISSING, "%s", findings->reason);
    mend_library(doctor, index, &library, answer, finding);
}

/* --- a driver and its devices --- */

/* "2 devices: NVIDIA H100, 79.6 GiB; llvmpipe, 1.0 GiB (software)" */
static void append_devices(const struct adapter_findings *findings, struct writing *text)
{
    char amount[BYTES_TEXT_BYTES];
    writing_append_format(text, "%u device%s", findings->device_count,
                          findings->device_count == 1 ? "" : "s");
    for (size_t i = 0; i < findings->device_count && i < ADAPTER_DEVICE_COUNT_MAX; i++) {
        const struct adapter_device *device = &findings->devices[i];
        writing_append_format(text, "%s%s", i == 0 ? ": " : "; ",
                              device->name[0] == '\0' ? "without a name" : device->name);
        if (device->memory_bytes != 0) {
            writing_append_format(text, ", %s", bytes_print(device->memory_bytes, amount));
        }
        writing_append(text, device->is_software ? " (software: the processor plays it)" : "");
    }
}

static bool is_all_software(const struct adapter_findings *findings)
{
    for (size_t i = 0; i < findings->device_count && i < ADAPTER_DEVICE_COUNT_MAX; i++) {
        if (!findings->devices[i].is_software) {
            return false;
        }
    }
    return findings->device_count > 0;
}

static void tell_driver(const struct adapter_findings *findings, struct doctor_finding *finding)
{
    struct writing text = {0};
    if (findings->version_major != 0) {
        writing_append_format(&text, "version %u.%u, ", findings->version_major,
                              findings->version_minor);
    }
    append_devices(findings, &text);
    if (findings->device_count == 0) {
        writing_append_format(&text, ": %s", findings->reason);
    }
    writing_append_format(&text, "; %s", findings->file);
    doctor_find(finding,
                findings->device_count == 0 ? DOCTOR_MISSING
                : is_all_software(findings) ? DOCTOR_LIMITED
                                            : DOCTOR_OK,
                "%s", writing_string(&text));
    writing_deinit(&text);
}

void doctor_driver(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    size_t index;
    CHECK(adapter_find(row->what, &index));
    const struct doctor_answer *answer = ask_adapter(doctor, index);
    const struct adapter_library library = adapter_library(index);
    if (has_no_answer(doctor, answer, library.file, finding)) {
        return;
    }
    if (answer->findings.file[0] == '\0') {
        const bool is_missing = is_absent(answer->findings.reason);
        doctor_find(finding, is_missing ? DOCTOR_MISSING : DOCTOR_BROKEN, "%s%s",
                    is_missing ? library.file : answer->findings.reason,
                    is_missing ? " is not there" : "");
    } else {
        tell_driver(&answer->findings, finding);
    }
}

/* --- what the kernel has of NVIDIA --- */

/* The version at the end of libcuda.so.550.54.14; "" where the driver was not loaded, and where it
 * works: a library may be made for older modules, too. */
static void find_failed_version(struct doctor *doctor, char version[VERSION_BYTES])
{
    size_t index;
    version[0] = '\0';
    if (adapter_find("cuda:pool", &index)) {
        const struct doctor_answer *answer = ask_adapter(doctor, index);
        const char *end = strstr(answer->findings.file, ".so.");
        const bool is_of_interest = end != NULL && answer->findings.device_count == 0;
        (void)version_find(is_of_interest ? end : "", version);
    }
}

void doctor_nvidia(const struct doctor_row *row, struct doctor *doctor,
                   struct doctor_finding *finding)
{
    char text[DOCTOR_TEXT_BYTES], module[VERSION_BYTES] = "", library[VERSION_BYTES],
                                  first[PATH_MAX];
    size_t count;
    const bool is_loaded = doctor_read(doctor, row->what, text);
    const bool has_files = has_device_files(doctor, "/dev/nvidia[0-9]*", first, &count);
    if (!is_loaded && !has_files) {
        const bool has_device = has_nvidia_device(doctor);
        doctor_find(finding, DOCTOR_MISSING,
                    has_device ? "a device, and no kernel module for it" : "no device");
        if (has_device) {
            doctor_mend_as_root(doctor, finding, "modprobe nvidia");
        }
        return;
    }
    find_failed_version(doctor, library);
    text[is_loaded ? strcspn(text, "\n") : 0] = '\0';
    (void)version_find(text, module);
    doctor_find(finding, has_files ? DOCTOR_OK : DOCTOR_LIMITED,
                "kernel module %s, %zu device file%s /dev/nvidia[0-9]*",
                module[0] == '\0' ? "of an unknown version" : module, count, count == 1 ? "" : "s");
    if (!has_files) {
        doctor_mend_as_root(doctor, finding, "nvidia-modprobe -u -c 0");
    } else if (module[0] != '\0' && library[0] != '\0' && version_compare(module, library) != 0) {
        doctor_find(finding, DOCTOR_BROKEN, "kernel module %s, but libcuda.so.1 is of %s", module,
                    library);
        doctor_mean(finding, "the driver cannot start until both are of one version; after an "
                             "update, start the machine again");
    }
}

/* --- TPU --- */

void doctor_tpu(const struct doctor_row *row, struct doctor *doctor, struct doctor_finding *finding)
{
    static const char *const libraries[] = {"/lib/libtpu.so", "/usr/lib/libtpu.so",
                                            "/usr/local/lib/libtpu.so",
                                            "/usr/lib/python3/dist-packages/libtpu/libtpu.so",
                                            "/usr/local/lib/python3*/*-packages/libtpu/libtpu.so"};
    char accelerator[PATH_MAX], group[PATH_MAX], library[PATH_MAX] = "";
    size_t count, group_count, library_count;
    (void)row;
    (void)has_device_files(doctor, "/dev/accel*", accelerator, &count);
    (void)has_device_files(doctor, "/dev/vfio/[0-9]*", group, &group_count);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && library[0] == '\0'; i++) {
        (void)has_device_files(doctor, libraries[i], library, &library_count);
    }
    doctor_find(finding, DOCTOR_OK,
                "/dev/accel*: %zu, /dev/vfio: %zu, libtpu: %.200s; hbmstress drives no TPU, it "
                "reads logs of one",
                count, group_count, library[0] == '\0' ? "not found" : library);
}
