/* A growing text, and the escapings that keep foreign bytes harmless: JSON strings, text for a
 * terminal, and XML.  Reports build their lines here and write each line in one piece. */
#ifndef HARNESS_BASE_WRITING_H
#define HARNESS_BASE_WRITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* bytes[length] is valid; bytes is NULL while capacity is 0 and NUL-terminated otherwise. */
struct writing {
    char *bytes;
    size_t length;
    size_t capacity;
    bool is_spaced; /* JSON in it has a blank after each comma and colon */
};

void writing_init(struct writing *text);
void writing_deinit(struct writing *text);
/* Empties it and keeps its memory. */
void writing_clear(struct writing *text);
/* The text with a final NUL; "" when empty.  Valid until the next change. */
const char *writing_string(const struct writing *text);

void writing_append(struct writing *text, const char *string);
void writing_append_bytes(struct writing *text, const void *bytes, size_t length);
void writing_append_number(struct writing *text, uint64_t number);
/* The decimal digits at the end of the array, without printf; returns how many there are. */
enum { WRITING_DIGIT_COUNT_MAX = 20 }; /* of 2^64 - 1 */
size_t writing_print_digits(uint64_t number, char digits[WRITING_DIGIT_COUNT_MAX]);
void writing_append_format(struct writing *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "" or "s", "y" or "ies", "was" or "were": what stands for one, or for any other number. */
static inline const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}
/* "1 block", "2 blocks", "0 entries", "3 switches"; noun: the word for one of them. */
void writing_append_count(struct writing *text, uint64_t count, const char *noun);
/* "8.00M", as size_print_field has it. */
void writing_append_size(struct writing *text, uint64_t size_bytes);
/* "12.34 %", as share_text_of has it. */
void writing_append_share(struct writing *text, uint64_t part, uint64_t whole);

/* "2.500": thousandths, the rest cut off. */
void writing_append_seconds(struct writing *text, uint64_t duration_ns);

/* Appends string as a JSON string with its quotes.  Control characters become \u00XX; bytes that
 * are not UTF-8 become U+FFFD, because a line that is not UTF-8 is not JSON. */
void writing_append_json(struct writing *text, const char *string);

/* Appends string so that it cannot act on a terminal or break its line: control characters, DEL,
 * C1 controls, bidirectional overrides and bytes that are not UTF-8 become \xXX. */
void writing_append_visible(struct writing *text, const char *string);

/* Appends string so that it can stand in an XML 1.0 element or between double quotes: what is not
 * visible becomes \xXX as above, so do the two code points that XML forbids beyond those, and & < >
 * " become entities. */
void writing_append_xml(struct writing *text, const char *string);

/* Writes it all.  False: the stream failed; errno says why. */
bool writing_print(const struct writing *text, FILE *stream);

#endif
