/* A compiler's report on a program's device memory, taken apart for people.  Telling it needs no
 * run, and no run can be made of some reports. */
#ifndef FORMATS_COMMON_COMPILE_REPORT_H
#define FORMATS_COMMON_COMPILE_REPORT_H

#include "formats/common/printed_size.h"

/* The form of the report. */
enum compile_form {
    COMPILE_FORM_SECTIONS = 0, /* "Used S of S hbm" with its sections */
    COMPILE_FORM_ALLOCATION,   /* "Allocation (size=N) would exceed memory (size=N)" */
    COMPILE_FORM_CORES, /* "TPU TensorCore Hbm usage: S, SparseCore Hbm usage S, exceeding available
                           bytes: S" */
    COMPILE_FORM_EARLY, /* "Aborting compilation early ... Requires S, has S available" */
    COMPILE_FORM_TEMPORARIES, /* "HLO temporaries (S) exceeds available HBM (S)" */
    COMPILE_FORM_ESTIMATE,    /* "Total estimated memory size: N GB": no failure */
    COMPILE_FORM_GPU,         /* "BufferAssignment stats:", below a failure of the runtime */
    COMPILE_FORM_ASSIGNMENT,  /* a dump of "BufferAssignment:", with the same sums: no failure */
    COMPILE_FORM_ENTRIES      /* entries of a list whose report is not there */
};

/* The numbers of a report. */
enum compile_number {
    COMPILE_USED, /* "Used S"; CORES: of the TensorCore; EARLY: "Requires S"; ALLOCATION: its size;
                     TEMPORARIES: these; ESTIMATE: the total */
    COMPILE_CAPACITY, /* "of S hbm" */
    COMPILE_EXCEEDED, /* "Exceeded hbm capacity by S" */
    COMPILE_TOTAL,    /* "Total hbm usage >= S" and its rows: */
    COMPILE_RESERVED,
    COMPILE_PROGRAM,
    COMPILE_ARGUMENTS,
    COMPILE_OUTPUT, /* "Output size S; shares S with arguments" */
    COMPILE_SHARED,
    COMPILE_REQUIREMENT, /* "Program hbm requirement S" and its rows: */
    COMPILE_ROW_RESERVED,
    COMPILE_ROW_GLOBAL,
    COMPILE_ROW_SCOPED,
    COMPILE_ROW_TEMP, /* "HLO temp", and what stands behind it in parentheses: */
    COMPILE_ROW_OVERLAYS,
    COMPILE_UNPADDED,
    COMPILE_PADDED,
    COMPILE_FRAGMENTATION,
    COMPILE_SPARSE_CORE, /* CORES */
    COMPILE_GPU_REQUEST, /* "trying to allocate N bytes", before the statistics */
    COMPILE_GPU_PARAMETERS,
    COMPILE_GPU_CONSTANTS,
    COMPILE_GPU_LIVE_OUT,
    COMPILE_GPU_TEMP,
    COMPILE_GPU_FRAGMENTATION,
    COMPILE_GPU_TOTAL,
    COMPILE_GPU_TOTAL_FRAGMENTATION,
    COMPILE_NUMBER_COUNT
};

/* "35.7%". */
struct compile_share {
    bool is_said;
    unsigned hundredths; /* of a percent */
};

/* One entry of a list of the largest allocations.  The texts are owned, on one line and "" where
 * nothing is said, but may hold any characters. */
struct compile_allocation {
    struct size_range size;
    struct compile_size unpadded, padding;
    uint64_t shape_bytes; /* dimensions times element size; 0 = not known */
    uint64_t tiled_bytes; /* the same, padded by the tiles of the layout; 0 = not known */
    uint64_t innermost, innermost_tiled; /* its dimension of stride 1, and what it is padded to */
    uint64_t number;                     /* as printed; 0 = none */
    char *shape;                         /* with layout */
    char *op;
    char *source;     /* "file.py:711" or "stack frame 168" */
    char *label;      /* its first word: the instruction that makes it */
    char *type;       /* "HLO temp" */
    bool is_argument; /* of the list of arguments and outputs */
};

/* One report.  The texts are owned, as above; remarks has a line for each way in which it is not
 * whole or disagrees with itself, with "\n" between. */
struct compile_report {
    enum compile_form form;
    struct compile_size numbers[COMPILE_NUMBER_COUNT];
    struct compile_share utilization, fragmentation; /* of HLO temp */
    /* The capacity from the user, or of a chip that the log names; 0 = the report's counts. */
    uint64_t given_capacity_bytes;
    char *chip;   /* that capacity is one of this chip; "" = none's */
    char *module; /* "" = not said */
    char *remarks;
    struct compile_allocation *allocations; /* allocation_count of them, as listed */
    size_t allocation_count;
};

/* An empty one, with texts of "". */
struct compile_report *compile_report_create(void);
/* NULL: does nothing. */
void compile_report_destroy(struct compile_report *report);
/* The next allocation: empty, with texts of "".  Valid until the next call. */
struct compile_allocation *compile_report_add(struct compile_report *report);
/* Puts a text on one line in place of *to, which is owned. */
void compile_report_set(char **to, const char *text, size_t length);
/* Adds a remark, a sentence without a full stop. */
void compile_report_remark(struct compile_report *report, const char *remark, ...)
    __attribute__((format(printf, 2, 3)));

/* True if its sums are those of a buffer assignment: COMPILE_GPU_... */
bool compile_report_has_assignment(const struct compile_report *report);
/* The device's bytes; 0: not known. */
uint64_t compile_report_capacity(const struct compile_report *report);
/* Returns by how much the program is too large for it: what is printed, or the difference.  Not
 * said: it fits, or one of the two is not known. */
struct compile_size compile_report_missing(const struct compile_report *report);

#endif
