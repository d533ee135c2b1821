#include "harness/rules/overlap.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

void overlap_clear(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->call_count; i++) {
        free(overlap->calls[i].message);
    }
    overlap->call_count = overlap->mark_count = 0;
    overlap->under_way_count = 0;
}

void overlap_deinit(struct overlap *overlap)
{
    overlap_clear(overlap);
    free(overlap->calls);
    free(overlap->marks);
    *overlap = (struct overlap){0};
}

static void add_mark(struct overlap *overlap, const struct judge *judge, uint32_t call,
                     bool is_return)
{
    overlap->marks = array_grown(overlap->marks, overlap->mark_count, &overlap->mark_capacity,
                                 sizeof *overlap->marks);
    struct overlap_mark *mark = &overlap->marks[overlap->mark_count++];
    mark->call = call;
    mark->is_return = is_return;
    mark->completed_count = timeline_completed_count(judge->hosts[0].timeline);
    for (uint32_t i = 0; i < judge->host_count; i++) {
        size_t count = 0;
        (void)device_calls(judge->hosts[i].device, &count);
        mark->device_call_counts[i] = (uint32_t)count;
    }
}

uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host,
                       uint8_t lane)
{
    overlap->calls = array_grown(overlap->calls, overlap->call_count, &overlap->call_capacity,
                                 sizeof *overlap->calls);
    const uint32_t number = (uint32_t)overlap->call_count++;
    overlap->calls[number] = (struct overlap_call){.host = host, .lane = lane};
    overlap->under_way_count++;
    add_mark(overlap, judge, number, false);
    return number;
}

void overlap_stretch(struct overlap *overlap, const struct judge *judge)
{
    CHECK(overlap->mark_count > 0);
    overlap->marks[overlap->mark_count - 1].completed_count = timeline_completed_count(
        judge->hosts[0].timeline);
}

const char *overlap_message(struct host *host, const struct call *call)
{
    const char *text = call->skipped || call->result == TARGET_OK
                           ? NULL
                           : host->target->message(host->instance);
    return text == NULL ? "" : text;
}

void overlap_end(struct overlap *overlap, const struct judge *judge,
                 const struct overlap_answer *answer)
{
    struct overlap_call *over = &overlap->calls[answer->number];
    CHECK(!over->is_over);
    over->call = *answer->call;
    over->is_over = true;
    over->message = strdup(answer->message);
    CHECK(over->message != NULL);
    overlap->under_way_count--;
    add_mark(overlap, judge, answer->number, true);
}
