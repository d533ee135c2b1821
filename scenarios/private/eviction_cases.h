/* The seven eviction cases of the Linux kernel's ttm_bo_validate_test, told in programs and
 * buffers.  There a buffer object is validated into a full memory manager and another one must go;
 * here a request meets a full device and a loaded program must go.  A pinned object is a program
 * that executes, or a held buffer. Source: Linux, drivers/gpu/drm/ttm/tests/ttm_bo_validate_test.c,
 * the tests named *_evict and *_gutting. */
#ifndef SCENARIOS_PRIVATE_EVICTION_CASES_H
#define SCENARIOS_PRIVATE_EVICTION_CASES_H

#include "harness/base/random.h"
#include "scenarios/private/parts.h"

struct eviction_case {
    const char *name; /* the kernel test's, without its prefix */
    /* Queues the case for an empty device; every request carries tag. */
    void (*queue)(struct op_queue *queue, struct random *random, const struct model *model,
                  uint8_t tag);
};
enum { EVICTION_CASE_COUNT = 7 };
extern const struct eviction_case eviction_cases[EVICTION_CASE_COUNT];

#endif
