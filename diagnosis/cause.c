#include "diagnosis/cause.h"

const struct cause *const causes[CAUSE_COUNT] = {
#define CAUSE(name) &cause_##name,
#include "diagnosis/causes/list.h"
#undef CAUSE
};

/* Keeps the diagnoses in order: few of them, and equal ones stay as the table has them. */
static void insert_diagnosis(struct diagnosis *diagnoses, size_t count,
                             const struct diagnosis *diagnosis)
{
    size_t place = count;
    for (; place > 0 && diagnoses[place - 1].confidence < diagnosis->confidence; place--) {
        diagnoses[place] = diagnoses[place - 1];
    }
    diagnoses[place] = *diagnosis;
}

/* On a justified out-of-memory on which no other cause has a word, it is no rank but what was
 * proved: it was full. */
enum { CONFIDENCE_ALONE = 90 };

static bool is_simply_full(const struct evidence *evidence,
                           const struct diagnosis diagnoses[CAUSE_COUNT], size_t count)
{
    return count == 1 && diagnoses[0].cause == &cause_exhausted &&
           diagnoses[0].confidence < CONFIDENCE_ALONE &&
           evidence->verdict->kind == VERDICT_JUSTIFIED;
}

size_t causes_find(const struct evidence *evidence, struct diagnosis diagnoses[CAUSE_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        struct diagnosis diagnosis;
        diagnosis_init(&diagnosis, causes[i]);
        if (causes[i]->needs_oom && !evidence_has_oom(evidence)) {
            continue;
        }
        causes[i]->find(evidence, &diagnosis);
        if (diagnosis.confidence >= DIAGNOSIS_POSSIBLE) {
            insert_diagnosis(diagnoses, count++, &diagnosis);
        }
    }
    if (is_simply_full(evidence, diagnoses, count)) {
        diagnoses[0].confidence = CONFIDENCE_ALONE;
    }
    return count;
}

const char *confidence_name(uint32_t confidence)
{
    if (confidence >= DIAGNOSIS_SURE) {
        return "sure";
    }
    return confidence >= DIAGNOSIS_LIKELY ? "likely" : "possible";
}
