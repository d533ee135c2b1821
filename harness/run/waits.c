#include "harness/run/waits.h"

#include "harness/base/check.h"
#include "harness/call/call.h"
#include "harness/call/host.h"
#include "harness/device/collectives.h"
#include "harness/device/timeline.h"

static void note(struct waits *waits, const struct wait_place *place,
                 const struct collective *collective, const struct wait *wait)
{
    const struct collective_member *member = &collective->hosts[wait->host];
    struct wait noted = *wait;
    noted.group = collective->group;
    noted.since = (uint32_t)(member->event - 1);
    noted.since_ns = member->joined_ns;
    noted.missing = collective->members & ~collective->joined;
    waits->total++;
    if (waits->count < WAIT_COUNT_MAX) {
        waits->waits[waits->count++] = noted;
    }
    if (waits->noted != NULL) {
        waits->noted(waits->context, place, collective, &noted);
    }
}

void waits_note_call(struct waits *waits, const struct wait_place *place, const struct host *host,
                     const struct call *call)
{
    if (collectives_open_count(place->collectives) == 0) {
        return;
    }
    EACH_DEVICE_CALL(host->device, made) {
        if (made->kind != DEVICE_CALL_WAIT || made->result != DEVICE_OK) {
            continue;
        }
        const struct collective *open = collectives_open_of(place->collectives, made->from);
        if (open != NULL) {
            note(waits, place, open,
                 &(struct wait){.host = host->index,
                                .until = call->number,
                                .until_ns = timeline_now_ns(host->timeline)});
        }
    }
}

void waits_note_end(struct waits *waits, const struct wait_place *place)
{
    for (size_t i = 0; i < collectives_open_count(place->collectives); i++) {
        const struct collective *open = collectives_open_at(place->collectives, i);
        for (uint32_t k = 0; k < place->host_count; k++) {
            if ((open->joined >> k & 1) != 0 &&
                timeline_state(place->hosts[k].timeline, open->hosts[k].event) == EVENT_PENDING) {
                note(waits, place, open,
                     &(struct wait){.host = (uint8_t)k, .until = OP_NONE, .until_ns = UINT64_MAX});
            }
        }
    }
}
