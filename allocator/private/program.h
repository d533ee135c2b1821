/* The programs of a device: a list, least recently used first, and the stack that they need. */
#ifndef ALLOCATOR_PRIVATE_PROGRAM_H
#define ALLOCATOR_PRIVATE_PROGRAM_H

#include "allocator/private/state.h"

/* One program.  Invariant: block is 0 exactly when it is evicted; it is busy exactly when its block
 * has uses. */
struct hbm_program {
    struct hbm_program *previous; /* in the order of last use, least recently used first */
    struct hbm_program *next;
    uint64_t id;
    uint64_t image_bytes;
    uint64_t stack_bytes;
    /* the call in which its eviction was refused; asked again in the next */
    uint64_t refused_in_call;
    uint32_t block;
    uint32_t pin_count; /* calls that need it loaded: not evictable meanwhile */
    bool unloading;     /* freed with its dying block */
    char name[];
};

/* A program with no block, at the end of the list, with a copy of the name.  NULL: no host memory.
 */
struct hbm_program *hbm_program_create(struct hbm *hbm, const struct hbm_program_request *request);

void hbm_program_destroy(struct hbm *hbm, struct hbm_program *program);

/* Makes the program the most recently used. */
void hbm_program_touch(struct hbm *hbm, struct hbm_program *program);

/* The stack that busy programs need. */
uint64_t hbm_stack_needed(const struct hbm *hbm);

/* The stack falls back to what busy programs need. */
void hbm_stack_settle(struct hbm *hbm);

#endif
