#include "tests/diagnosis/confusion.h"

#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/run/run.h"
#include "targets/targets.h"

#include <math.h>
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
        if (diagnoses[i].cause == &cause_leak) {
            told->leak_kind = diagnoses[i].kind;
        }
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

/* One line of the table, and what is summed over all lines. */
struct confusion_row {
    uint32_t right, wrong, silent;
    uint32_t healthy_told, healthy_sure; /* of healthy traces */
};

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

static void count_sick(enum training_plant plant, const struct confusion_size *size,
                       struct confusion_row *row)
{
    const char *name = training_plant_name(plant);
    for (uint32_t i = 0; i < size->trace_count; i++) {
        struct training_trace trace;
        struct training_told told;
        tell_planted(&trace, &told, size->first_seed + i, plant, size->op_count_max);
        const bool is_right = told.first != NULL && strcmp(told.first->name, name) == 0 &&
                              told.is_plant_tag;
        row->right += is_right;
        row->silent += told.first == NULL;
        row->wrong += told.first != NULL && !is_right;
        training_trace_deinit(&trace);
    }
}

uint32_t confusion_count_right(enum training_plant plant, const struct confusion_size *size)
{
    struct confusion_row row = {0};
    count_sick(plant, size, &row);
    return row.right;
}

static void count_healthy(const struct confusion_size *size, struct confusion_row rows[CAUSE_COUNT])
{
    for (uint32_t i = 0; i < size->trace_count; i++) {
        struct training_trace trace;
        struct training_told told;
        const enum training_plant plant = i % 2 == 0 ? TRAINING_HEALTHY : TRAINING_EXHAUSTED;
        tell_planted(&trace, &told, size->first_seed + i, plant, size->op_count_max);
        for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
            rows[cause].healthy_told += told.confidences[cause] > 0;
            rows[cause].healthy_sure += told.confidences[cause] >= DIAGNOSIS_SURE;
        }
        training_trace_deinit(&trace);
    }
}

void confusion_print(const struct confusion_size *size)
{
    struct confusion_row healthy[CAUSE_COUNT];
    memset(healthy, 0, sizeof healthy);
    count_healthy(size, healthy);
    printf("| planted cause | right | wrong | silent | healthy: silent | named | sure |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (uint32_t plant = TRAINING_EXHAUSTED; plant < TRAINING_PLANT_COUNT; plant++) {
        struct confusion_row row = {0};
        const char *name = training_plant_name((enum training_plant)plant);
        const struct confusion_row *other = &healthy[training_cause_index(name)];
        count_sick((enum training_plant)plant, size, &row);
        if (plant == TRAINING_EXHAUSTED) { /* of the healthy ones half are these */
            printf("| `%s` | %u | %u | %u | | | |\n", name, row.right, row.wrong, row.silent);
            continue;
        }
        printf("| `%s` | %u | %u | %u | %u | %u | %u |\n", name, row.right, row.wrong, row.silent,
               size->trace_count - other->healthy_told, other->healthy_told, other->healthy_sure);
    }
}

/* --- how often a leak that is told is one --- */

static const char *const leak_kinds[] = {"steps_and_list", "steps", "list"};
enum { LEAK_KIND_COUNT = 3, HEALTHY_PER_SICK = 3 };

struct share {
    uint32_t right, wrong;
};

static void count_kind(const struct training_trace *trace, const struct training_told *told,
                       struct share shares[LEAK_KIND_COUNT])
{
    for (int kind = 0; kind < LEAK_KIND_COUNT; kind++) {
        if (told->leak_kind != NULL && strcmp(told->leak_kind, leak_kinds[kind]) == 0) {
            const bool is_right = trace->plant == TRAINING_LEAK &&
                                  told->tags[training_cause_index("leak")] == trace->plant_tag;
            shares[kind].right += is_right;
            shares[kind].wrong += !is_right;
        }
    }
}

/* The lower end of Wilson's interval of 95 percent, in percent. */
static double find_lower_end(const struct share *share)
{
    const double z = 1.96;
    const double count = share->right + share->wrong;
    if (count == 0) {
        return 0;
    }
    const double part = share->right / count;
    const double middle = part + z * z / (2 * count);
    const double half = z * sqrt(part * (1 - part) / count + z * z / (4 * count * count));
    return 100 * (middle - half) / (1 + z * z / count);
}

void confusion_print_leak_shares(const struct confusion_size *size)
{
    struct share shares[LEAK_KIND_COUNT] = {{0, 0}};
    for (uint32_t i = 0; i < size->trace_count * (1 + HEALTHY_PER_SICK); i++) {
        static const enum training_plant plants[] = {TRAINING_LEAK, TRAINING_HEALTHY,
                                                     TRAINING_HEALTHY, TRAINING_EXHAUSTED};
        struct training_trace trace;
        struct training_told told;
        training_trace_make(&trace, size->first_seed + i, plants[i % (1 + HEALTHY_PER_SICK)],
                            size->op_count_max);
        training_tell(&trace, &told);
        count_kind(&trace, &told, shares);
        training_trace_deinit(&trace);
    }
    printf("| kind of leak | right | wrong | lower end of the share |\n|---|---|---|---|\n");
    for (int kind = 0; kind < LEAK_KIND_COUNT; kind++) {
        printf("| `%s` | %u | %u | %.0f %% |\n", leak_kinds[kind], shares[kind].right,
               shares[kind].wrong, find_lower_end(&shares[kind]));
    }
}
