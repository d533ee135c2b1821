/* What was read is quoted in messages and exports: its characters are told apart, and those that a
 * terminal obeys are taken out. */
#ifndef FORMATS_COMMON_UTF8_H
#define FORMATS_COMMON_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at text, which ends in NUL; 0: none is there. */
size_t utf8_length(const char *text);

/* In text, which ends in NUL, bytes that could upset a terminal or break the line become '?'. */
void utf8_make_printable(char *text);

#endif
