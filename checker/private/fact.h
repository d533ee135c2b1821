/* A block as the document has it, made again from the list and its observations. */
#ifndef CHECKER_PRIVATE_FACT_H
#define CHECKER_PRIVATE_FACT_H
#include <stdint.h>

struct fact_block {
    const char *kind, *state;
    int64_t op, address, size, align, stack, holds, used_until, freed_at; /* -1: never */
};

#endif
