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

#endif
