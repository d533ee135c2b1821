/* Buffers inside a larger call: checked, allocated, taken back and donated with the lock held. */
#ifndef ALLOCATOR_PRIVATE_BUFFER_H
#define ALLOCATOR_PRIVATE_BUFFER_H

#include "allocator/private/state.h"

static inline struct hbm_block *hbm_block_of(const struct hbm_buffer *buffer)
{
    return (struct hbm_block *)(void *)(uintptr_t)buffer;
}

enum hbm_result hbm_request_check(const struct hbm *hbm, const struct hbm_request *request);

/* Allocates; peaks are not noted; the error text is set on failure. */
enum hbm_result hbm_buffer_take(struct hbm *hbm, const struct hbm_request *request,
                                uint32_t *number);

/* Gives a block that was just taken back, as if it had never been. */
void hbm_buffer_untake(struct hbm *hbm, uint32_t number);

/* Lets a request take over a block in place; cannot fail once the shape is interned. */
void hbm_buffer_become(struct hbm *hbm, uint32_t number, const struct hbm_request *request,
                       uint32_t shape);

/* Checks that this block can be donated to this request; the error text is set if not. */
enum hbm_result hbm_donation_check(const struct hbm *hbm, const struct hbm_block *block,
                                   const struct hbm_request *request);

#endif
