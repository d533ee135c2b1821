/* The exact byte counts of a report's run: printed sizes are rounded, and what they say together
 * narrows them down. */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_PLAN_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_PLAN_H

#include "formats/xla/private/hbm_report.h"

/* All multiples of the granule. */
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

#endif
