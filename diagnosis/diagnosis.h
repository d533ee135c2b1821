/* The statement of one cause: how sure it is, its numbers, and one to three sentences. */
#ifndef DIAGNOSIS_DIAGNOSIS_H
#define DIAGNOSIS_DIAGNOSIS_H

#include "diagnosis/evidence.h"
#include "harness/base/size.h"

enum {
    DIAGNOSIS_TEXT_BYTES = 1024,
    DIAGNOSIS_NUMBER_COUNT_MAX = 8,
    DIAGNOSIS_POSSIBLE = 25, /* from here on it is told */
    DIAGNOSIS_LIKELY = 50,
    DIAGNOSIS_SURE = 85
};

struct cause;
struct diagnosis_number {
    const char *name; /* lower case with the unit last: "missing_bytes" */
    uint64_t value;
};
/* text is one line without a final newline, and may hold names from the file: whoever prints it
 * makes them visible. */
struct diagnosis {
    const struct cause *cause;
    const char *kind;    /* lower case, underscores: which form of the cause; NULL = it has one */
    uint32_t confidence; /* percent: how sure it is that this is why */
    uint32_t strength;   /* enum strength: from which the confidence is */
    bool has_tag;
    uint8_t tag;
    uint32_t op; /* that it names; OP_NONE */
    struct diagnosis_number numbers[DIAGNOSIS_NUMBER_COUNT_MAX];
    uint32_t number_count;
    char text[DIAGNOSIS_TEXT_BYTES];
};

/* Empty: no op, no tag, no text, confidence 0. */
void diagnosis_init(struct diagnosis *diagnosis, const struct cause *cause);
/* Appends to the text; what does not fit is cut off. */
void diagnosis_describe(struct diagnosis *diagnosis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The tag that it names. */
void diagnosis_tag(struct diagnosis *diagnosis, uint8_t tag);
/* The tag with most of those bytes, the first of equals. */
uint8_t diagnosis_largest_tag(const uint64_t bytes[OP_TAG_COUNT]);
/* Appends lead, and the tags with most of those bytes, the largest first, count_max of them at
 * most; the first is the tag that it names.  Returns how many; 0: none has any, and nothing is
 * said. */
size_t diagnosis_holders(struct diagnosis *diagnosis, const struct evidence *evidence,
                         const uint64_t bytes[OP_TAG_COUNT], const char *lead, size_t count_max);
/* name outlives the diagnosis. */
void diagnosis_number(struct diagnosis *diagnosis, const char *name, uint64_t value);

#endif
