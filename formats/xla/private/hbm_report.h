/* A report that XLA prints when a program needs more memory than its device has, taken apart, and
 * the ops that end in the same failure.  Known are the reports of the XLA:TPU compiler from 2019 to
 * 2026 ("Ran out of memory in memory space hbm" and the sections below it), its short forms, and
 * the statistics that XLA:GPU prints with an out-of-memory.
 */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_H

#include "formats/common/import.h"
#include "formats/common/printed_size.h"

enum hbm_report_form {
    HBM_REPORT_COMPILE = 0, /* "Used S of S hbm" with its sections */
    HBM_REPORT_ALLOCATION,  /* "Allocation (size=N) would exceed memory (size=N)" */
    HBM_REPORT_CORES,  /* "TPU TensorCore Hbm usage: S, SparseCore Hbm usage S, exceeding available
                          bytes: S" */
    HBM_REPORT_EARLY,  /* "Aborting compilation early ... Requires S, has S available" */
    HBM_REPORT_GPU,    /* "BufferAssignment stats:" */
    HBM_REPORT_ENTRIES /* entries of a list whose report is not there */
};

/* A number that a report may or may not have. */
struct hbm_report_size {
    bool is_said;
    struct size_range range; /* bytes; zero unless is_said */
    size_t at;               /* byte of the text */
};

/* Sections of a report, in the order in which it has them. */
enum hbm_report_section {
    HBM_SECTION_NONE = 0,
    HBM_SECTION_USED,
    HBM_SECTION_TOTAL,
    HBM_SECTION_OUTPUT,
    HBM_SECTION_REQUIREMENT,
    HBM_SECTION_LIST
};

enum hbm_report_number {
    HBM_USED, /* "Used S"; CORES: of the TensorCore; EARLY: "Requires S"; ALLOCATION: its size */
    HBM_CAPACITY, /* "of S hbm" */
    HBM_EXCEEDED, /* "Exceeded hbm capacity by S" */
    HBM_TOTAL,    /* "Total hbm usage >= S" and its rows: */
    HBM_RESERVED,
    HBM_PROGRAM,
    HBM_ARGUMENTS,
    HBM_OUTPUT, /* "Output size S; shares S with arguments" */
    HBM_SHARED,
    HBM_REQUIREMENT, /* "Program hbm requirement S" and its rows: */
    HBM_ROW_RESERVED,
    HBM_ROW_GLOBAL,
    HBM_ROW_SCOPED,
    HBM_ROW_TEMP,
    HBM_ROW_OVERLAYS,
    HBM_SPARSE_CORE, /* CORES */
    HBM_GPU_REQUEST, /* "trying to allocate N bytes", before the statistics */
    HBM_GPU_PARAMETERS,
    HBM_GPU_CONSTANTS,
    HBM_GPU_LIVE_OUT,
    HBM_GPU_TEMP,
    HBM_GPU_FRAGMENTATION,
    HBM_GPU_TOTAL,
    HBM_NUMBER_COUNT
};

enum { HBM_REPORT_SPACE_BYTES = 64, HBM_REPORT_ENTRY_COUNT_MAX = 64, HBM_REPORT_TYPE_BYTES = 16 };

/* One entry of a list of allocations. */
struct hbm_report_entry {
    size_t begin; /* byte of the text */
    struct size_range size;
    struct hbm_report_size unpadded; /* "Unpadded size: S" */
    struct hbm_report_size padding;  /* "Extra memory due to padding: S" */
    uint64_t shape_bytes;            /* dimensions times element size; 0 = not said, or not known */
    char name[SETUP_NAME_BYTES]; /* what it is for: the op's name, else the label; "" = neither is
                                    said */
    char type[HBM_REPORT_TYPE_BYTES]; /* "HLO temp"; "" = not said */
    bool is_argument;                 /* of the list of arguments and outputs */
    bool is_whole;                    /* it goes on to its type or to the rule below it */
};

/* One report. */
struct hbm_report {
    enum hbm_report_form form;
    size_t begin, end;                  /* bytes of the text, from the first fact to the last one */
    char space[HBM_REPORT_SPACE_BYTES]; /* "hbm", "vmem", ...; "" = not said */
    struct hbm_report_size numbers[HBM_NUMBER_COUNT];
    unsigned sections; /* bit per section that it has */
    /* entry_count of them, whole ones */
    struct hbm_report_entry entries[HBM_REPORT_ENTRY_COUNT_MAX];
    size_t entry_count;
    size_t cut_count; /* entries that are cut off, or too many */
    bool has_list,
        is_list_of_arguments; /* the heading of a list was there, and what the last one says */
    bool is_last_cut;         /* the last entry that began is cut off */
};

/* Reads the next report at or after *offset; moves *offset behind it.  False: no further one.
 * Linear in the text that it passes. */
bool hbm_report_next(const char *text, size_t length, size_t *offset, struct hbm_report *report);

/* Why a report becomes no run, or NULL.  capacity_is_fixed: the user names a capacity or a chip. */
const char *hbm_report_missing(const struct hbm_report *report, bool capacity_is_fixed);

/* Fills import->setup and ->ops with the shortest list that ends in this failure, and ->notes with
 * what was assumed. Only for reports of which nothing is missing.  IMPORT_INVALID: it contradicts
 * itself or what is fixed; error->line then says where. */
enum import_result hbm_report_build(const struct hbm_report *report,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error);

/* Bytes of a shape as the report prints it, "f32[4,128]{1,0:T(8,128)}", without padding: the
 * product of its dimensions times the size of an element.  0: a tuple, an element type of no whole
 * bytes, or above 2^63. */
uint64_t hbm_shape_bytes(const char *text, size_t length);

#endif
