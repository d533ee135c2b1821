/* The numbers of a heap that a TPU runtime's message allows, in which its request is refused. */
#ifndef FORMATS_XLA_PRIVATE_TPU_MESSAGE_PLAN_H
#define FORMATS_XLA_PRIVATE_TPU_MESSAGE_PLAN_H

#include "formats/xla/private/tpu_message.h"

enum { TPU_PLAN_REASON_BYTES = 128 };

/* The exact byte counts that are chosen, all but `requested` and `stack` multiples of the granule.
 */
struct tpu_plan {
    uint64_t granule_bytes;
    uint64_t capacity_bytes;
    uint64_t requested_bytes;
    uint64_t free_bytes;
    uint64_t reserved_bytes;
    uint64_t bottom_bytes; /* of free, in one piece at the bottom */
    uint64_t piece_bytes;  /* the other pieces are at most so large; 0 = there are none */
    uint64_t image_bytes;  /* of the program that is loaded */
    bool is_loaded_first; /* its image has no place any more at the end: load first, execute last */
    bool is_piece_assumed;               /* the message does not say how large the pieces are */
    bool is_image_assumed;               /* a stack that would fit alone: the image is in the way */
    const char *chip;                    /* assumed; NULL = fixed, or said by the message */
    bool is_chip_named;                  /* by the text around the message */
    char refusal[TPU_PLAN_REASON_BYTES]; /* a reason with numbers in it */
};

/* Chooses them for the largest granule for which they can be had.  False: there is none, and reason
 * is what is wrong with the largest. */
bool tpu_plan_choose(const struct tpu_message *message, const struct setup *fixed,
                     struct tpu_plan *plan, char reason[TPU_PLAN_REASON_BYTES]);
/* Whether heaps that the message allows disagree. */
bool tpu_plan_is_open(const struct tpu_message *message, const struct tpu_plan *plan);

#endif
