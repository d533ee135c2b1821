/* How often the diagnosis of generated traces is right: each trace is run up to its first
 * out-of-memory, and what is told of it is compared with what was planted. */
#ifndef TESTS_DIAGNOSIS_CONFUSION_H
#define TESTS_DIAGNOSIS_CONFUSION_H

#include "diagnosis/cause.h"
#include "tests/diagnosis/training_trace.h"

/* Seeds that thresholds were tuned with, and seeds that tuned nothing: of the two, tests and the
 * table of docs/diagnosis.md use the second. */
#define TRAINING_TUNING_SEED UINT64_C(1)
#define TRAINING_TEST_SEED UINT64_C(1000001)

/* What was told of one trace. */
struct training_told {
    uint32_t confidences[CAUSE_COUNT]; /* by cause; 0: not told */
    const struct cause *first;         /* the surest; NULL = nothing */
    uint8_t tags[CAUSE_COUNT];
    bool has_tag[CAUSE_COUNT];
    uint32_t ops[CAUSE_COUNT]; /* that the cause names */
    const char *leak_kind;     /* how a leak was seen; NULL: none is told */
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

/* Of how many traces the planted cause was told first, with the tag that was planted. */
uint32_t confusion_count_right(enum training_plant plant, const struct confusion_size *size);

/* Prints the table of docs/diagnosis.md as Markdown: for each planted cause how often it was told
 * first (right), another one was (wrong), or nothing at all (silent); and of as many traces without
 * it, of which half never run out of memory and half have a device that is too small for a step,
 * how often it was not told, told, and told for sure. */
void confusion_print(const struct confusion_size *size);

/* Prints, for each way to see a leak, how often it was one: among traces of which one in four
 * leaks.  The confidences of diagnosis/causes/leak.c are these numbers. */
void confusion_print_leak_shares(const struct confusion_size *size);

#endif
