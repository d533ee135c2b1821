#include "tests/diagnosis/confusion.h"

#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/run/run.h"
#include "targets/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REDRAW_COUNT_MAX = 32 };

static void note_diagnoses(const struct training_trace *trace, const struct diagnosis *diagnoses,
                           size_t count, struct training_told *told)
{
    for (size_t i = 0; i < count; i++) {
        const size_t cause = training_cause_index(diagnoses[i].cause->name);
        told->confidences[cause] = diagnoses[i].confidence;
        told->has_tag[cause] = diagnoses[i].has_tag;
        told->tags[cause] = diagnoses[i].tag;
        told->ops[cause] = diagnoses[i].op;
        told->strengths[cause] = (enum strength)diagnoses[i].strength;
    }
    if (count > 0) {
        told->first = diagnoses[0].cause;
        told->is_plant_tag = !trace->has_plant_tag || !diagnoses[0].has_tag ||
                             diagnoses[0].tag == trace->plant_tag;
    }
}

void training_tell(const struct training_trace *trace, struct training_told *told)
{
    char reason[RUN_REASON_BYTES] = "";
    struct evidence evidence;
    struct diagnosis *diagnoses = calloc(CAUSE_COUNT, sizeof *diagnoses);
    struct history *history = calloc(1, sizeof *history);
    struct verdict verdict = {.kind = VERDICT_NONE};
    memset(told, 0, sizeof *told);
    struct run *run = run_create(target_find(trace->setup.target), &trace->setup, reason);
    CHECK(run != NULL);
    history_init(history);
    for (size_t i = 0; i < trace->ops.count && verdict.kind == VERDICT_NONE; i++) {
        verdict = *run_step(run, &trace->ops.ops[i]);
        history_step(history, run);
    }
    evidence_take(history, run, &verdict, &evidence);
    told->has_oom = evidence_has_oom(&evidence);
    note_diagnoses(trace, diagnoses, causes_find(&evidence, diagnoses), told);
    evidence_deinit(&evidence);
    history_deinit(history);
    run_destroy(run);
    free(history);
    free(diagnoses);
}

size_t training_cause_index(const char *name)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        if (strcmp(causes[i]->name, name) == 0) {
            return i;
        }
    }
    return CAUSE_COUNT;
}

/* A trace whose out-of-memory does not come, as the target found room, is drawn anew. */
static void tell_planted(struct training_trace *trace, struct training_told *told, uint64_t seed,
                         enum training_plant plant, uint32_t op_count_max)
{
    for (uint32_t i = 0;; i++) {
        training_trace_make(trace, random_derive(seed, i), plant, op_count_max);
        training_tell(trace, told);
        if (told->has_oom || !trace->ends_in_oom || i == REDRAW_COUNT_MAX) {
            return;
        }
        training_trace_deinit(trace);
    }
}

/* Whether the cause says something true of the plant, though it is not its name. */
static bool is_true_as_well(const struct training_trace *trace, const struct training_told *told,
                            const struct cause *cause)
{
    const size_t index = training_cause_index(cause->name);
    switch (trace->plant) {
    case TRAINING_LEAK: /* it grows to the end */
        return cause == &cause_still_growing && told->tags[index] == trace->plant_tag;
    case TRAINING_HEAD_OF_LINE: /* which are queued */
        return cause == &cause_queued_frees;
    default:
        return false;
    }
}

static bool is_plant_named(const struct training_trace *trace, const struct training_told *told,
                           const struct cause *cause)
{
    const size_t index = training_cause_index(cause->name);
    return strcmp(cause->name, training_plant_name(trace->plant)) == 0 &&
           (!trace->has_plant_tag || !told->has_tag[index] ||
            told->tags[index] == trace->plant_tag);
}

/* exhausted of a job whose steps ended says that it is full, and not why. */
static bool says_little(const struct training_trace *trace, const struct training_told *told)
{
    const size_t exhausted = training_cause_index("exhausted");
    return told->first == NULL ||
           (told->first == &cause_exhausted && told->strengths[exhausted] == STRENGTH_EXHAUSTED) ||
           is_true_as_well(trace, told, told->first);
}

/* With by_first: how often each cause came first where that is wrong. */
static void count_sick(enum training_plant plant, const struct confusion_size *size,
                       struct confusion_counts *counts, uint32_t by_first[CAUSE_COUNT])
{
    memset(counts, 0, sizeof *counts);
    for (uint32_t i = 0; i < size->trace_count; i++) {
        struct training_trace trace;
        struct training_told told;
        tell_planted(&trace, &told, size->first_seed + i, plant, size->op_count_max);
        if (told.first != NULL && is_plant_named(&trace, &told, told.first)) {
            counts->right++;
        } else if (says_little(&trace, &told)) {
            counts->silent++;
        } else {
            const size_t first = training_cause_index(told.first->name);
            counts->wrong++;
            counts->sure_wrong += told.confidences[first] >= DIAGNOSIS_SURE;
            by_first[first]++;
        }
        training_trace_deinit(&trace);
    }
}

