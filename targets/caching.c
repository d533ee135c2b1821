#include "targets/caching/caching.h"

#include "targets/caching/heap.h"
#include "targets/targets.h"

static const struct target_option_row option_rows[] = {
    CACHING_OPTION_ROWS("torch|one", "process|device")};
/* What the contract describes exactly, so that each defect is seen. */
static const struct target_option_row plant_option_rows[] = {
    CACHING_OPTION_ROWS("one|torch", "device|process")};

CACHING_TARGET(, target_caching, "caching", option_rows, CACHE_STRAIGHT, kit_free, NULL,
               "a model of PyTorch's CUDA caching allocator, in segments of the device")

#define CACHING(noun, bend, free_, rule, text)                                                     \
    CACHING_TARGET(static, caching_##noun, "caching_" #noun, plant_option_rows, bend, free_, rule, \
                   text)
#include "targets/caching/list.h"
#undef CACHING

const struct target *const caching_plants[] = {
#define CACHING(noun, bend, free_, rule, text) &caching_##noun,
#include "targets/caching/list.h"
#undef CACHING
    NULL,
};
