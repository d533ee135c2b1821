#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include "harness/base/json.h"

const struct cause *const causes[CAUSE_COUNT] = {
#define CAUSE(name) &cause_##name,
#include "diagnosis/causes/list.h"
#undef CAUSE
};

bool cause_may_accompany(enum cause_claim claim, enum evidence_room room)
{
    static const bool may_accompany[CAUSE_CLAIM_COUNT][EVIDENCE_ROOM_COUNT] = {
        [CLAIM_ROOM] = {[ROOM_AT_ONCE] = true, [ROOM_AFTER_EFFORTS] = true},
        [CLAIM_NO_ROOM] = {[ROOM_NONE] = true},
        [CLAIM_TIGHT] = {[ROOM_NONE] = true, [ROOM_AFTER_EFFORTS] = true, [ROOM_UNKNOWN] = true},
        [CLAIM_GROWTH] = {[ROOM_NOT_JUDGED] = true,
                          [ROOM_NONE] = true,
                          [ROOM_AT_ONCE] = true,
                          [ROOM_AFTER_EFFORTS] = true,
                          [ROOM_UNKNOWN] = true},
    };
    return may_accompany[claim][room];
}

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

static size_t drop_yielding(struct diagnosis *diagnoses, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_told = false;
        for (size_t k = 0; k < kept && diagnoses[i].cause->yields; k++) {
            is_told = is_told || (diagnoses[k].has_tag && diagnoses[k].tag == diagnoses[i].tag);
        }
        if (!is_told) {
            diagnoses[kept++] = diagnoses[i];
        }
    }
    return kept;
}

size_t causes_find(const struct evidence *evidence, struct diagnosis diagnoses[CAUSE_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        struct diagnosis diagnosis;
        diagnosis_init(&diagnosis, causes[i]);
        if (!cause_may_accompany(causes[i]->claim, evidence->room)) {
            continue;
        }
        causes[i]->find(evidence, &diagnosis);
        if (diagnosis.confidence >= DIAGNOSIS_POSSIBLE) {
            insert_diagnosis(diagnoses, count++, &diagnosis);
        }
    }
    return drop_yielding(diagnoses, count);
}

const char *confidence_name(uint32_t confidence)
{
    if (confidence >= DIAGNOSIS_SURE) {
        return "sure";
    }
    return confidence >= DIAGNOSIS_LIKELY ? "likely" : "possible";
}

void causes_add_members(struct writing *text, const struct diagnosis *diagnosis,
                        const char *tag_name)
{
    json_add_string(text, "cause", diagnosis->cause->name);
    if (diagnosis->kind != NULL) {
        json_add_string(text, "kind", diagnosis->kind);
    }
    json_add_string(text, "level", confidence_name(diagnosis->confidence));
    json_add_number(text, "confidence", diagnosis->confidence);
    if (!strength_is_measured(diagnosis->strength)) {
        json_add_boolean(text, "is_measured", false);
    }
    if (diagnosis->op != OP_NONE) {
        json_add_number(text, "op", diagnosis->op);
    }
    if (diagnosis->has_tag) {
        json_add_string(text, "tag", tag_name);
    }
    json_nest(text, "numbers", '{');
    for (uint32_t i = 0; i < diagnosis->number_count; i++) {
        json_add_number(text, diagnosis->numbers[i].name, diagnosis->numbers[i].value);
    }
    json_unnest(text, '}');
    json_add_string(text, "text", diagnosis->text);
}
