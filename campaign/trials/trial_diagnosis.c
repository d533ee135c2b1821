#include "campaign/trials/trial_diagnosis.h"

#include "diagnosis/cause.h"
#include "harness/base/check.h"
#include "harness/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct trial_diagnosis {
    struct report_place place;
    uint64_t seed;
    size_t op_count; /* that the history has */
    struct history history;
};

struct trial_diagnosis *trial_diagnosis_create(const struct report_place *place, uint64_t seed)
{
    struct trial_diagnosis *trial_diagnosis = malloc(sizeof *trial_diagnosis);
    CHECK(trial_diagnosis != NULL);
    trial_diagnosis->place = *place;
    trial_diagnosis->seed = seed;
    trial_diagnosis->op_count = 0;
    history_init(&trial_diagnosis->history);
    return trial_diagnosis;
}

void trial_diagnosis_destroy(struct trial_diagnosis *trial_diagnosis)
{
    if (trial_diagnosis != NULL) {
        history_deinit(&trial_diagnosis->history);
        free(trial_diagnosis);
    }
}

static void append_line(const struct trial_diagnosis *trial_diagnosis,
                        const struct evidence *evidence, struct writing *lines)
{
    struct diagnosis diagnoses[CAUSE_COUNT];
    char seed[24], name[SETUP_NAME_BYTES];
    const size_t count = causes_find(evidence, diagnoses);
    snprintf(seed, sizeof seed, "%" PRIu64, trial_diagnosis->seed);
    json_open(lines, "diagnosis");
    json_add_string(lines, "scenario", trial_diagnosis->place.scenario);
    json_add_number(lines, "trial", trial_diagnosis->place.trial);
    json_add_string(lines, "seed", seed);
    json_add_number(lines, "op", evidence->verdict->op);
    json_add_string(lines, "verdict", verdict_name(evidence->verdict->kind));
    json_nest(lines, "causes", '[');
    for (size_t i = 0; i < count; i++) {
        json_nest(lines, NULL, '{');
        causes_add_members(lines, &diagnoses[i],
                           evidence_tag_name(evidence, diagnoses[i].tag, name));
        json_unnest(lines, '}');
    }
    json_unnest(lines, ']');
    json_close(lines);
}

void trial_diagnosis_step(struct trial_diagnosis *trial_diagnosis, const struct run *run)
{
    if (run_ops(run)->count != trial_diagnosis->op_count) {
        trial_diagnosis->op_count = run_ops(run)->count;
        history_step(&trial_diagnosis->history, run);
    }
}

void trial_diagnosis_explain(const struct trial_diagnosis *trial_diagnosis, const struct run *run,
                             const struct verdict *verdict, struct writing *lines)
{
    struct evidence evidence;
    evidence_take(&trial_diagnosis->history, run, verdict, &evidence);
    append_line(trial_diagnosis, &evidence, lines);
    evidence_deinit(&evidence);
}
