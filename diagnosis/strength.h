/* Defines how sure a cause is, by what it saw: a measured frequency wherever it was measured. */
#ifndef DIAGNOSIS_STRENGTH_H
#define DIAGNOSIS_STRENGTH_H

#include "diagnosis/diagnosis.h"

enum strength {
#define STRENGTH(name, ...) STRENGTH_##name,
#include "diagnosis/strengths.h"
#undef STRENGTH
    STRENGTH_COUNT
};

struct strength_info {
    const char *name; /* as strengths.h has it */
    const char *cause;
    const char *words;     /* what distinguishes it from the others of the cause */
    uint32_t right, wrong; /* of the generated jobs of which it was told */
    uint32_t rank;
};
const struct strength_info *strength_info(enum strength strength);

/* Fewer jobs measure nothing. */
enum { STRENGTH_COUNT_MIN = 10 };

/* The confidence in percent: the lower end of the interval (Wilson, 95 %) of the share that was
 * right, or the rank of what is not measured. */
uint32_t strength_confidence(enum strength strength);
bool strength_is_measured(enum strength strength);
/* The lower end for any counts; 0 for none. */
uint32_t strength_lower_end(uint32_t right, uint32_t wrong);

/* Sets the confidence and remembers the strength. */
void strength_set(struct diagnosis *diagnosis, enum strength strength);

#endif
