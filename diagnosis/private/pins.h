/* Blocks that nothing gets past, and that keep holes small or lie where the request must be. */
#ifndef DIAGNOSIS_PRIVATE_PINS_H
#define DIAGNOSIS_PRIVATE_PINS_H

#include "diagnosis/diagnosis.h"

/* Says which three keep the holes smallest, and how large the largest would be without them.
 * Numbers: largest_hole_without_bytes, largest_hole_without_named_bytes, pins. */
void pins_describe(const struct evidence *evidence, struct diagnosis *diagnosis);
/* Says which block it is, how large, and why it stays. */
void pins_describe_block(const struct evidence *evidence, const struct evidence_block *block,
                         struct diagnosis *diagnosis);
/* The lowest of them, if it begins below that address; else NULL. */
const struct evidence_block *pins_lowest_below(const struct evidence *evidence, uint64_t address);

#endif
