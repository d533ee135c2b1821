/* UTF-8 (RFC 3629: the shortest form, no surrogates, at most U+10FFFF), and text of others that is
 * quoted on a terminal. */
#ifndef HARNESS_BASE_UTF8_H
#define HARNESS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text, which ends in NUL, and in *point its code point; 0: none is
 * there, and *point is unspecified.  The NUL itself is a character of one byte. */
size_t utf8_decode(const char *text, uint32_t *point);

/* Changes bytes that could upset a terminal or break the line to '?'.  NUL ends text. */
void utf8_make_printable(char *text);

#endif
