/* Finds the chip that a log names: by the type of the accelerator, by what JAX calls the device, or
 * by the capacity that it prints. */
#ifndef FORMATS_COMMON_CHIP_NAMED_H
#define FORMATS_COMMON_CHIP_NAMED_H

#include "harness/op/chip.h"

#include <stddef.h>

/* The one chip that the text names ("v6e-8", "tpu7x", "TPU v5 lite", "Accelerator type: v4",
 * "of 31.25G hbm"), and in *at and *named_length the first of its names.  NULL: it names none, or
 * several.  Only chips of chip.h are found.  Linear. */
const struct chip *chip_named(const char *text, size_t length, size_t *at, size_t *named_length);

#endif
