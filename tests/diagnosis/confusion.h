/* How often the diagnosis of generated traces is right: each trace is run up to its first
 * out-of-memory, and what is told of it is compared with what was planted. */
#ifndef TESTS_DIAGNOSIS_CONFUSION_H
#define TESTS_DIAGNOSIS_CONFUSION_H

#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "tests/diagnosis/training_trace.h"

/* Seeds that thresholds were tuned with, and seeds that tuned nothing: tests and the
 * table of docs/diagnosis.md use the latter. */
#define TRAINING_TUNING_SEED UINT64_C(10001)
#define TRAINING_TEST_SEED UINT64_C(1000001)
/* The confidences are measured on others, which tuned nothing either. */
#define TRAINING_STRENGTH_SEED UINT64_C(3000001)

/* What was told of one trace. */
struct training_told {
    uint32_t confidences[CAUSE_COUNT]; /* by cause; 0: not told */
    enum strength strengths[CAUSE_COUNT];
    const struct cause *first; /* the surest; NULL = nothing */
    uint8_t tags[CAUSE_COUNT];
    bool has_tag[CAUSE_COUNT];
    uint32_t ops[CAUSE_COUNT]; /* that the cause names */
    bool has_oom;
    bool is_plant_tag; /* the first one has the planted tag, or one of them has none */
};
void training_tell(const struct training_trace *trace, struct training_told *told);

/* The index of a cause in causes[]. */
size_t training_cause_index(const char *name);

struct confusion_size {
    uint64_t first_seed;
    uint32_t trace_count; /* of each plant */
    uint32_t op_count_max;
};

/* What is told of planted jobs. */
struct confusion_counts {
    uint32_t right;  /* the planted cause comes first, with the tag that was planted */
    uint32_t silent; /* nothing, or only what is true as well and says less: exhausted, of a job
                        whose steps ended; of a leak also still_growing with its tag */
    uint32_t wrong;  /* another cause comes first */
    uint32_t sure_wrong;
};
void confusion_count(enum training_plant plant, const struct confusion_size *size,
                     struct confusion_counts *counts);

/* Prints the table of docs/diagnosis.md as Markdown: for each planted cause what is told of it,
 * with what comes first where that is wrong; and of as many traces without it, of which half never
 * run out of memory and half have a device that is too small for a step, how often it was told, and
 * told for sure. */
void confusion_print(const struct confusion_size *size);

/* Prints, for each strength, how often it was right: the numbers of diagnosis/strengths.h, and how
 * many of them have changed. */
void confusion_print_strengths(const struct confusion_size *size);

#endif
