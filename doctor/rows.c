/* Everything that doctor looks at, but the adapters: one row each. */
#include "doctor/doctor.h"

#include <sys/resource.h>

#define MIB (UINT64_C(1) << 20)
#define PROGRAM "program"
#define MACHINE "machine"
#define ENGINES "engines"
#define TOOLS "tools for tests and builds"
#define DRIVERS "drivers and devices"

/* What needs a program and goes without it, in the words of most of these rows. */
#define SKIPPED(what) "skipped: " what

#define PROGRAM_ROW(of, title, looks, programs, option, means, mends)                   \
    {                                                                                   \
        .group = of, .name = title, .look = looks, .what = programs, .version = option, \
        .meaning = means, .package = mends                                              \
    }

#define MACHINE_ROW(title, looks, place, at_least, means)                                 \
    {                                                                                     \
        .group = MACHINE, .name = title, .look = looks, .what = place, .least = at_least, \
        .meaning = means                                                                  \
    }

const struct doctor_row doctor_rows[] = {
    /* --- the program --- */
    {.group = PROGRAM, .name = "version", .look = doctor_version},
    {.group = PROGRAM, .name = "build", .look = doctor_build},
    PROGRAM_ROW(PROGRAM, "job files", doctor_jobs, NULL, NULL, "run --job needs a file of your own",
                NULL),
    PROGRAM_ROW(PROGRAM, "certificate checker", doctor_checker, "hbm-certificate-check", NULL,
                "proofs are checked by hbmstress check alone, not by a second program", NULL),
    PROGRAM_ROW(PROGRAM, "curves of reports", doctor_curves, NULL, NULL,
                "pages of hbmstress report are without curves; ci/setup fetches uPlot for a build",
                NULL),

    /* --- the machine --- */
    {.group = MACHINE,
     .name = "output folder",
     .look = doctor_output_folder,
     .least = 256 * MIB,
     .meaning = "a run may save no finding; --out names another folder",
     .is_needed = true},
    {.group = MACHINE,
     .name = "processes",
     .look = doctor_processes,
     .least = 256,
     .meaning = "no target can be run: each runs in a process of its own",
     .is_needed = true},
    MACHINE_ROW("cores", doctor_cores, NULL, 0,
                "more workers than that gain nothing; see --workers"),
    MACHINE_ROW("memory", doctor_memory, NULL, 1024 * MIB,
                "large devices and many workers may end in a kill by the kernel"),
    {.group = MACHINE,
     .name = "address space",
     .look = doctor_limit,
     .what = "v",
     .number = RLIMIT_AS,
     .least = RLIM_INFINITY,
     .meaning = "large devices may not open, and sanitized builds do not start"},
    {.group = MACHINE,
     .name = "open files",
     .look = doctor_limit,
     .what = "n",
     .number = RLIMIT_NOFILE,
     .least = 256,
     .needed = 32,
     .meaning = "a campaign with many workers, or a pod with many ranks, may not start",
     .is_needed = true},
    {.group = MACHINE,
     .name = "size of a file",
     .look = doctor_limit,
     .what = "f",
     .number = RLIMIT_FSIZE,
     .least = RLIM_INFINITY,
     .meaning = "results of a long campaign end there; below 8M, what a target prints is lost"},
    MACHINE_ROW("core files", doctor_core_files, "/proc/sys/kernel/core_pattern", 0,
                "each crash of a target leaves one"),
    MACHINE_ROW("address randomisation", doctor_randomisation, "/proc/sys/vm/mmap_rnd_bits", 28,
                "builds with thread or address sanitizer of gcc 12 or clang 14 may end at once"),
    MACHINE_ROW("overcommit", doctor_overcommit, "/proc/sys/vm/overcommit_memory", 0,
                "sanitized builds reserve terabytes of addresses and do not start"),
    MACHINE_ROW("huge pages", doctor_huge_pages, "/sys/kernel/mm/transparent_hugepage/enabled", 0,
                NULL),
    MACHINE_ROW("tracing", doctor_ptrace, "/proc/sys/kernel/yama/ptrace_scope", 0,
                "the leak sanitizer of the preset dev cannot look at its process"),
    MACHINE_ROW("TMPDIR", doctor_folder, "$TMPDIR", 256 * MIB,
                "large logs cannot be imported; set TMPDIR to another folder"),
    MACHINE_ROW("shared memory", doctor_folder, "/dev/shm", 64 * MIB,
                "Chromium and Open MPI, which tests use, may crash"),

    /* --- engines --- */
    PROGRAM_ROW(ENGINES, "gcc", doctor_program, "gcc", "-dumpfullversion",
                SKIPPED("the presets dev, release, tsan and coverage"), "gcc libc6-dev"),
    PROGRAM_ROW(ENGINES, "clang", doctor_program, "clang", "-dumpversion",
                SKIPPED("fuzzing, and the preset clang"), "clang"),
    PROGRAM_ROW(ENGINES, "libFuzzer", doctor_fuzzer_runtime, "clang", "-print-resource-dir",
                SKIPPED("fuzzing with libFuzzer"), "clang libclang-rt-dev"),
    PROGRAM_ROW(ENGINES, "AFL++", doctor_program, "afl-fuzz", NULL, SKIPPED("fuzzing with AFL++"),
                "afl++"),
    PROGRAM_ROW(ENGINES, "llvm-symbolizer", doctor_program, "llvm-symbolizer llvm-symbolizer-14",
                "--version", "findings of clang's sanitizers name no lines", "llvm-14"),
    PROGRAM_ROW(ENGINES, "llvm-cov", doctor_program, "llvm-cov llvm-cov-14", "--version",
                SKIPPED("ci/coverage"), "llvm-14"),
    PROGRAM_ROW(ENGINES, "gcov", doctor_program, "gcov", "--version",
                SKIPPED("the preset coverage"), "gcc"),
    PROGRAM_ROW(ENGINES, "valgrind", doctor_program, "valgrind", "--version",
                SKIPPED("ci/instructions"), "valgrind"),

    /* --- tools --- */
    {.group = TOOLS,
     .name = "cmake",
     .look = doctor_program,
     .what = "cmake",
     .version = "--version",
     .least_version = "3.25",
     .meaning = "hbmstress cannot be built here",
     .package = "cmake"},
    PROGRAM_ROW(TOOLS, "ninja", doctor_program, "ninja", "--version",
                "the presets do not configure", "ninja-build"),
    PROGRAM_ROW(TOOLS, "pkg-config", doctor_program, "pkg-config", "--version",
                "hbmstress cannot be built here", "pkg-config"),
    PROGRAM_ROW(TOOLS, "check", doctor_library, "check", NULL, "tests cannot be built", "check"),
    PROGRAM_ROW(TOOLS, "z3", doctor_library, "z3", NULL, "tests cannot be built", "libz3-dev"),
    PROGRAM_ROW(TOOLS, "python3", doctor_program, "python3", "--version",
                SKIPPED("tests written in Python"), "python3"),
    PROGRAM_ROW(TOOLS, "jsonschema", doctor_module, "jsonschema", NULL,
                SKIPPED("the test of the JSON schemas"), "python3-jsonschema"),
    PROGRAM_ROW(TOOLS, "junitparser", doctor_module, "junitparser", NULL,
                SKIPPED("a second reader of junit.xml in tests"), "python3-junitparser"),
    PROGRAM_ROW(TOOLS, "selenium", doctor_module, "selenium", NULL,
                SKIPPED("tests of reports in a browser"), "python3-selenium"),
    PROGRAM_ROW(TOOLS, "jq", doctor_program, "jq", "--version", SKIPPED("commands of docs/json.md"),
                "jq"),
    PROGRAM_ROW(TOOLS, "xmllint", doctor_program, "xmllint", NULL,
                SKIPPED("a reader of junit.xml in tests"), "libxml2-utils"),
    PROGRAM_ROW(TOOLS, "mandoc", doctor_program, "mandoc", NULL,
                SKIPPED("checks of the manual pages"), "mandoc"),
    PROGRAM_ROW(TOOLS, "Chromium", doctor_program, "chromium", NULL,
                SKIPPED("tests of reports in a browser"), "chromium"),
    PROGRAM_ROW(TOOLS, "chromedriver", doctor_program, "chromedriver", NULL,
                SKIPPED("tests of reports in a browser"), "chromium-driver"),
    PROGRAM_ROW(TOOLS, "Open MPI", doctor_program, "mpirun", "--version",
                SKIPPED("the test cluster_mpirun"), "openmpi-bin"),
    PROGRAM_ROW(TOOLS, "Slurm", doctor_program, "slurmctld /usr/sbin/slurmctld", "-V",
                SKIPPED("the test cluster_slurm"), "slurmctld slurmd slurm-client munge"),
    PROGRAM_ROW(TOOLS, "debootstrap", doctor_program, "debootstrap /usr/sbin/debootstrap", NULL,
                SKIPPED("ci/prove-bare"), "debootstrap"), /* PATH may be without it */
    PROGRAM_ROW(TOOLS, "lintian", doctor_program, "lintian", NULL,
                SKIPPED("checks of the Debian packages"), "lintian"),
    PROGRAM_ROW(TOOLS, "npm", doctor_program, "npm", NULL,
                "ci/setup fetches no uPlot: reports are without curves", "npm"),

    /* --- drivers --- */
    PROGRAM_ROW(DRIVERS, "CUDA", doctor_driver, "cuda:pool", NULL,
                "no allocator on a GPU of NVIDIA is tried", NULL),
    PROGRAM_ROW(DRIVERS, "NVIDIA", doctor_nvidia, "/proc/driver/nvidia/version", NULL,
                "CUDA has no device", NULL),
    PROGRAM_ROW(DRIVERS, "Vulkan", doctor_driver, "vulkan", NULL,
                "no allocator on a GPU is tried through Vulkan", NULL),
    {.group = DRIVERS, .name = "TPU", .look = doctor_tpu},

    {.name = NULL},
};
