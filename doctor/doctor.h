/* What doctor looks at, and what it finds: one row for each thing that hbmstress or its tests use
 * on a machine. */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/program.h"
#include "harness/base/writing.h"
#include "present/facts.h"
#include "targets/adapters/adapters.h"

#include <stdbool.h>
#include <stdint.h>

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_LIMITED, /* it is there, and serves in part */
    DOCTOR_MISSING,
    DOCTOR_BROKEN,  /* it is there, and does not work */
    DOCTOR_UNKNOWN, /* the machine does not say */
    DOCTOR_STATE_COUNT
};
const char *doctor_state_name(enum doctor_state state); /* "ok", ... */

enum { DOCTOR_FOUND_BYTES = 1024, DOCTOR_WORDS_BYTES = 384, DOCTOR_MODULES_BYTES = 256 };

/* The texts may have any bytes: they come from files, drivers and the environment.  "" = nothing.
 */
struct doctor_finding {
    enum doctor_state state;
    char found[DOCTOR_FOUND_BYTES];   /* version, file, number, or why it does not work */
    char meaning[DOCTOR_WORDS_BYTES]; /* what does not work for that; "" where it is ok */
    char remedy[DOCTOR_WORDS_BYTES];  /* the command that mends it */
};

/* --- programs that are asked --- */

enum ask_end {
    ASK_ANSWERED, /* it ended with status 0 */
    ASK_FAILED,   /* it ended otherwise, or cannot be run */
    ASK_LATE,     /* it took too long */
    ASK_NOT_ASKED /* no process can be started; errno says why */
};
/* --- rows --- */

/* What was asked of an adapter's library; it is asked once. */
struct doctor_answer {
    bool is_asked;
    enum { ANSWER_WHOLE, ANSWER_LATE, ANSWER_DEAD, ANSWER_NONE } end;
    char death[DOCTOR_WORDS_BYTES]; /* how its process ended */
    struct adapter_findings findings;
};
enum { DOCTOR_ADAPTER_COUNT_MAX = 32 };

/* Where it looks, and what more than one row asks for. */
struct doctor {
    const char *root; /* what stands before /proc, /sys and /dev: "", or a made-up tree of a test */
    const char *path; /* folders of programs, as PATH has them */
    const char *out;  /* the folder that a run would write to */
    uint64_t driver_ns; /* how long a driver may take to answer */
    bool is_root;
    bool has_apt;
    bool has_modules_asked;
    enum ask_end modules_end;
    char modules[DOCTOR_MODULES_BYTES]; /* of Python that are there, a blank around each */
    struct doctor_answer answers[DOCTOR_ADAPTER_COUNT_MAX]; /* by number of the adapter */
};
/* A driver gets duration_ns to answer, or less. */
void doctor_init(struct doctor *doctor, const char *root, const char *out, uint64_t duration_ns);

/* One thing to look at.  A new one is a new row of doctor_rows and, at most, a new function. */
struct doctor_row {
    const char *group, *name;
    /* Sets state and found, and the others where row has nothing that fits. */
    void (*look)(const struct doctor_row *row, struct doctor *doctor,
                 struct doctor_finding *finding);
    const char *what;    /* for look: names of programs, a file, an adapter, a letter of ulimit */
    const char *version; /* for look: the option with which the program prints its version */
    const char *least_version; /* an older one is limited */
    int number;                /* for look: a resource */
    uint64_t least;            /* for look: less is limited */
    uint64_t needed;           /* for look: less is broken */
    const char *meaning;       /* of every state but ok and unknown */
    const char *package;       /* of Debian, which mends what is missing */
    bool is_needed;            /* without it hbmstress can do nothing */
};
extern const struct doctor_row doctor_rows[]; /* by group; ends with a row without a name */

/* Looks, and completes meaning and remedy from the row. */
void doctor_look(const struct doctor_row *row, struct doctor *doctor,
                 struct doctor_finding *finding);
/* The rows of the adapters: one for each of adapters[]. */
void doctor_look_at_adapter(struct doctor *doctor, size_t index, struct doctor_finding *finding);

/* One line, and below it, for people, what it means and what mends it. */
void doctor_tell(const char *group, const char *name, const struct doctor_finding *finding,
                 struct facts *facts);
/* How many things are in each state; broken names the needed ones that do not work, "" where
 * hbmstress can do its work. */
struct doctor_summary {
    uint64_t counts[DOCTOR_STATE_COUNT];
    struct writing broken;
};
void doctor_tell_summary(const struct doctor_summary *summary, enum exit_code code,
                         struct facts *facts);

/* doctor --target: loads and opens options->target in a process of its own, and prints what it is.
 * EXIT_USAGE after one message where it cannot be loaded or refuses, EXIT_BROKEN where it crashes
 * or hangs in open, EXIT_HARNESS where there is no process for it. */
enum exit_code doctor_inspect(const struct run_options *options);

/* --- for the functions of the rows --- */

/* Sets state and found. */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_mean(struct doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_mend(struct doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of a command that needs root. */
void doctor_mend_as_root(const struct doctor *doctor, struct doctor_finding *finding,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The beginning of a file below root, without the line end at its end.  False: errno says why. */
enum { DOCTOR_TEXT_BYTES = 4096 };
bool doctor_read(const struct doctor *doctor, const char *path, char text[DOCTOR_TEXT_BYTES]);
/* A file that has one number.  False: errno says why; 0 = it has none. */
bool doctor_read_number(const struct doctor *doctor, const char *path, uint64_t *number);

/* Numbers and versions in texts that programs and the kernel print. */
enum { VERSION_BYTES = 32 };

/* The first version in a text, digits and dots: "14.0.6" of "Debian clang version 14.0.6-2".
 * False: there is none, and version is "". */
bool version_find(const char *text, char version[VERSION_BYTES]);
/* Below 0, 0 or above: as the numbers between the dots compare, one after the other; what is absent
 * is 0. */
int version_compare(const char *a, const char *b);

/* The number at the start of a text, blanks before it skipped.  False: there is none, or it is
 * above 2^64 - 1. */
bool number_find(const char *text, uint64_t *number);
/* The number behind "NAME:" at the start of a line: of /proc/meminfo and the like. */
bool number_find_named(const char *text, const char *name, uint64_t *number);

/* "5.2 GiB" */
enum { BYTES_TEXT_BYTES = 32 };
const char *bytes_print(uint64_t bytes, char text[BYTES_TEXT_BYTES]);

#define CGROUP_NO_LIMIT UINT64_MAX

/* The tightest limits from its own group up to the root; CGROUP_NO_LIMIT where nothing limits. */
struct cgroup_limits {
    uint64_t memory_bytes;
    uint64_t core_hundredths; /* processor time: 150 is one core and a half */
    uint64_t process_count;
};

/* root stands before /proc and /sys. */
void cgroup_read(const char *root, struct cgroup_limits *limits);

typedef void doctor_function(const struct doctor_row *row, struct doctor *doctor,
                             struct doctor_finding *finding);
doctor_function doctor_version, doctor_build, doctor_jobs, doctor_checker, doctor_curves,
    doctor_program, doctor_fuzzer_runtime, doctor_library, doctor_module; /* programs.c */
doctor_function doctor_processes, doctor_cores, doctor_memory, doctor_limit, doctor_randomisation,
    doctor_overcommit, doctor_huge_pages, doctor_ptrace, doctor_core_files, doctor_output_folder,
    doctor_folder;                                        /* machine.c */
doctor_function doctor_driver, doctor_nvidia, doctor_tpu; /* drivers.c */

#endif