void confusion_count(enum training_plant plant, const struct confusion_size *size,
                     struct confusion_counts *counts)
{
    uint32_t by_first[CAUSE_COUNT] = {0};
    count_sick(plant, size, counts, by_first);
}

/* Of healthy traces. */
struct healthy_counts {
    uint32_t told, sure;
};

static void count_healthy(const struct confusion_size *size,
                          struct healthy_counts counts[CAUSE_COUNT])
{
    for (uint32_t i = 0; i < size->trace_count; i++) {
        struct training_trace trace;
        struct training_told told;
        const enum training_plant plant = i % 2 == 0 ? TRAINING_HEALTHY : TRAINING_EXHAUSTED;
        tell_planted(&trace, &told, size->first_seed + i, plant, size->op_count_max);
        for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
            counts[cause].told += told.confidences[cause] > 0;
            counts[cause].sure += told.confidences[cause] >= DIAGNOSIS_SURE;
        }
        training_trace_deinit(&trace);
    }
}

static void print_wrong(const uint32_t by_first[CAUSE_COUNT])
{
    const char *between = "";
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        if (by_first[i] > 0) {
            printf("%s`%s` %u", between, causes[i]->name, by_first[i]);
            between = ", ";
        }
    }
}

void confusion_print(const struct confusion_size *size)
{
    struct healthy_counts healthy[CAUSE_COUNT];
    memset(healthy, 0, sizeof healthy);
    count_healthy(size, healthy);
    printf("| planted cause | right | wrong | silent | told when wrong "
           "| not planted: told | sure |\n|---|---|---|---|---|---|---|\n");
    for (uint32_t i = TRAINING_EXHAUSTED; i < TRAINING_PLANT_COUNT; i++) {
        const enum training_plant plant = (enum training_plant)i;
        const char *name = training_plant_name(plant);
        const struct healthy_counts *other = &healthy[training_cause_index(name)];
        struct confusion_counts counts;
        uint32_t by_first[CAUSE_COUNT] = {0};
        count_sick(plant, size, &counts, by_first);
        printf("| `%s` | %u | %u | %u | ", name, counts.right, counts.wrong, counts.silent);
        print_wrong(by_first);
        if (plant == TRAINING_EXHAUSTED) { /* of those without it half are these */
            printf(" | | |\n");
        } else {
            printf(" | %u | %u |\n", other->told, other->sure);
        }
    }
}

/* --- how often each strength is right --- */

enum { HEALTHY_PER_SEED = 4 };

struct share {
    uint32_t right, wrong;
};

static void count_strengths(const struct training_trace *trace, const struct training_told *told,
                            struct share shares[STRENGTH_COUNT])
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        const enum strength strength = told->strengths[i];
        /* It is told beside all others: it is their rest. */
        if (told->confidences[i] == 0 ||
            (strength == STRENGTH_EXHAUSTED && told->first != &cause_exhausted)) {
            continue;
        }
        const bool is_right = is_plant_named(trace, told, causes[i]) ||
                              is_true_as_well(trace, told, causes[i]);
        shares[strength].right += is_right;
        shares[strength].wrong += !is_right;
    }
}

void confusion_print_strengths(const struct confusion_size *size)
{
    struct share shares[STRENGTH_COUNT] = {{0, 0}};
    for (uint32_t i = 0; i < size->trace_count; i++) {
        for (uint32_t k = 0; k < TRAINING_PLANT_COUNT - 1 + HEALTHY_PER_SEED; k++) {
            const bool is_sick = k + 1 < TRAINING_PLANT_COUNT;
            const uint64_t seed = size->first_seed + i + (is_sick ? 0 : k * size->trace_count);
            struct training_trace trace;
            struct training_told told;
            tell_planted(&trace, &told, seed,
                         is_sick ? (enum training_plant)(k + 1) : TRAINING_HEALTHY,
                         size->op_count_max);
            count_strengths(&trace, &told, shares);
            training_trace_deinit(&trace);
        }
    }
    uint32_t changed_count = 0;
    for (size_t i = 0; i < STRENGTH_COUNT; i++) {
        const struct strength_info *info = strength_info((enum strength)i);
        changed_count += info->right != shares[i].right || info->wrong != shares[i].wrong;
        printf("STRENGTH(%s, \"%s\", \"%s\", %u, %u, %u)\n", info->name, info->cause, info->words,
               shares[i].right, shares[i].wrong, info->rank);
    }
    printf("%u of %u lines are not as diagnosis/strengths.h has them\n", changed_count,
           STRENGTH_COUNT);
}
