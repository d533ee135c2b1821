/* A report that XLA prints when a program needs more memory than its device has, taken apart, and
 * the ops that end in the same failure.  Known are the reports of the XLA:TPU compiler from 2019 to
 * 2026 ("Ran out of memory in memory space hbm" and the sections below it), its short forms, and
 * the statistics that XLA:GPU prints with an out-of-memory.
 */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_H

#include "formats/common/compile_report.h"
#include "formats/common/import.h"
#include "formats/common/phrase.h"

/* Sections of a report, in the order in which it has them. */
enum hbm_report_section {
    HBM_SECTION_NONE = 0,
    HBM_SECTION_USED,
    HBM_SECTION_TOTAL,
    HBM_SECTION_OUTPUT,
    HBM_SECTION_REQUIREMENT,
    HBM_SECTION_LIST
};

enum { HBM_REPORT_SPACE_BYTES = 64, HBM_REPORT_ENTRY_COUNT_MAX = 64, HBM_REPORT_TYPE_BYTES = 16 };

/* A part of the text; length 0: not said. */
struct hbm_report_span {
    size_t at, length;
};

/* One entry of a list of allocations. */
struct listed_allocation {
    size_t begin; /* byte of the text */
    struct size_range size;
    struct compile_size unpadded; /* "Unpadded size: S" */
    struct compile_size padding;  /* "Extra memory due to padding: S" */
    uint64_t shape_bytes;         /* dimensions times element size; 0 = not said, or not known */
    char name[SETUP_NAME_BYTES];  /* what it is for: the op's name, else the label; "" = neither is
                                     said */
    char type[HBM_REPORT_TYPE_BYTES];              /* "HLO temp"; "" = not said */
    uint64_t number;                               /* "N. Size: S"; 0 = not said */
    struct hbm_report_span operator, shape, label; /* values, to their ends */
    bool is_argument;                              /* of the list of arguments and outputs */
    bool is_whole; /* it goes on to its type or to the rule below it */
};

/* One report. */
struct hbm_report {
    enum compile_form form;
    size_t begin, end;                  /* bytes of the text, from the first fact to the last one */
    char space[HBM_REPORT_SPACE_BYTES]; /* "hbm", "vmem", ...; "" = not said */
    struct compile_size numbers[COMPILE_NUMBER_COUNT];
    struct compile_share utilization, fragmentation; /* of HLO temp */
    struct hbm_report_span sentence;                 /* what it says first, in its own words */
    struct hbm_report_span module;
    unsigned sections; /* bit per section that it has */
    /* entry_count of them, as listed; those that are cut off are told, and are no ops */
    struct listed_allocation entries[HBM_REPORT_ENTRY_COUNT_MAX];
    size_t entry_count;
    size_t cut_count; /* entries that are cut off, or too many */
    bool has_list,
        is_list_of_arguments; /* the heading of a list was there, and what the last one says */
    bool is_last_cut;         /* the last entry that began is cut off */
};

/* The sentence on temporaries as people shorten it, which has no capital letter to find it by.
 * False: it is not in the text.  Linear. */
bool hbm_report_find_temporaries(const char *text, size_t length, struct hbm_report *report);

/* Reads the next report at or after *offset; moves *offset behind it.  False: no further one.
 * Linear in the text that it passes. */
bool hbm_report_next(const char *text, size_t length, size_t *offset, struct hbm_report *report);

/* Why a report becomes no run, or NULL.  capacity_is_fixed: the user names a capacity or a chip. */
const char *hbm_report_missing(const struct hbm_report *report, bool capacity_is_fixed);

/* True if the fixed capacity holds all that the report says is used.  False where no byte counts
 * agree with what it prints. */
bool hbm_report_fits(const struct hbm_report *report, const struct setup *fixed);

/* Fills import->setup and ->ops with the shortest list that ends in this failure, and ->notes with
 * what was assumed. Only for reports of which nothing is missing.  IMPORT_INVALID: it contradicts
 * itself or what is fixed; error->line then says where. */
enum import_result hbm_report_build(const struct hbm_report *report,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error);

/* For a log whose failure is a message of the runtime at that byte: adds to the import that a
 * report of the compiler stands before it, too, if one does.  Linear. */
