/* Sentences with foreign words in them: as printf prints them, but that each word is made harmless
 * for the form that it stands in.  Of the directives %s, %u, %x, both with z or l, and %% are
 * known; the precision of %s counts where the form cuts words. */
#ifndef PRESENT_SAY_H
#define PRESENT_SAY_H

#include "harness/base/writing.h"

#include <stdarg.h>

/* Words are made visible, for a terminal. */
void say(struct writing *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Words are made text of an XML element or attribute. */
void say_xml(struct writing *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds members to an open object, or elements to an open array: "id:%s lines:{begin:%u} seed:'%u'"
 * is ,"id":"...","lines":{"begin":7},"seed":"9".  A comma stands where one is needed; brackets need
 * not be balanced.  %d is a boolean.  Of a name with '?' behind it nothing is added where its value
 * is NULL, "", 0 or false. */
void say_json(struct writing *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For other forms: appends the format up to its first byte `end`, or all of it, and returns what is
 * left.  add appends a word, of which at most bytes_max bytes are wanted unless it says otherwise.
 */
struct say_values {
    va_list list;
};
const char *say_until(struct writing *text, const char *format, char end,
                      void (*add)(struct writing *text, const char *word, size_t bytes_max),
                      size_t bytes_max, struct say_values *values);

#endif
