/* The first of explain's two runs of a list: what is to be explained, and when each host was
 * fullest.  The second run stops to look at these moments. */
#ifndef EXPLAIN_PRIVATE_SURVEY_H
#define EXPLAIN_PRIVATE_SURVEY_H

#include "harness/run/run.h"
#include "present/memory_track.h"
#include "recording/step_axis.h"

/* A timeline has one row for each step or, where there are more, for a share of them. */
enum { SURVEY_ROW_COUNT = 32 };

/* When the most was in use, the stack counted, fillers and retired memory not.  Turns count the ops
 * in the order in which they were judged, from 0: without lanes that is their number. */
struct survey_peak {
    bool is_seen;
    uint32_t op;
    uint64_t turn, bytes;
};

/* What is in use over time, by host; retired memory is no part of a device.  A plain value of 13
 * MiB; all zero = nothing was added. */
struct survey_curves {
    bool is_refused; /* behind a refusal the list is no longer what the job did: nothing grows */
    struct memory_track tracks[OP_HOST_COUNT_MAX];
    struct list_use uses[OP_HOST_COUNT_MAX];
};

/* steps and curves outlive it.  2 MiB at most. */
struct survey {
    const struct step_axis *steps;
    struct survey_curves *curves; /* of all that is heard; NULL: not wanted */
    uint64_t turn, turn_count;    /* the next one; that there will be */
    unsigned filler_tag;
    uint64_t capacities[OP_HOST_COUNT_MAX];
    struct survey_peak peaks[OP_HOST_COUNT_MAX];
    struct survey_peak rows[OP_HOST_COUNT_MAX][SURVEY_ROW_COUNT];
};

void survey_init(struct survey *survey, const struct step_axis *steps, const struct setup *setup,
                 uint64_t turn_count);
/* After each op; what comes after the list is left out.  O(log steps). */
void survey_hear(struct survey *survey, const struct run *run);
/* The host that filled the largest share of its device, the first of equals. */
uint32_t survey_fullest_host(const struct survey *survey);
/* Adds what is in use on the host behind that op of it.  O(log steps) on the average. */
void survey_curves_add(struct survey_curves *curves, const struct survey *survey,
                       const struct run *run, uint32_t op, uint64_t turn);
/* What is in use on the host now, as a survey counts it. */
uint64_t survey_in_use(const struct survey *survey, const struct run *run, uint32_t host);

#endif
