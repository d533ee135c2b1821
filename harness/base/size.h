/* Sizes and durations as people write them: 512, 4K, 8M, 16G (powers of 1024); 30s, 10m, 8h. */
#ifndef HARNESS_BASE_SIZE_H
#define HARNESS_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_TEXT_BYTES = 32 };

/* "0", "512", "4K", "16G", "3T"; K M G T P E.  False: not that, or above 2^64 - 1. */
bool size_parse(const char *text, size_t length, uint64_t *size_bytes);
/* The exact size with the largest unit that divides it: size_parse gives the same number back. */
void size_print(uint64_t size_bytes, char text[SIZE_TEXT_BYTES]);

/* "5ns", "20us", "3ms", "30s", "10m", "8h", or "never" (UINT64_MAX); 0 is "0s".  False: not that.
 */
bool duration_parse(const char *text, size_t length, uint64_t *duration_ns);
void duration_print(uint64_t duration_ns, char text[SIZE_TEXT_BYTES]);

/* A decimal or 0x number, digits only.  False: not that, or above 2^64 - 1. */
bool number_parse(const char *text, size_t length, uint64_t *number);

/* The size as the XLA:TPU runtime prints it: 8.00M, 6.43G, 420.0K, 0B. */
void size_print_field(uint64_t size_bytes, char text[SIZE_TEXT_BYTES]);

/* A text within a call: printf("%s", size_text_of(bytes).text). */
struct size_text {
    char text[SIZE_TEXT_BYTES];
};
/* Returns the text that size_print_field() prints. */
struct size_text size_text_of(uint64_t size_bytes);

/* part of whole in `parts` (100: percent), rounded down; 0 where whole is 0.  For all numbers whose
 * result is below 2^64. */
uint64_t share_of(uint64_t part, uint64_t whole, uint64_t parts);
/* "12.34 %", rounded down, so that every machine prints the same; "less than 0.01 %" of what is not
 * nothing, "0.00 %" where whole is 0. */
struct size_text share_text_of(uint64_t part, uint64_t whole);

#endif
