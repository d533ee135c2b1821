/* The systems that field files come from: what their users call the allocator and the device, and
 * what is worth advising them. */
#ifndef HARNESS_OP_SYSTEM_H
#define HARNESS_OP_SYSTEM_H

#include <stdbool.h>

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
