#include "harness/op/fault.h"

#include "harness/base/check.h"

#include <string.h>

static const struct fault_info faults[FAULT_KIND_COUNT] = {
    [FAULT_COPY] = {.name = "copy", .summary = "the device refuses to copy or to stage bytes"},
    [FAULT_WAIT] = {.name = "wait", .summary = "the device refuses to wait for an event"},
    [FAULT_UNLOAD] = {.name = "unload", .summary = "the device refuses to unload a program"},
    [FAULT_HOST_MEMORY] = {.name = "host_memory",
                           .summary = "the host refuses memory for the allocator's own use"},
    [FAULT_COPY_HALF] =
        {.name = "copy_half",
         .summary = "a copy stops half-way, and the target must make the same call again",
         .needs_resuming = true},
    [FAULT_COPY_LATE] = {.name = "copy_late",
                         .summary = "a copy takes a while, and events complete meanwhile",
                         .has_delay = true},
    [FAULT_WAIT_TIMEOUT] = {.name = "wait_timeout",
                            .summary = "a wait gives up after a while",
                            .has_delay = true},
    [FAULT_EVENT_LOST] = {.name = "event_lost", .summary = "the awaited event never completes"},
    [FAULT_EVENT_LATE] = {.name = "event_late",
                          .summary = "the awaited event completes later than it was due",
                          .has_delay = true},
    [FAULT_EVENT_EARLY] = {.name = "event_early",
                           .summary = "the awaited event completes before it was due"},
    [FAULT_EVENT_DOUBLED] = {.name = "event_doubled",
                             .summary = "the awaited event is announced twice"},
    [FAULT_EVENT_ORDER] = {.name = "event_order",
                           .summary = "the event due last completes before the awaited one"},
    [FAULT_EVENT_OTHERS] = {.name = "event_others",
                            .summary = "all other events complete while one is awaited"},
    [FAULT_UNLOAD_BUSY] = {.name = "unload_busy",
                           .summary = "the device refuses unloads for a while, then grants them",
                           .has_delay = true},
    [FAULT_UNLOAD_HALF] =
        {.name = "unload_half",
         .summary = "an unload stops half-way, and the target must make the same call again",
         .needs_resuming = true},
    [FAULT_CLOCK_JUMP] = {.name = "clock_jump",
                          .summary = "the clock jumps ahead in the middle of a call",
                          .has_delay = true},
    [FAULT_ANY] = {.name = "any", .summary = "the device refuses the call, whatever its kind"},
    [FAULT_POLL_JUMP] = {.name = "poll_jump",
                         .summary = "events complete between two looks at them",
                         .has_delay = true},
    [FAULT_REGION] = {.name = "region", .summary = "the device refuses a new region of memory"},
    [FAULT_REGION_SHORT] = {.name = "region_short",
                            .summary = "a new region has half of the bytes that were asked for"},
};

const struct fault_info *fault_info(enum fault_kind kind)
{
    CHECK(kind < FAULT_KIND_COUNT);
    return &faults[kind];
}
