#include "explain/private/survey.h"

#include <string.h>

void survey_init(struct survey *survey, const struct step_axis *steps, const struct setup *setup,
                 uint64_t turn_count)
{
    memset(survey, 0, sizeof *survey);
    survey->steps = steps;
    survey->turn_count = turn_count;
    survey->filler_tag = setup_filler_tag(setup);
}

uint64_t survey_in_use(const struct survey *survey, const struct run *run, uint32_t host)
{
    const struct model *model = run_model(run, host);
    return model_in_use_without(model, survey->filler_tag) + model_reserved_bytes(model);
}

void survey_curves_add(struct survey_curves *curves, const struct survey *survey,
                       const struct run *run, uint32_t op, uint64_t turn)
{
    const uint32_t host = run_ops(run)->ops[op].host;
    const struct model *model = run_model(run, host);
    const struct memory_point point = {turn, survey_in_use(survey, run, host),
                                       model_capacity_bytes(model) - model_retired_bytes(model)};
    if (point.capacity_bytes > 0) {
        memory_track_add(&curves->tracks[host], point);
        if (!curves->is_refused) {
            list_use_add(&curves->uses[host], survey->steps, op, point.used_bytes);
        }
    }
}

/* By steps where each has a row or shares one with its neighbours; the first row has what comes
 * before the first step, too. */
static size_t find_row(const struct survey *survey, uint32_t op)
{
    const struct step_axis *steps = survey->steps;
    if (steps->count == 0) {
        return (size_t)((__uint128_t)survey->turn * SURVEY_ROW_COUNT / survey->turn_count);
    }
    const size_t place = step_axis_place(steps, op);
    if (place == steps->count) {
        return 0;
    }
    return steps->count <= SURVEY_ROW_COUNT ? place : place * SURVEY_ROW_COUNT / steps->count;
}

/* The first of equals; the last one where fillers keep what is free from being used at first. */
static void raise_peak(const struct survey *survey, struct survey_peak *peak,
                       const struct survey_peak *now)
{
    const bool has_fillers = survey->filler_tag < OP_TAG_COUNT;
    if (!peak->is_seen || now->bytes > peak->bytes || (has_fillers && now->bytes == peak->bytes)) {
        *peak = *now;
    }
}

void survey_hear(struct survey *survey, const struct run *run)
{
    const uint32_t op = run_observation(run)->op;
    if (op >= run_ops(run)->count || survey->turn >= survey->turn_count) {
        return;
    }
    const uint32_t host = run_ops(run)->ops[op].host;
    const struct survey_peak now = {
        .is_seen = true, .op = op, .turn = survey->turn, .bytes = survey_in_use(survey, run, host)};
    survey->capacities[host] = model_capacity_bytes(run_model(run, host));
    raise_peak(survey, &survey->peaks[host], &now);
    raise_peak(survey, &survey->rows[host][find_row(survey, op)], &now);
    if (survey->curves != NULL) {
        survey->curves->is_refused |= run_observation(run)->skipped == 0 &&
                                      run_observation(run)->result == TARGET_NO_MEMORY;
        survey_curves_add(survey->curves, survey, run, op, survey->turn);
    }
    survey->turn++;
}

uint32_t survey_fullest_host(const struct survey *survey)
{
    uint32_t fullest = 0;
    for (uint32_t host = 1; host < OP_HOST_COUNT_MAX; host++) {
        const struct survey_peak *peak = &survey->peaks[host];
        const __uint128_t share = (__uint128_t)peak->bytes * survey->capacities[fullest];
        const __uint128_t most = (__uint128_t)survey->peaks[fullest].bytes *
                                 survey->capacities[host];
        if (peak->is_seen && (!survey->peaks[fullest].is_seen || share > most)) {
            fullest = host;
        }
    }
    return fullest;
}
