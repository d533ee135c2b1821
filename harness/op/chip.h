/* The chips that a setup can name, TPU generations and GPUs, with the memory that a program has on
 * each; and the systems that field files come from. */
#ifndef HARNESS_OP_CHIP_H
#define HARNESS_OP_CHIP_H

#include <stdbool.h>
#include <stdint.h>

enum chip_kind { CHIP_TPU = 0, CHIP_GPU };

/* One of them: its name and the bytes of HBM that a program can use. */
struct chip {
    const char *name;
    uint64_t capacity_bytes; /* per device: a core on v2, v3 and v7x, a chip elsewhere */
    const char *summary;     /* where the figure comes from */
    enum chip_kind kind;
};
/* The TPUs first; ends with NULL.  Order is part of the byte format of fuzz inputs: append only. */
extern const struct chip *const chips[];
const struct chip *chip_find(const char *name); /* NULL when there is none */

/* The systems that field files come from: what their users call the allocator and the device, and
 * what is worth advising them. */

/* One system; a constant. */
struct system {
    const char *name;      /* lower case, underscores: of the head line `system NAME` */
    const char *allocator; /* as a sentence names it: "the TPU runtime" */
    const char *device;    /* one of its devices, before a number: "TPU" */
    bool is_tpu;           /* TPU chips and options of target hbm are its reader's own words */
};
extern const struct system *const systems[];        /* ends with NULL */
const struct system *system_find(const char *name); /* NULL when there is none */

#endif
