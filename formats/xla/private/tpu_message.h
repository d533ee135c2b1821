/* A runtime out-of-memory message of XLA:TPU, taken apart, and the shortest ops that end in it.
 * The grammar is the one seen in public logs from 2019 to 2026: ALLOC ("Attempting to allocate
 * ...") with or without the sentence on fragmentation, RESV ("Attempting to reserve ..."), and
 * tpu_driver's "Could not allocate N bytes in memory ...". */
#ifndef FORMATS_XLA_PRIVATE_TPU_MESSAGE_H
#define FORMATS_XLA_PRIVATE_TPU_MESSAGE_H

#include "formats/common/import.h"
#include "formats/common/printed_size.h"
#include "harness/op/chip.h"

enum tpu_message_form {
    TPU_MESSAGE_BUFFER,        /* a buffer found no place */
    TPU_MESSAGE_PROGRAM_IMAGE, /* a program's image found no place */
    TPU_MESSAGE_PROGRAM_STACK  /* a program's stack could not be reserved at the bottom */
};

enum { TPU_MESSAGE_NAME_BYTES = 256 };

/* One message.  A range is meaningful when its has_ field is true; requested always is. */
struct tpu_message {
    enum tpu_message_form form;
    size_t begin,
        end; /* bytes of the text: from "Attempting" or "Error loading" to the last fact read */
    const char *missing; /* the facts that a cut message lacks, in words; NULL: none */
    char name[TPU_MESSAGE_NAME_BYTES]; /* of the program; "" = not said */
    bool has_free, has_reserved, has_reservable, has_largest, has_capacity, has_coordinate;
    bool has_cut_coordinate; /* one begins but is not complete */
    struct size_range requested, free, reserved, reservable;
    struct size_range largest;  /* contiguous region */
    struct size_range capacity; /* from the table that old runtimes print */
    uint32_t coordinate[4];     /* x, y, z, memory */
    const struct chip *chip;    /* the one that the text around it names; NULL: none, or several */
    char chip_words[32];        /* its name there, printable; cut */
};

/* Reads the next message at or after *offset, complete or cut; moves *offset behind it.  False: no
 * further one. Linear in the text that it passes. */
bool tpu_message_next(const char *text, size_t length, size_t *offset, struct tpu_message *message);

/* Fills import->setup and ->ops with the shortest list that ends in this message on target hbm,
 * ->said with what it says of its request (refused; the bytes that are free, and in one piece), and
 * ->notes with what was assumed.  line and column are for errors.  IMPORT_INCOMPLETE: no list is
 * determined by the message; IMPORT_INVALID: it contradicts itself or what is fixed. */
enum import_result tpu_message_build(const struct tpu_message *message, const struct setup *fixed,
                                     struct import *import, struct import_error *error);

/* --- the numbers of a run that is built --- */

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
/* True if heaps that the message allows disagree. */
bool tpu_plan_is_open(const struct tpu_message *message, const struct tpu_plan *plan);

#endif
