#include "formats/export/private/stays.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>

const char *stay_state_name(enum stay_state state)
{
    static const char *const names[STAY_STATE_COUNT] = {[STAY_LIVE] = "live",
                                                        [STAY_QUEUED] = "queued free",
                                                        [STAY_PROGRAM] = "program",
                                                        [STAY_RETIRED] = "retired"};
    return names[state];
}

void stays_deinit(struct stays *stays)
{
    free(stays->stays);
    number_map_deinit(&stays->places);
    *stays = (struct stays){.count = 0};
}

static void begin_stay(struct stays *stays, const struct export_event *event, enum stay_state state,
                       struct stay_change *change)
{
    change->has_begun = true;
    change->begun = (struct stay){.address = event->address,
                                  .size_bytes = event->size_bytes,
                                  .requested_bytes = event->requested_bytes,
                                  .begin_ns = event->now_ns,
                                  .block = event->block,
                                  .begin_op = event->op,
                                  .host = event->host,
                                  .tag = event->tag,
                                  .lane = event->lane,
                                  .state = (uint8_t)state};
    stays->stays = array_grown(stays->stays, stays->count, &stays->room, sizeof *stays->stays);
    number_map_set(&stays->places, event->block, (uint32_t)stays->count);
    stays->stays[stays->count++] = change->begun;
}

static void end_stay(struct stays *stays, const struct export_event *event,
                     struct stay_change *change)
{
    const uint32_t place = number_map_find(&stays->places, event->block);
    if (place == NUMBER_NONE) {
        return;
    }
    CHECK(place < stays->count);
    change->has_ended = true;
    change->ended = stays->stays[place];
    number_map_remove(&stays->places, event->block);
    stays->stays[place] = stays->stays[--stays->count];
    if (place < stays->count) {
        number_map_set(&stays->places, stays->stays[place].block, place);
    }
}

static enum stay_state find_state(const struct export_event *event)
{
    if (event->action == EXPORT_RETIRED) {
        return STAY_RETIRED;
    }
    if (event->is_dying) {
        return STAY_QUEUED;
    }
    return event->is_program ? STAY_PROGRAM : STAY_LIVE;
}

struct stay_change stays_take(struct stays *stays, const struct export_event *event)
{
    struct stay_change change = {.has_ended = false};
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_MOVED_IN:
    case EXPORT_RETIRED:
        begin_stay(stays, event, find_state(event), &change);
        break;
    case EXPORT_FREE_REQUESTED:
        if (!event->is_absent) {
            end_stay(stays, event, &change);
            begin_stay(stays, event, STAY_QUEUED, &change);
        }
        break;
    case EXPORT_FREE_COMPLETED:
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        end_stay(stays, event, &change);
        break;
    case EXPORT_FAILED:
    case EXPORT_ACTION_COUNT:
        break;
    }
    return change;
}
