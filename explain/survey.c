/* What explain keeps of its two runs of a list: of the first one when each host was fullest, of the
 * second one memory over time, and the state of the moment that is described. */
#include "explain/private/explanation.h"

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

/* Adds what is in use on the host behind that op of it.  O(log steps) on the average. */
static void add_to_curves(struct survey_curves *curves, const struct survey *survey,
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
        add_to_curves(survey->curves, survey, run, op, survey->turn);
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

/* --- the second run --- */

static void take_headroom(struct explanation *explanation, const struct run *run, uint32_t host,
                          struct headroom *headroom)
{
    headroom_take(run_model(run, host), explanation->oracle, &explanation->oom,
                  ORACLE_LARGEST_NODES, headroom);
}

void explain_take_moment(struct explanation *explanation, const struct run *run, uint32_t host,
                         uint32_t op)
{
    struct moment *moment = &explanation->moment;
    const struct model *model = run_model(run, host);
    moment->is_taken = true;
    moment->host = host;
    moment->op = op;
    occupancy_take(model, &moment->occupancy);
    heap_map_take(model, &moment->heap);
    moment->headroom = (struct headroom){0};
    if (explanation->verdict == NULL || explanation->verdict->kind != VERDICT_BROKEN) {
        take_headroom(explanation, run, host, &moment->headroom);
    }
}

/* The rows of a survey are in the order of time. */
static void note_row(struct explanation *explanation, const struct run *run, uint32_t op)
{
    const struct survey_peak *rows = explanation->survey->rows[explanation->host];
    while (explanation->row_next < SURVEY_ROW_COUNT &&
           (!rows[explanation->row_next].is_seen ||
            rows[explanation->row_next].turn < explanation->turn)) {
        explanation->row_next++;
    }
    if (explanation->row_next < SURVEY_ROW_COUNT &&
        rows[explanation->row_next].turn == explanation->turn) {
        struct moment_row *row = &explanation->rows[explanation->row_count++];
        row->op = op;
        take_headroom(explanation, run, explanation->host, &row->headroom);
        explanation->row_next++;
    }
}

void explain_hear(struct explanation *explanation, const struct run *run)
{
    const uint32_t op = run_observation(run)->op;
    if (op >= run_ops(run)->count || explanation->turn >= explanation->survey->turn_count) {
        return;
    }
    const uint32_t host = run_ops(run)->ops[op].host;
    add_to_curves(explanation->curves, explanation->survey, run, op, explanation->turn);
    if (host == explanation->host) {
        if (explanation->survey->peaks[host].turn == explanation->turn) {
            explain_take_moment(explanation, run, host, op);
        }
        if (explanation->options->has_timeline) {
            note_row(explanation, run, op);
        }
    }
    explanation->turn++;
}
