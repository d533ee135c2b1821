/* Sizes as they are printed.  They are rounded, so that a text stands for a range of byte counts.
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

/* A size that a text may or may not say. */
struct compile_size {
    bool is_said;
    struct size_range range; /* bytes; zero unless is_said */
    size_t at;               /* byte of the text */
};

/* A decimal number as it stands: "6.43" is 643, with 2 digits behind the point. */
struct decimal {
    uint64_t digits;
    unsigned fraction_digits;
};

/* Reads "<1 to 12 digits>[.<1 to 6 digits>]" at the beginning of a text, and returns how many bytes
 * that are; 0: it does not begin so. */
size_t decimal_parse(const char *text, size_t length, struct decimal *decimal);

/* Reads "<digits>[.<digits>]<B|K|M|G|T|P|E>".  A text that is well formed but that size_print_field
 * never prints ("16G", "0.50G") stands for the sizes that print as its nominal does.  False: not
 * such a text, or above 2^63. */
bool printed_size_parse(const char *text, size_t length, struct size_range *range);

/* A size as people's programs print it, with one of many units: "9.06 GiB". bytes is the number as
 * printed. step_bytes is the worth of its last digit: a rounded number is off by at most half of
 * it, a number that is cut down by less than all of it. 0: it is exact. */
struct unit_size {
    uint64_t bytes, step_bytes;
};
/* The number in units of 2^bits bytes.  What is above 2^62 becomes 2^62. */
struct unit_size unit_size_make(const struct decimal *decimal, unsigned bits);

/* Exactly this many bytes. */
struct size_range printed_size_exact(uint64_t size_bytes);

/* Replaces the range by its part that consists of multiples of granule_bytes (a power of two;
 * nominal becomes the nearest one).  False, and unchanged: it has none. */
bool printed_size_align(struct size_range *range, uint64_t granule_bytes);

#endif
