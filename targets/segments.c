#include "targets/segments/segments.h"

#include "targets/segments/heap.h"
#include "targets/targets.h"

SEGMENTS_TARGET(
    , target_segments, "segments", SEGMENTS_SOUND, NULL,
    "first fit in regions that it takes from the device and gives back before it gives up")

#define SEGMENTS(noun, defect, rule, text) \
    SEGMENTS_TARGET(static, segments_##noun, "segments_" #noun, defect, rule, text)
#include "targets/segments/list.h"
#undef SEGMENTS

const struct target *const segments_plants[] = {
#define SEGMENTS(noun, defect, rule, text) &segments_##noun,
#include "targets/segments/list.h"
#undef SEGMENTS
    NULL,
};
