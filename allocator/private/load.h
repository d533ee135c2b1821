/* Programs inside a larger call: loaded if needed and made busy with the lock held. */
#ifndef ALLOCATOR_PRIVATE_LOAD_H
#define ALLOCATOR_PRIVATE_LOAD_H

#include "allocator/private/program.h"

/* Loads if needed, raises the stack to what the program needs, and makes room for use_count uses.
 * Text set on failure, and nothing changed. */
enum hbm_result hbm_program_prepare(struct hbm *hbm, struct hbm_program *program,
                                    uint32_t use_count);

/* Makes the program busy until the event; room in pending is reserved. */
void hbm_program_start(struct hbm *hbm, struct hbm_program *program, uint64_t event);

#endif