void hbm_report_assume_message(const struct import_input *input, size_t at, struct import *import);

/* True if explain can tell it although it becomes no run: it is on device memory, and has a number
 * or an entry of a list. */
bool hbm_report_may_be_told(const struct hbm_report *report);
/* The report for people, with remarks on what is not whole or does not agree in it; the caller
 * destroys it.  It need not be complete. */
struct compile_report *hbm_report_tell(const struct hbm_report *report,
                                       const struct import_input *input);

/* A shape as the report prints it, "f32[4,128]{1,0:T(8,128)}". */
struct hbm_report_shape {
    uint64_t bytes; /* dimensions times element size; 0: a tuple, an element type of no whole bytes,
                       or above 2^63 */
    uint64_t tiled_bytes; /* padded by the first tile of its layout; 0 = the same, or not known */
    uint64_t innermost, innermost_tiled; /* the dimension of stride 1, and what it is padded to */
};
struct hbm_report_shape hbm_report_parse_shape(const char *text, size_t length);

/* --- the numbers of a run that is built --- */

/* The plan of a run; all sizes are multiples of the granule. */
struct hbm_report_plan {
    uint64_t granule_bytes;
    uint64_t capacity_bytes;
    uint64_t used_bytes;     /* the sum of the five below */
    uint64_t reserved_bytes; /* for the system, within the capacity; 0 = it is outside */
    uint64_t argument_bytes; /* arguments; CORES: the TensorCore's part */
    uint64_t other_bytes;    /* of "Used", neither reserved, arguments nor program */
    uint64_t image_bytes; /* of the program; 0 = its size is not said and nothing is left for it */
    uint64_t stack_bytes;
    const char *chip;      /* whose capacity it is; NULL = fixed, or none's */
    bool has_other_total;  /* "Total" is neither "Used" nor that and what is reserved */
    bool rows_disagree;    /* the rows of the requirement are not the requirement */
    bool image_is_assumed; /* one granule: the report does not say how large it is */
};

/* Chooses them.  A fixed chip's capacity is without what it reserves: so are the bytes used then.
 * NULL, or why there are none; *at is then the byte of the text that is to blame. */
const char *hbm_report_choose(const struct hbm_report *report, const struct setup *fixed,
                              struct hbm_report_plan *plan, size_t *at);

/* --- the parts of a report: each parser takes what begins at the cursor, and what it set is
 * unspecified where it answers false --- */

/* The words before a number. */
struct hbm_report_row {
    const char *name;
    enum compile_number number;
};

/* The name of a memory space: a word of letters. */
bool hbm_report_take_space(struct phrase_cursor *cursor, char space[HBM_REPORT_SPACE_BYTES]);
/* Parentheses, those in them too, on the line that the cursor is in: a prefix of the next line may
 * begin with one.  Nothing, where there are none. */
void hbm_report_skip_parentheses(struct phrase_cursor *cursor);
/* "10.04GiB", "24.6KiB", "112B": sizes with the units of XLA:GPU, after any gap. */
bool hbm_report_take_binary_size(struct phrase_cursor *cursor, struct compile_size *size);

/* Reports of one sentence, the compiler's estimate, and the statistics of XLA:GPU.  Each sets
 * report->form, too. */
bool hbm_report_parse_temporaries(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_estimate(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_allocation(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_cores(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_early(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_gpu(struct phrase_cursor *cursor, struct hbm_report *report);

/* "Out of memory while trying to allocate N bytes", later "1.97GiB."; "Failed to allocate request
 * for 154.06GiB (165425291480B)": what stands before the statistics. */
bool hbm_report_parse_gpu_request(struct phrase_cursor *cursor, struct compile_size *request);

/* Lists of allocations: entries with operator, shape, sizes and type.  "Largest program allocations
 * in hbm:", or "... arguments and outputs ...", and the entries below.  False: it is neither. */
bool hbm_report_parse_list(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Unpadded size: S" of an entry that began before the text did. */
bool hbm_report_parse_entry_end(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Peak buffers:" of XLA:GPU and the buffers below; nothing, where there are none. */
void hbm_report_parse_peak(struct phrase_cursor *cursor, struct hbm_report *report);

#endif
