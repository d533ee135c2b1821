#include "formats/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

/* A growing buffer of at most bytes_max bytes. */
struct buffer {
    char *bytes;
    size_t length;
    size_t capacity;
    size_t bytes_max;
    struct import_error *error;
};

static enum import_result unreadable(struct buffer *buffer, const char *reason)
{
    return import_fail(buffer->error, IMPORT_UNREADABLE, 0, 0, "%s", reason);
}

/* Makes room for at least one byte more; the last byte is kept for the NUL. */
static enum import_result buffer_grow(struct buffer *buffer)
{
    if (buffer->length + 1 < buffer->capacity) {
        return IMPORT_OK;
    }
    /* One byte beyond the limit is let in, so that exactly bytes_max can be told from more. */
    const size_t capacity_max = buffer->bytes_max + 2;
    if (buffer->length > buffer->bytes_max) {
        return import_fail(buffer->error, IMPORT_UNREADABLE, 0, 0,
                           "more than %zu bytes of text, which is the limit", buffer->bytes_max);
    }
    size_t capacity = buffer->capacity == 0 ? 65536 : buffer->capacity * 2;
    if (capacity > capacity_max) {
        capacity = capacity_max;
    }
    char *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return unreadable(buffer, "no host memory for the file's text");
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return IMPORT_OK;
}

static size_t buffer_room(const struct buffer *buffer)
{
    return buffer->capacity - 1 - buffer->length;
}

static enum import_result read_stream(FILE *stream, struct buffer *raw)
{
    for (;;) {
        const enum import_result grown = buffer_grow(raw);
        if (grown != IMPORT_OK) {
            return grown;
        }
        const size_t got = fread(raw->bytes + raw->length, 1, buffer_room(raw), stream);
        raw->length += got;
        if (got == 0) {
            return ferror(stream) ? unreadable(raw, strerror(errno)) : IMPORT_OK;
        }
    }
}

static enum import_result read_raw(const char *path, struct buffer *raw)
{
    struct stat status;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return unreadable(raw, strerror(errno));
    }
    enum import_result result = IMPORT_OK;
    if (fstat(fileno(stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        result = unreadable(raw, "is a directory, not a file");
    } else {
        result = read_stream(stream, raw);
    }
    (void)fclose(stream);
    return result;
}

/* One step of inflating; *is_done when all members are complete and no input is left. */
static enum import_result inflate_step(z_stream *stream, struct buffer *out, bool *is_done)
{
    enum import_result result = buffer_grow(out);
    if (result != IMPORT_OK) {
        return result;
    }
    const size_t room = buffer_room(out);
    stream->next_out = (Bytef *)(out->bytes + out->length);
    stream->avail_out = room > 1u << 30 ? 1u << 30 : (uInt)room;
    const uInt room_before = stream->avail_out;
    const int code = inflate(stream, Z_NO_FLUSH);
    out->length += room_before - stream->avail_out;
    if (code == Z_STREAM_END) {
        *is_done = stream->avail_in == 0;
        if (!*is_done && inflateReset(stream) != Z_OK) {
            return unreadable(out, "the gzip stream is damaged");
        }
        return IMPORT_OK;
    }
    if (code == Z_BUF_ERROR || (code == Z_OK && stream->avail_in == 0 && stream->avail_out > 0)) {
        return import_fail(out->error, IMPORT_UNREADABLE, 0, 0,
                           "the gzip stream is cut off after %zu bytes of text", out->length);
    }
    if (code != Z_OK) {
        return import_fail(out->error, IMPORT_UNREADABLE, 0, 0,
                           "the gzip stream is damaged after %zu bytes of text", out->length);
    }
    return IMPORT_OK;
}

static enum import_result inflate_all(const struct buffer *raw, struct buffer *out)
{
    z_stream stream = {.next_in = (Bytef *)raw->bytes, .avail_in = (uInt)raw->length};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) { /* 15: largest window; + 16: a gzip header */
        return unreadable(out, "no host memory for zlib");
    }
    enum import_result result = IMPORT_OK;
    bool is_done = false;
    while (result == IMPORT_OK && !is_done) {
        result = inflate_step(&stream, out, &is_done);
    }
    (void)inflateEnd(&stream);
    return result;
}

static enum import_result zstd_step(ZSTD_DStream *stream, ZSTD_inBuffer *in, struct buffer *out, bool *is_done)
{
    enum import_result result = buffer_grow(out);
    if (result != IMPORT_OK) {
        return result;
    }
    ZSTD_outBuffer to = {.dst = out->bytes + out->length, .size = buffer_room(out)};
    const size_t left = ZSTD_decompressStream(stream, &to, in);
    out->length += to.pos;
    if (ZSTD_isError(left)) {
        return import_fail(out->error, IMPORT_UNREADABLE, 0, 0,
                           "the zstd stream is damaged after %zu bytes of text: %s", out->length,
                           ZSTD_getErrorName(left));
    }
    if (in->pos == in->size && left == 0) {
        *is_done = true;
    } else if (in->pos == in->size && to.pos < to.size) {
        return import_fail(out->error, IMPORT_UNREADABLE, 0, 0,
                           "the zstd stream is cut off after %zu bytes of text", out->length);
    }
    return IMPORT_OK;
}

static enum import_result zstd_all(const struct buffer *raw, struct buffer *out)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL) {
        return unreadable(out, "no host memory for zstd");
    }
    ZSTD_inBuffer in = {.src = raw->bytes, .size = raw->length};
    enum import_result result = IMPORT_OK;
    bool is_done = false;
    while (result == IMPORT_OK && !is_done) {
        result = zstd_step(stream, &in, out, &is_done);
    }
    (void)ZSTD_freeDStream(stream);
    return result;
}

static bool begins_with(const struct buffer *raw, const char *magic, size_t length)
{
    return raw->length >= length && memcmp(raw->bytes, magic, length) == 0;
}

/* Replaces the raw bytes by what they decompress to. */
static enum import_result decompress(struct buffer *raw,
                                     enum import_result (*all)(const struct buffer *, struct buffer *))
{
    struct buffer out = {.bytes_max = raw->bytes_max, .error = raw->error};
    enum import_result result = all(raw, &out);
    if (result == IMPORT_OK && out.length > out.bytes_max) {
        result = buffer_grow(&out); /* says so */
    }
    free(raw->bytes);
    *raw = out;
    return result;
}

enum import_result text_read(const char *path, size_t bytes_max, struct text *text, struct import_error *error)
{
    struct buffer buffer = {.bytes_max = bytes_max, .error = error};
    enum import_result result = read_raw(path, &buffer);
    if (result == IMPORT_OK && begins_with(&buffer, "\x1F\x8B", 2)) {
        result = decompress(&buffer, inflate_all);
    } else if (result == IMPORT_OK && begins_with(&buffer, "\x28\xB5\x2F\xFD", 4)) {
        result = decompress(&buffer, zstd_all);
    }
    if (result != IMPORT_OK) {
        free(buffer.bytes);
        return result;
    }
    buffer.bytes[buffer.length] = '\0';
    *text = (struct text){.bytes = buffer.bytes, .length = buffer.length};
    return IMPORT_OK;
}

void text_deinit(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}
