/* The parts of explain_report.c. */
#ifndef EXPLAIN_PRIVATE_REPORT_PARTS_H
#define EXPLAIN_PRIVATE_REPORT_PARTS_H

#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "recording/recording.h"

/* What the numbers say, in the cases of OpenXLA's page on E1000: name is a key, text a paragraph
 * that may hold any characters. */
struct report_case {
    const char *name;
    struct writing text;
};
enum { REPORT_CASE_COUNT_MAX = 10 };
struct report_cases {
    struct report_case items[REPORT_CASE_COUNT_MAX];
    size_t count;
};
/* Deinit it. */
void report_cases_find(const struct compile_report *report, struct report_cases *cases);
void report_cases_deinit(struct report_cases *cases);

/* "34.90G". */
void report_append_size(struct writing *text, uint64_t size_bytes);
/* ": its innermost dimension of 2 is padded to 128"; nothing where that is not why it is padded. */
void report_append_innermost(struct writing *text, const struct compile_allocation *allocation);
/* Bytes of padding in the temporaries, printed or worked out of the utilization; is_said is false
 * where neither is there. */
struct compile_size report_padding(const struct compile_report *report);
/* The parts of the program that live while it runs: HLO temp; of a GPU, the preallocated ones. */
const struct compile_size *report_temporaries(const struct compile_report *report);
/* What part of them is lost between blocks. */
const struct compile_size *report_fragmentation(const struct compile_report *report);
/* Whether the program would fit without those bytes.  missing is said. */
bool report_would_fit_without(const struct compile_size *missing, const struct compile_size *lost);

/* The report as words and as lines of JSON; each appends to the text. */
void explain_report_in_words(const struct recording *recording, struct writing *text);
void explain_report_in_json(const struct recording *recording, struct writing *text);

#endif
