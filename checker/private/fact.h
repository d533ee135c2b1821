/* A block as the document has it, made again from the list and its observations, and the regions of
 * a host. */
#ifndef CHECKER_PRIVATE_FACT_H
#define CHECKER_PRIVATE_FACT_H
#include <stddef.h>
#include <stdint.h>

struct fact_block {
    const char *kind, *state;
    int64_t op, address, size, align, stack, holds, used_until, freed_at; /* -1: never */
};

struct fact_regions {
    uint64_t (*ranges)[2]; /* count of them, ascending: start and end; the caller frees them */
    size_t count;
};

#endif
