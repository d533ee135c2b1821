/* What a larger call does with the lock held: with its buffers, and with its programs. */
#ifndef ALLOCATOR_PRIVATE_LAUNCH_H
#define ALLOCATOR_PRIVATE_LAUNCH_H

#include "allocator/private/program.h"
#include "allocator/private/state.h"

/* Buffers inside a larger call: checked, allocated, taken back and donated with the lock held. */

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

/* Programs inside a larger call: loaded if needed and made busy with the lock held. */

/* Loads if needed, raises the stack to what the program needs, and makes room for use_count uses.
 * Text set on failure, and nothing changed. */
enum hbm_result hbm_program_prepare(struct hbm *hbm, struct hbm_program *program,
                                    uint32_t use_count);

/* Makes the program busy until the event; room in pending is reserved. */
void hbm_program_start(struct hbm *hbm, struct hbm_program *program, uint64_t event);

#endif
