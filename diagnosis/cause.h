/* The usual causes of an out-of-memory: a table, one file each.  A cause looks at the evidence and
 * says whether this is its story, how sure it is, and with which numbers. */
#ifndef DIAGNOSIS_CAUSE_H
#define DIAGNOSIS_CAUSE_H

#include "diagnosis/diagnosis.h"

struct cause {
    const char *name;    /* lower case, underscores */
    const char *summary; /* one line */
    bool needs_oom;      /* it is asked only when there was an out-of-memory */
    /* Fills the diagnosis, which is initialised; a confidence below DIAGNOSIS_POSSIBLE: it is not
     * this.  O(ops + blocks), but for leak, growing_set and still_growing: O(tags + blocks) beside
     * a constant of 10 ms for each tag that may grow. */
    void (*find)(const struct evidence *evidence, struct diagnosis *diagnosis);
};

#define CAUSE(name) extern const struct cause cause_##name;
#include "diagnosis/causes/list.h"
#undef CAUSE

enum {
    CAUSE_COUNT = 0
#define CAUSE(name) +1
#include "diagnosis/causes/list.h"
#undef CAUSE
};
/* In the order in which equally sure diagnoses are told. */
extern const struct cause *const causes[CAUSE_COUNT];

/* Asks every cause; diagnoses[0..result) are those that are told, the surest first. */
size_t causes_find(const struct evidence *evidence, struct diagnosis diagnoses[CAUSE_COUNT]);

/* "sure", "likely" or "possible". */
const char *confidence_name(uint32_t confidence);

#endif
