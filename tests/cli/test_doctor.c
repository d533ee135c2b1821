/* What doctor reads of a machine: made-up trees of /proc and /sys, and texts of programs. */
#include "campaign/base/file.h"
#include "doctor/doctor.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a made-up tree --- */

static char root[SCRATCH_PATH_BYTES];

static void make_tree(void)
{
    scratch_name(root, "doctor");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(void)
{
    ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void put_file(const char *path, const char *text)
{
    char whole[FILE_PATH_BYTES], folder[FILE_PATH_BYTES];
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    ck_assert(make_directory_of(whole, folder));
    FILE *file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* --- texts --- */

static const char *find_version(const char *text)
{
    static char version[VERSION_BYTES];
    (void)version_find(text, version);
    return version;
}

TEST(versions_are_found_in_what_programs_print)
{
    ck_assert_str_eq(find_version("Debian clang version 14.0.6-2\nTarget: x86_64"), "14.0.6");
    ck_assert_str_eq(find_version("gcov (Debian 12.2.0-14+deb12u1) 12.2.0"), "12.2.0");
    ck_assert_str_eq(find_version("valgrind-3.19.0"), "3.19.0");
    ck_assert_str_eq(find_version("the end is 1.6."), "1.6");
    ck_assert_str_eq(find_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  x"),
                     "550.54.14");
    ck_assert_str_eq(find_version("/lib/libcuda.so.550.54.14"), "550.54.14");
    ck_assert_str_eq(find_version("xmllint: using libxml version 20914"), "");
    ck_assert_str_eq(find_version(""), "");
    ck_assert_uint_lt(strlen(find_version("1.11111111111111111111111111111111111111111111111")),
                      VERSION_BYTES);
}

TEST(versions_compare_as_numbers)
{
    ck_assert_int_lt(version_compare("3.9", "3.25"), 0);
    ck_assert_int_eq(version_compare("3.25", "3.25.0"), 0);
    ck_assert_int_gt(version_compare("3.25.1", "3.25"), 0);
    ck_assert_int_gt(version_compare("4", "3.25"), 0);
    ck_assert_int_lt(version_compare("", "0.1"), 0);
}

TEST(a_number_behind_a_name_is_found)
{
    uint64_t number = 7;
    const char *text = "MemTotal:  100 kB\nMemAvailable:\t50 kB\nBad: x\nHuge: "
                       "99999999999999999999999\n";
    ck_assert(number_find_named(text, "MemAvailable", &number));
    ck_assert_uint_eq(number, 50);
    ck_assert(!number_find_named(text, "Mem", &number));
    ck_assert(!number_find_named(text, "Bad", &number));
    ck_assert(!number_find_named(text, "Huge", &number));
    ck_assert_uint_eq(number, 50);
}

TEST(bytes_are_printed_with_their_unit)
{
    char text[BYTES_TEXT_BYTES];
    ck_assert_str_eq(bytes_print(0, text), "0 bytes");
    ck_assert_str_eq(bytes_print(1536, text), "1.5 KiB");
    ck_assert_str_eq(bytes_print(UINT64_C(80) << 30, text), "80.0 GiB");
    ck_assert_str_eq(bytes_print(UINT64_MAX, text), "16777216.0 TiB");
}

/* --- control groups --- */

TEST(the_tightest_group_above_counts)
{
    struct cgroup_limits limits;
    make_tree();
    put_file("/proc/self/cgroup", "0::/a/b\n");
    put_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put_file("/sys/fs/cgroup/a/memory.max", "1048576\n");
    put_file("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    put_file("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put_file("/sys/fs/cgroup/pids.max", "99\n");
    cgroup_read(root, &limits);
    ck_assert_uint_eq(limits.memory_bytes, 1048576);
    ck_assert_uint_eq(limits.core_hundredths, 150);
    ck_assert_uint_eq(limits.process_count, 99);
    remove_tree();
}

TEST(groups_of_version_1_are_read)
{
    struct cgroup_limits limits;
    make_tree();
    put_file("/proc/self/cgroup", "4:memory:/x\n3:pids:/\n2:cpu,cpuacct:/x\n1:name=systemd:/\n");
    put_file("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
    put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put_file("/sys/fs/cgroup/pids/pids.max", "max\n");
    cgroup_read(root, &limits);
    ck_assert_uint_eq(limits.memory_bytes, 4096);
    ck_assert_uint_eq(limits.core_hundredths, 50);
    ck_assert(limits.process_count == CGROUP_NO_LIMIT);
    remove_tree();
}

TEST(no_group_and_no_sense_are_no_limit)
{
    static const char *const texts[] = {"",       "\n",  "0::",         "0::/../../etc\n",
                                        "::::\n", "x\n", "1:../..:/a\n"};
    struct cgroup_limits limits;
    make_tree();
    put_file("/etc/memory.max", "1\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_file("/proc/self/cgroup", texts[i]);
        put_file("/sys/fs/cgroup/cpu.max", "5 0\n");
        cgroup_read(root, &limits);
        ck_assert(limits.memory_bytes == CGROUP_NO_LIMIT);
        ck_assert(limits.core_hundredths == CGROUP_NO_LIMIT);
    }
    remove_tree();
}

/* --- rows --- */

static const struct doctor_row *find_row(const char *name)
{
    for (const struct doctor_row *row = doctor_rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    ck_abort_msg("no row %s", name);
}

/* Of the driver of this machine nothing is asked. */
static const char *driver_file = "";
static uint32_t driver_device_count = 0;

/* In the made-up tree, as root, with apt-get. */
static struct doctor_finding look(const char *name)
{
    static struct doctor doctor;
    struct doctor_finding finding;
    doctor_init(&doctor, root, "out", UINT64_C(1000000000));
    doctor.is_root = true;
    doctor.has_apt = true;
    for (size_t i = 0; i < DOCTOR_ADAPTER_COUNT_MAX; i++) {
        doctor.answers[i].is_asked = true;
        doctor.answers[i].findings.device_count = driver_device_count;
        (void)snprintf(doctor.answers[i].findings.file, ADAPTER_FILE_BYTES, "%s", driver_file);
    }
    doctor_look(find_row(name), &doctor, &finding);
    return finding;
}

static void check_row(const char *name, enum doctor_state state, const char *found,
                      const char *remedy)
{
    const struct doctor_finding finding = look(name);
    ck_assert_str_eq(doctor_state_name(finding.state), doctor_state_name(state));
    ck_assert_msg(strstr(finding.found, found) != NULL, "%s: found %s", name, finding.found);
    ck_assert_str_eq(finding.remedy, remedy);
    ck_assert(state != DOCTOR_OK || finding.meaning[0] == '\0');
}

TEST(settings_of_the_kernel_are_judged)
{
    make_tree();
    check_row("address randomisation", DOCTOR_UNKNOWN, "No such file", "");
    check_row("overcommit", DOCTOR_UNKNOWN, "No such file", "");
    check_row("tracing", DOCTOR_UNKNOWN, "/proc/sys/kernel/yama", "");
    put_file("/proc/sys/kernel/osrelease", "6.1\n");
    check_row("tracing", DOCTOR_OK, "not restricted", "");
    put_file("/proc/sys/kernel/randomize_va_space", "2\n");
    put_file("/proc/sys/vm/mmap_rnd_bits", "28\n");
    check_row("address randomisation", DOCTOR_OK, "28 bits", "");
    put_file("/proc/sys/vm/mmap_rnd_bits", "32\n");
    check_row("address randomisation", DOCTOR_LIMITED, "32 bits", "sysctl vm.mmap_rnd_bits=28");
    put_file("/proc/sys/vm/mmap_rnd_bits", "many\n");
    check_row("address randomisation", DOCTOR_UNKNOWN, "it has no number", "");
    put_file("/proc/sys/kernel/randomize_va_space", "0\n");
    check_row("address randomisation", DOCTOR_OK, "off", "");
    put_file("/proc/sys/vm/overcommit_memory", "2\n");
    check_row("overcommit", DOCTOR_LIMITED, "2, never", "sysctl vm.overcommit_memory=0");
    put_file("/proc/sys/vm/overcommit_memory", "9\n");
    check_row("overcommit", DOCTOR_OK, "a new mode", "");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "1\n");
    check_row("tracing", DOCTOR_OK, "scope 1", "");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "2\n");
    check_row("tracing", DOCTOR_LIMITED, "scope 2", "sysctl kernel.yama.ptrace_scope=1");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "3\n");
    check_row("tracing", DOCTOR_LIMITED, "scope 3", "");
    put_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    check_row("huge pages", DOCTOR_OK, "madvise", "");
    put_file("/proc/sys/kernel/core_pattern", "|/usr/share/apport/apport %p\n");
    check_row("core files", DOCTOR_LIMITED, "/usr/share/apport/apport %p",
              "sysctl kernel.core_pattern=core");
    remove_tree();
}

TEST(memory_is_that_of_the_group_where_that_is_less)
{
    make_tree();
    check_row("memory", DOCTOR_UNKNOWN, "/proc/meminfo", "");
    put_file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    check_row("memory", DOCTOR_OK, "8.0 GiB, 4.0 GiB available", "");
    put_file("/proc/self/cgroup", "0::/\n");
    put_file("/sys/fs/cgroup/memory.max", "536870912\n");
    check_row("memory", DOCTOR_LIMITED, "limit of its control group 512.0 MiB", "");
    put_file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 18446744073709551615 kB\n");
    check_row("memory", DOCTOR_LIMITED, "8.0 GiB, ", "");
    remove_tree();
}

TEST(a_device_without_a_kernel_module_is_told)
{
    make_tree();
    check_row("NVIDIA", DOCTOR_MISSING, "no device", "");
    put_file("/sys/bus/pci/devices/0000:00:01.0/vendor", "0x1af4\n");
    check_row("NVIDIA", DOCTOR_MISSING, "no device", "");
    put_file("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x10de\n");
    check_row("NVIDIA", DOCTOR_MISSING, "no kernel module", "modprobe nvidia");
    put_file("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu\nGCC 12.2.0\n");
    check_row("NVIDIA", DOCTOR_LIMITED, "kernel module 550.54.14, 0 device files",
              "nvidia-modprobe -u -c 0");
    put_file("/dev/nvidia0", "");
    check_row("NVIDIA", DOCTOR_OK, "kernel module 550.54.14, 1 device file ", "");
    driver_file = "/lib/libcuda.so.550.54.14";
    check_row("NVIDIA", DOCTOR_OK, "kernel module 550.54.14, 1 device file ", "");
    driver_file = "/lib/libcuda.so.555.1";
    check_row("NVIDIA", DOCTOR_BROKEN, "kernel module 550.54.14, but libcuda.so.1 is of 555.1", "");
    driver_device_count = 1;
    check_row("NVIDIA", DOCTOR_OK, "kernel module 550.54.14, 1 device file ", "");
    put_file("/dev/accel0", "");
    put_file("/lib/libtpu.so", "");
    check_row("TPU", DOCTOR_OK, "/dev/accel*: 1, /dev/vfio: 0, libtpu: /lib/libtpu.so", "");
    remove_tree();
}

TEST(commands_for_root_say_so)
{
    static struct doctor doctor;
    struct doctor_finding finding;
    doctor_init(&doctor, "", "out", 1);
    doctor.is_root = false;
    doctor_mend_as_root(&doctor, &finding, "apt-get install %s", "jq");
    ck_assert_str_eq(finding.remedy, "sudo apt-get install jq");
}

/* Every row can be looked at, is named once, and says what it means unless it is always ok. */
TEST(the_table_is_whole)
{
    const char *group = NULL;
    size_t group_count = 0;
    for (const struct doctor_row *row = doctor_rows; row->name != NULL; row++) {
        ck_assert_ptr_nonnull(row->group);
        ck_assert_ptr_nonnull((void *)(uintptr_t)row->look);
        group_count += group == NULL || strcmp(group, row->group) != 0;
        group = row->group;
        for (const struct doctor_row *other = doctor_rows; other < row; other++) {
            ck_assert_str_ne(other->name, row->name);
        }
        ck_assert(row->package == NULL || row->meaning != NULL);
        ck_assert(row->package == NULL ||
                  row->package[strspn(row->package, "abcdefghijklmnopqrstuvwxyz0123456789.+- ")] ==
                      '\0');
    }
    ck_assert_uint_eq(group_count, 5); /* each stands together */
    size_t adapter_count = 0;
    while (adapters[adapter_count] != NULL) {
        adapter_count++;
    }
    ck_assert_uint_le(adapter_count, DOCTOR_ADAPTER_COUNT_MAX);
}

TEST(hostile_texts_break_no_line)
{
    struct doctor_finding finding = {.state = DOCTOR_BROKEN};
    struct facts facts = {0};
    struct writing text = {0};
    doctor_find(&finding, DOCTOR_BROKEN, "a\n\033[2Jb\"");
    doctor_mean(&finding, "c\r");
    doctor_mend(&finding, "d\n");
    doctor_tell("group", "name", &finding, &facts);
    facts_print(&facts, FACTS_WORDS, &text);
    ck_assert_ptr_null(strchr(writing_string(&text), '\033'));
    ck_assert_ptr_nonnull(strstr(writing_string(&text), "a\\x0a\\x1b[2Jb\"\n"));
    ck_assert_ptr_nonnull(strstr(writing_string(&text), "to mend it: d\\x0a\n"));
    writing_clear(&text);
    facts_print(&facts, FACTS_JSON, &text);
    ck_assert_str_eq(writing_string(&text),
                     "{\"type\":\"doctor\",\"group\":\"group\",\"name\":\"name\",\"state\":"
                     "\"broken\",\"found\":\"a\\n\\u001b[2Jb\\\"\",\"meaning\":\"c\\u000d\","
                     "\"remedy\":\"d\\n\"}\n");
    writing_deinit(&text);
    facts_deinit(&facts);
}
