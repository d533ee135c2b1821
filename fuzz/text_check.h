/* Checks what every reader of text owes for any bytes: a reason that a terminal can show, a place
 * that is in the text, and ops that are the same when they are printed and read again.  Each check
 * ends the process when it fails. */
#ifndef FUZZ_TEXT_CHECK_H
#define FUZZ_TEXT_CHECK_H

#include "formats/formats.h"
#include "harness/target.h"

#include <stddef.h>
#include <stdio.h>

/* Longer texts only cost time. */
enum { TEXT_CHECK_BYTES_MAX = 1 << 14 };

/* reason[bytes] is ended with NUL, not empty, and has nothing but printable ASCII. */
void text_check_ascii(const char *fuzz_target, const char *reason, size_t bytes);
/* The same, but any bytes that are not control characters. */
void text_check_reason(const char *fuzz_target, const char *reason, size_t bytes);
/* line and column (from 1; 0 = the whole file, the whole line) are in the text, or right behind its
 * lines. */
void text_check_position(const char *fuzz_target, const char *text, size_t length, size_t line,
                         size_t column);

/* The canonical text of the ops is read as the same ops, and these print the same text. */
void text_check_round_trip(const char *fuzz_target, const struct setup *setup,
                           const struct op_list *ops);

/* Gives the bytes to the format; what comes out, a reason or ops, is held to all of the above.  The
 * ops of the field are requests and frees that name what was made before; a short list is played on
 * the allocator, every rule on. True: it was played, and *last is how its last op was answered. */
bool text_check_import(const char *fuzz_target, const struct format *format, const uint8_t *bytes,
                       size_t length, enum target_result *last);

/* A stream that prints into memory which is kept from one text to the next.
 * Zero is a valid start; the memory stays until the process ends. */
struct text_stream {
    FILE *file; /* to print to between begin and end */
    char *text; /* after end: length bytes, and one NUL behind */
    size_t length;
};

/* Forgets what was printed before. */
FILE *text_stream_begin(struct text_stream *stream);
/* text and length are valid until the next begin. */
void text_stream_end(struct text_stream *stream);

#endif
