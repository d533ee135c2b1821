#include "diagnosis/cause.h"

#include "diagnosis/diagnosis.h"
#include "diagnosis/strength.h"
#include "harness/base/check.h"
#include "harness/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- diagnoses --- */

void diagnosis_init(struct diagnosis *diagnosis, const struct cause *cause)
{
    memset(diagnosis, 0, sizeof *diagnosis);
    diagnosis->cause = cause;
    diagnosis->op = OP_NONE;
}

void diagnosis_describe(struct diagnosis *diagnosis, const char *format, ...)
{
    const size_t length = strlen(diagnosis->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diagnosis->text + length, sizeof diagnosis->text - length, format, arguments);
    va_end(arguments);
}

void diagnosis_tag(struct diagnosis *diagnosis, uint8_t tag)
{
    diagnosis->has_tag = true;
    diagnosis->tag = tag;
}

uint8_t diagnosis_largest_tag(const uint64_t bytes[OP_TAG_COUNT])
{
    int most = 0;
    for (int tag = 1; tag < OP_TAG_COUNT; tag++) {
        most = bytes[tag] > bytes[most] ? tag : most;
    }
    return (uint8_t)most;
}

size_t diagnosis_holders(struct diagnosis *diagnosis, const struct evidence *evidence,
                         const uint64_t bytes[OP_TAG_COUNT], const char *lead, size_t count_max)
{
    uint64_t left[OP_TAG_COUNT];
    memcpy(left, bytes, sizeof left);
    for (size_t place = 0; place < count_max; place++) {
        const uint8_t most = diagnosis_largest_tag(left);
        if (left[most] == 0) {
            return place;
        }
        diagnosis_describe(diagnosis, "%s'%s' %s", place == 0 ? lead : ", ",
                           evidence_tag_name(evidence, most).text, size_text_of(left[most]).text);
        if (place == 0) {
            diagnosis_tag(diagnosis, most);
        }
        left[most] = 0;
    }
    return count_max;
}

void diagnosis_number(struct diagnosis *diagnosis, const char *name, uint64_t value)
{
    CHECK(diagnosis->number_count < DIAGNOSIS_NUMBER_COUNT_MAX);
    diagnosis->numbers[diagnosis->number_count++] = (struct diagnosis_number){name, value};
}

/* --- how sure they are --- */

static const struct strength_info infos[STRENGTH_COUNT] = {
#define STRENGTH(name, cause, words, right, wrong, rank) {#name, cause, words, right, wrong, rank},
#include "diagnosis/strengths.h"
#undef STRENGTH
};

const struct strength_info *strength_info(enum strength strength)
{
    return &infos[strength];
}

uint32_t strength_lower_end(uint32_t right, uint32_t wrong)
{
    const double z = 1.96;
    const double count = (double)right + wrong;
    if (count == 0) {
        return 0;
    }
    const double part = right / count;
    const double middle = part + z * z / (2 * count);
    const double half = z * sqrt(part * (1 - part) / count + z * z / (4 * count * count));
    return (uint32_t)(100 * (middle - half) / (1 + z * z / count));
}

bool strength_is_measured(enum strength strength)
{
    return infos[strength].right + infos[strength].wrong >= STRENGTH_COUNT_MIN;
}

uint32_t strength_confidence(enum strength strength)
{
    const struct strength_info *info = &infos[strength];
    return strength_is_measured(strength) ? strength_lower_end(info->right, info->wrong)
                                          : info->rank;
}

void strength_set(struct diagnosis *diagnosis, enum strength strength)
{
    diagnosis->strength = strength;
    diagnosis->confidence = strength_confidence(strength);
}

/* --- causes --- */

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
