#include "harness/device/collectives.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/timeline.h"

#include <stdlib.h>
#include <string.h>

struct collectives {
    const struct setup *setup;
    struct timeline *timelines[OP_HOST_COUNT_MAX]; /* setup->host_count of them */
    struct collective *open;                       /* open_count of them */
    size_t open_count, open_capacity;
};

struct collectives *collectives_create(const struct setup *setup, struct timeline *const *timelines)
{
    CHECK(setup->host_count <= OP_HOST_COUNT_MAX);
    struct collectives *collectives = calloc(1, sizeof *collectives);
    CHECK(collectives != NULL);
    collectives->setup = setup;
    memcpy(collectives->timelines, timelines, setup->host_count * sizeof(struct timeline *));
    return collectives;
}

void collectives_destroy(struct collectives *collectives)
{
    if (collectives != NULL) {
        free(collectives->open);
        free(collectives);
    }
}

static uint64_t bit_of(uint32_t host)
{
    return UINT64_C(1) << host;
}

/* The open collective of this group that host may still join; a new one when there is none. */
static struct collective *find_to_join(struct collectives *collectives, uint16_t group,
                                       uint32_t host)
{
    const uint64_t members = setup_members(collectives->setup, group);
    const uint64_t with = (members & bit_of(host)) != 0 ? members : bit_of(host);
    for (size_t i = 0; i < collectives->open_count; i++) {
        struct collective *collective = &collectives->open[i];
        if (collective->group == group && collective->members == with &&
            (collective->joined & bit_of(host)) == 0) {
            return collective;
        }
    }
    collectives->open = array_grown(collectives->open, collectives->open_count,
                                    &collectives->open_capacity, sizeof *collectives->open);
    struct collective *begun = &collectives->open[collectives->open_count++];
    begun->group = group;
    begun->members = with;
    begun->joined = 0;
    return begun;
}

static uint64_t last_join_ns(const struct collectives *collectives,
                             const struct collective *collective)
{
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < collectives->setup->host_count; i++) {
        const bool is_later = (collective->joined & bit_of(i)) != 0 &&
                              collective->hosts[i].joined_ns > last_ns;
        last_ns = is_later ? collective->hosts[i].joined_ns : last_ns;
    }
    return last_ns;
}

/* Events that are over, by the bound or otherwise, stay so. */
static void start(struct collectives *collectives, const struct collective *collective)
{
    const uint64_t from_ns = last_join_ns(collectives, collective);
    for (uint32_t i = 0; i < collectives->setup->host_count; i++) {
        const struct collective_member *member = &collective->hosts[i];
        if ((collective->joined & bit_of(i)) != 0 &&
            timeline_state(collectives->timelines[i], member->event) == EVENT_PENDING) {
            timeline_start_at(collectives->timelines[i], member->event,
                              delay_after_ns(from_ns, member->delay_ns));
        }
    }
}

void collectives_join(struct collectives *collectives, uint64_t event, uint16_t group,
                      uint32_t host, uint64_t delay_ns)
{
    CHECK(host < collectives->setup->host_count);
    struct timeline *timeline = collectives->timelines[host];
    timeline_start(timeline, event, setup_collective_bound_ns(collectives->setup));
    struct collective *collective = find_to_join(collectives, group, host);
    collective->joined |= bit_of(host);
    collective->hosts[host] = (struct collective_member){event, delay_ns,
                                                         timeline_now_ns(timeline)};
    if (collective->joined != collective->members) {
        return;
    }
    start(collectives, collective);
    const size_t index = (size_t)(collective - collectives->open);
    memmove(collective, collective + 1, (--collectives->open_count - index) * sizeof *collective);
}

size_t collectives_open_count(const struct collectives *collectives)
{
    return collectives->open_count;
}

const struct collective *collectives_open_at(const struct collectives *collectives, size_t index)
{
    CHECK(index < collectives->open_count);
    return &collectives->open[index];
}

const struct collective *collectives_open_of(const struct collectives *collectives, uint64_t event)
{
    for (size_t i = 0; i < collectives->open_count; i++) {
        const struct collective *collective = &collectives->open[i];
        for (uint32_t host = 0; host < collectives->setup->host_count; host++) {
            if ((collective->joined & bit_of(host)) != 0 &&
                collective->hosts[host].event == event) {
                return collective;
            }
        }
    }
    return NULL;
}
