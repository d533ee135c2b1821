/* A size in a message is rounded ("6.43M"): this gives every byte count that prints as that text.
 */
#ifndef FORMATS_COMMON_PRINTED_SIZE_H
#define FORMATS_COMMON_PRINTED_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* low <= nominal <= high; size_print_field prints each byte count in [low, high], and no other, as
 * the text. */
struct size_range {
    uint64_t low;
    uint64_t high;
    uint64_t nominal; /* what the text says, read exactly: 8.00M is 8388608 */
};

/* Reads "<digits>[.<digits>]<B|K|M|G|T|P|E>".  A text that is well formed but that size_print_field
 * never prints ("16G", "0.50G") stands for the sizes that print as its nominal does.  False: not
 * such a text, or above 2^63. */
bool printed_size_parse(const char *text, size_t length, struct size_range *range);

/* Exactly this many bytes. */
struct size_range printed_size_exact(uint64_t size_bytes);

/* Replaces the range by its part that consists of multiples of granule_bytes (a power of two;
 * nominal becomes the nearest one).  False, and unchanged: it has none. */
bool printed_size_align(struct size_range *range, uint64_t granule_bytes);

#endif
