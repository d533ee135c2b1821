/* Host memory by way of the caller's services, with a running sum, so that a leak of libhbm's own
 * is visible as a number. */
#ifndef ALLOCATOR_PRIVATE_HOST_H
#define ALLOCATOR_PRIVATE_HOST_H

#include "allocator/hbm.h"

/* Invariant: bytes is the sum of all allocations that are not yet freed. */
struct hbm_host {
    struct hbm_services services;
    uint64_t bytes;
};

/* NULL when the service refuses or the product overflows.  Not cleared. */
void *hbm_host_array(struct hbm_host *host, size_t count, size_t element_bytes);

/* Gives an array back; NULL is ignored. */
void hbm_host_free(struct hbm_host *host, void *memory, size_t count, size_t element_bytes);

#endif
