/* RAPIDS RMM's log (logging_resource_adaptor), which its replay benchmark and its scripts read.  It
 * knows nothing of queued frees and moves: a free is there when it is complete, and a move is a
 * free and an allocation. */
#include "formats/export/export.h"

#include <inttypes.h>

/* A pointer is never null, and devices of several hosts never share one: each has 2^52 bytes of
 * addresses. */
enum { HOST_ADDRESS_BITS = 52 };
#define DAY_US (UINT64_C(24) * 60 * 60 * 1000000)

static bool begin_rmm(struct export *export)
{
    (void)fputs("Thread,Time,Action,Pointer,Size,Stream\n", export->stream);
    return true;
}

/* NULL: not told. */
static const char *name_action(enum export_action action)
{
    switch (action) {
    case EXPORT_ALLOC:
    case EXPORT_MOVED_IN:
    case EXPORT_RETIRED:
        return "allocate";
    case EXPORT_FREE_COMPLETED:
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        return "free";
    case EXPORT_FAILED:
        return "allocate failure";
    default:
        return NULL;
    }
}

static void put_rmm_event(struct export *export, const struct export_event *event)
{
    const char *action = name_action(event->action);
    const uint64_t time_us = event->now_ns / 1000 % DAY_US;
    const uint64_t seconds = time_us / 1000000;
    char pointer[24] = "(nil)";
    if (action == NULL) {
        return;
    }
    if (event->action != EXPORT_FAILED) {
        snprintf(pointer, sizeof pointer, "0x%" PRIx64,
                 event->address + ((uint64_t)(event->host + 1u) << HOST_ADDRESS_BITS));
    }
    fprintf(export->stream,
            "%u,%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%06" PRIu64 ",%s,%s,%" PRIu64 ",0x%x\n",
            event->lane, seconds / 3600, seconds / 60 % 60, seconds % 60, time_us % 1000000, action,
            pointer, event->requested_bytes, event->lane);
}

const struct exporter exporter_rmm = {
    .name = "rmm",
    .suffix = ".rmm.csv",
    .summary = "the CSV log of RAPIDS RMM; virtual time is its time of day",
    .begin = begin_rmm,
    .event = put_rmm_event,
};
