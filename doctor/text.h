/* Numbers and versions in texts that programs and the kernel print. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERSION_BYTES = 32 };

/* The first version in a text, digits and dots: "14.0.6" of "Debian clang version 14.0.6-2".
 * False: there is none, and version is "". */
bool version_find(const char *text, char version[VERSION_BYTES]);
/* Below 0, 0 or above: as the numbers between the dots compare, one after the other; what is absent
 * is 0. */
int version_compare(const char *a, const char *b);

/* The number at the start of a text, blanks before it skipped.  False: there is none, or it is
 * above 2^64 - 1. */
bool number_find(const char *text, uint64_t *number);
/* The number behind "NAME:" at the start of a line: of /proc/meminfo and the like. */
bool number_find_named(const char *text, const char *name, uint64_t *number);

/* "5.2 GiB" */
enum { BYTES_TEXT_BYTES = 32 };
const char *bytes_print(uint64_t bytes, char text[BYTES_TEXT_BYTES]);

#endif
