/* A stream that prints into memory which is kept from one text to the next. */
#ifndef FUZZ_TEXT_STREAM_H
#define FUZZ_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Zero is a valid start; the memory stays until the process ends. */
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
