/* Counts and durations in few characters, for lines that are read while they change.  All is cut
 * off, never rounded up: "99.9k" is not yet 100,000, and "59 m" is not yet an hour. */
#ifndef PRESENT_AMOUNT_H
#define PRESENT_AMOUNT_H

#include <stdint.h>

enum { AMOUNT_TEXT_BYTES = 32 };

/* In full below 100,000, else in tenths of k, M, G, T, P or E (powers of 1000): "18204", "126.6k",
 * "91.2M". */
void amount_print_count(uint64_t count, char text[AMOUNT_TEXT_BYTES]);
/* value * part / whole (> 0), exact but for the rest; UINT64_MAX when that is more. */
uint64_t amount_scale(uint64_t value, uint64_t part, uint64_t whole);
/* "119 s", "12 m", "3.2 h", "4.1 d": a larger unit from 2 minutes, 2 hours, 2 days on. */
void amount_print_duration(uint64_t duration_ns, char text[AMOUNT_TEXT_BYTES]);

#endif
