#include "targets/caching/caching.h"

#include "targets/caching/heap.h"
#include "targets/targets.h"

static const char option_help[] = CACHING_OPTION_HELP("torch|one", "process|device");
/* What the contract describes exactly, so that each defect is seen. */
static const char plant_option_help[] = CACHING_OPTION_HELP("one|torch", "device|process");

CACHING_TARGET(, target_caching, "caching", option_help, CACHE_STRAIGHT, kit_free, NULL,
               "a model of PyTorch's CUDA caching allocator, in segments of the device")

#define CACHING(noun, bend, free_, rule, text)                                                     \
    CACHING_TARGET(static, caching_##noun, "caching_" #noun, plant_option_help, bend, free_, rule, \
                   text)
#include "targets/caching/list.h"
#undef CACHING

const struct target *const caching_plants[] = {
#define CACHING(noun, bend, free_, rule, text) &caching_##noun,
#include "targets/caching/list.h"
#undef CACHING
    NULL,
};
