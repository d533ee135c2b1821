/* The bytes of a fuzz input as a small out-of-memory: a device, a contract, a request and blocks,
 * as a run could show them.  Every input is one; where bytes are missing they count as zero. */
#ifndef FUZZ_OOM_INPUT_H
#define FUZZ_OOM_INPUT_H

#include "harness/oracle/oom.h"

#include <stddef.h>
#include <stdint.h>

enum {
    OOM_INPUT_HEADER_BYTES = 10,
    OOM_INPUT_BLOCK_BYTES = 4,
    OOM_INPUT_BLOCKS_MAX = 48, /* what is behind is not read */
    OOM_INPUT_GRANULES_MAX = 1024
};

/* *oom keeps its memory from one input to the next: zero is a valid start, oom_deinit ends it.
 * O(length). */
void oom_decode(const uint8_t *bytes, size_t length, struct oom *oom);

#endif
