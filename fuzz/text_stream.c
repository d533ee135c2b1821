#include "fuzz/text_stream.h"

#include "harness/base/check.h"

FILE *text_stream_begin(struct text_stream *stream)
{
    if (stream->file == NULL) {
        stream->file = open_memstream(&stream->text, &stream->length);
        CHECK(stream->file != NULL);
    }
    rewind(stream->file);
    return stream->file;
}

void text_stream_end(struct text_stream *stream)
{
    /* The NUL cuts off what an earlier text left behind the end; length counts up to where printing
     * stopped. */
    CHECK(fputc('\0', stream->file) == '\0');
    CHECK(fflush(stream->file) == 0);
    const long end = ftell(stream->file);
    CHECK(end > 0);
    stream->length = (size_t)end - 1;
}
