/* What doctor reads of a machine: made-up trees of /proc and /sys, and texts of programs. */
#include "doctor/doctor.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- a made-up tree --- */

static void make_tree(void)
{
    folder_enter("doctor");
}

static void remove_tree(void)
{
    snap_rest();
    folder_leave();
}

EVERY_TEST(.setup = make_tree, .teardown = remove_tree);

static void put_file(const char *path, const char *text)
{
    folder_write(path + 1, text);
}

/* --- texts --- */

TEST(versions_are_found_in_what_programs_print)
{
    static const char *const texts[] = {
        "Debian clang version 14.0.6-2\nTarget: x86_64",
        "gcov (Debian 12.2.0-14+deb12u1) 12.2.0",
        "valgrind-3.19.0",
        "the end is 1.6.",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  x",
        "/lib/libcuda.so.550.54.14",
        "xmllint: using libxml version 20914",
        "",
        "1.11111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char version[VERSION_BYTES];
        (void)version_find(texts[i], version);
        show("'%s' in %s\n", version, texts[i]);
    }
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
    static const uint64_t sizes[] = {0, 1536, UINT64_C(80) << 30, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[BYTES_TEXT_BYTES];
        show("%s\n", bytes_print(sizes[i], text));
    }
}

/* --- control groups --- */

static void show_limits(void)
{
    struct cgroup_limits limits;
    cgroup_read(folder, &limits);
    SHOW(limits.memory_bytes, limits.core_hundredths, limits.process_count);
}

TEST(the_tightest_group_above_counts)
{
    put_file("/proc/self/cgroup", "0::/a/b\n");
    put_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put_file("/sys/fs/cgroup/a/memory.max", "1048576\n");
    put_file("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    put_file("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put_file("/sys/fs/cgroup/pids.max", "99\n");
    show_limits();
}

TEST(groups_of_version_1_are_read)
{
    put_file("/proc/self/cgroup", "4:memory:/x\n3:pids:/\n2:cpu,cpuacct:/x\n1:name=systemd:/\n");
    put_file("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
    put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put_file("/sys/fs/cgroup/pids/pids.max", "max\n");
    show_limits();
}

TEST(no_group_and_no_sense_are_no_limit)
{
    static const char *const texts[] = {"",       "\n",  "0::",         "0::/../../etc\n",
                                        "::::\n", "x\n", "1:../..:/a\n"};
    put_file("/etc/memory.max", "1\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_file("/proc/self/cgroup", texts[i]);
        put_file("/sys/fs/cgroup/cpu.max", "5 0\n");
        show_limits();
    }
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
    doctor_init(&doctor, folder, "out", UINT64_C(1000000000));
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

static void show_row(const char *name)
{
    const struct doctor_finding finding = look(name);
    show("%s is %s: %s", name, doctor_state_name(finding.state), finding.found);
    show("%s%s\n", finding.remedy[0] == '\0' ? "" : "; to mend it: ", finding.remedy);
    ck_assert(finding.state != DOCTOR_OK || finding.meaning[0] == '\0');
}

TEST(settings_of_the_kernel_are_judged)
{
    show_row("address randomisation");
    show_row("overcommit");
    show_row("tracing");
    put_file("/proc/sys/kernel/osrelease", "6.1\n");
    show_row("tracing");
    put_file("/proc/sys/kernel/randomize_va_space", "2\n");
    put_file("/proc/sys/vm/mmap_rnd_bits", "28\n");
    show_row("address randomisation");
    put_file("/proc/sys/vm/mmap_rnd_bits", "32\n");
    show_row("address randomisation");
    put_file("/proc/sys/vm/mmap_rnd_bits", "many\n");
    show_row("address randomisation");
    put_file("/proc/sys/kernel/randomize_va_space", "0\n");
    show_row("address randomisation");
    put_file("/proc/sys/vm/overcommit_memory", "2\n");
    show_row("overcommit");
    put_file("/proc/sys/vm/overcommit_memory", "9\n");
    show_row("overcommit");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "1\n");
    show_row("tracing");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "2\n");
    show_row("tracing");
    put_file("/proc/sys/kernel/yama/ptrace_scope", "3\n");
    show_row("tracing");
    put_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    show_row("huge pages");
    put_file("/proc/sys/kernel/core_pattern", "|/usr/share/apport/apport %p\n");
    show_row("core files");
}

TEST(memory_is_that_of_the_group_where_that_is_less)
{
    show_row("memory");
    put_file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    show_row("memory");
    put_file("/proc/self/cgroup", "0::/\n");
    put_file("/sys/fs/cgroup/memory.max", "536870912\n");
    show_row("memory");
    put_file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 18446744073709551615 kB\n");
    show_row("memory");
}

TEST(a_device_without_a_kernel_module_is_told)
{
    show_row("NVIDIA");
    put_file("/sys/bus/pci/devices/0000:00:01.0/vendor", "0x1af4\n");
    show_row("NVIDIA");
    put_file("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x10de\n");
    show_row("NVIDIA");
    put_file("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu\nGCC 12.2.0\n");
    show_row("NVIDIA");
    put_file("/dev/nvidia0", "");
    show_row("NVIDIA");
    driver_file = "/lib/libcuda.so.550.54.14";
    show_row("NVIDIA");
    driver_file = "/lib/libcuda.so.555.1";
    show_row("NVIDIA");
    driver_device_count = 1;
    show_row("NVIDIA");
    put_file("/dev/accel0", "");
    put_file("/lib/libtpu.so", "");
    show_row("TPU");
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
    facts_print(&facts, FACTS_JSON, &text);
    snap(writing_string(&text));
    writing_deinit(&text);
    facts_deinit(&facts);
}
