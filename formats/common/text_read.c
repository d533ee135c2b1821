#include "formats/common/text.h"

#include "formats/common/private/text_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { CHUNK_BYTES = 1 << 18, GZIP_FIRST_BYTE = 0x1F };

/* A file while it is read. */
struct source {
    FILE *stream;
    struct text_store store;
    char *chunk;         /* CHUNK_BYTES: what was read and is not yet decompressed */
    size_t chunk_length; /* 0 after the end of the file */
};

static enum import_result fail_unreadable(const struct source *source, const char *reason)
{
    return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0, "%s", reason);
}

/* Reads the next chunk; at the end of the file it is empty. */
static enum import_result read_chunk(struct source *source)
{
    source->chunk_length = fread(source->chunk, 1, CHUNK_BYTES, source->stream);
    return source->chunk_length == 0 && ferror(source->stream)
               ? fail_unreadable(source, strerror(errno))
               : IMPORT_OK;
}

/* --- plain --- */

static enum import_result store_bytes(struct source *source, const char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        char *at = NULL;
        size_t room = 0;
        enum import_result result = text_store_room(&source->store, &at, &room);
        const size_t left = length - done;
        const size_t count = left < room ? left : room;
        if (result == IMPORT_OK) {
            memcpy(at, bytes + done, count);
            done += count;
            result = text_store_add(&source->store, count);
        }
        if (result != IMPORT_OK) {
            return result;
        }
    }
    return IMPORT_OK;
}

static enum import_result copy_all(struct source *source)
{
    while (source->chunk_length > 0) {
        enum import_result result = store_bytes(source, source->chunk, source->chunk_length);
        if (result == IMPORT_OK) {
            result = read_chunk(source);
        }
        if (result != IMPORT_OK) {
            return result;
        }
    }
    return IMPORT_OK;
}

/* --- UTF-16, as a shell of Windows writes what is redirected --- */

enum { UTF16_OUT_BYTES = 4096, UTF16_MARK = 0xFEFF, UTF16_NO_CHARACTER = 0xFFFD };

struct utf16 {
    bool is_big; /* endian */
    bool has_first;
    unsigned char first; /* the first byte of a unit whose second is in the next chunk */
    uint32_t high;       /* the first half of a pair; 0: none */
    size_t length;
    char out[UTF16_OUT_BYTES];
};

static void put_utf8(struct utf16 *utf16, uint32_t code)
{
    char *to = utf16->out + utf16->length;
    if (code < 0x80) {
        to[0] = (char)code;
        utf16->length += 1;
        return;
    }
    const size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    const uint32_t lead = 0xF0u << (3 - more) & 0xFF;
    for (size_t i = more; i > 0; i--, code >>= 6) {
        to[i] = (char)(0x80 | (code & 0x3F));
    }
    to[0] = (char)(lead | code);
    utf16->length += more + 1;
}

/* Half a pair alone is no character. */
static void put_unit(struct utf16 *utf16, uint32_t unit)
{
    const bool is_high = unit >= 0xD800 && unit < 0xDC00;
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (is_low && utf16->high != 0) {
        put_utf8(utf16, 0x10000 + ((utf16->high - 0xD800) << 10) + (unit - 0xDC00));
    } else if (utf16->high != 0) {
        put_utf8(utf16, UTF16_NO_CHARACTER);
    }
    if (!is_high && !is_low && unit != UTF16_MARK) {
        put_utf8(utf16, unit);
    } else if (is_low && utf16->high == 0) {
        put_utf8(utf16, UTF16_NO_CHARACTER);
    }
    utf16->high = is_high ? unit : 0;
}

static enum import_result convert_chunk(struct source *source, struct utf16 *utf16)
{
    enum import_result result = IMPORT_OK;
    for (size_t i = 0; i < source->chunk_length && result == IMPORT_OK; i++) {
        const unsigned char byte = (unsigned char)source->chunk[i];
        if (utf16->has_first) {
            const uint32_t first = utf16->first;
            put_unit(utf16, utf16->is_big ? first << 8 | byte : (uint32_t)byte << 8 | first);
        }
        utf16->first = byte;
        utf16->has_first = !utf16->has_first;
        if (utf16->length > UTF16_OUT_BYTES - 8 || i + 1 == source->chunk_length) {
            result = store_bytes(source, utf16->out, utf16->length);
            utf16->length = 0;
        }
    }
    return result;
}

/* The rest of a file that is cut within a character is dropped. */
static enum import_result convert_all(struct source *source, bool is_big)
{
    struct utf16 utf16 = {.is_big = is_big};
    while (source->chunk_length > 0) {
        enum import_result result = convert_chunk(source, &utf16);
        if (result == IMPORT_OK) {
            result = read_chunk(source);
        }
        if (result != IMPORT_OK) {
            return result;
        }
    }
    return IMPORT_OK;
}

/* --- gzip --- */

/* Whether what is decompressed ends here is said by the end of the file: *is_done. */
static enum import_result inflate_more(struct source *source, z_stream *stream, bool *is_done)
{
    if (stream->avail_in > 0) {
        return IMPORT_OK;
    }
    const enum import_result result = read_chunk(source);
    stream->next_in = (Bytef *)source->chunk;
    stream->avail_in = (uInt)source->chunk_length;
    *is_done = result == IMPORT_OK && source->chunk_length == 0;
    return result;
}

static enum import_result fail_gzip(const struct source *source, const char *what)
{
    return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0,
                       "the gzip stream is %s after %zu bytes of text", what, source->store.length);
}

/* One step; *is_between: a member is complete. */
static enum import_result inflate_step(struct source *source, z_stream *stream, bool *is_between)
{
    char *at = NULL;
    size_t room = 0;
    IMPORT_TRY(text_store_room(&source->store, &at, &room));
    if (*is_between && *stream->next_in != GZIP_FIRST_BYTE) {
        return fail_gzip(source, "followed by something that is not gzip");
    }
    if (*is_between && inflateReset(stream) != Z_OK) {
        return fail_gzip(source, "damaged");
    }
    const uInt room_before = room > 1u << 30 ? 1u << 30 : (uInt)room;
    stream->next_out = (Bytef *)at;
    stream->avail_out = room_before;
    const int code = inflate(stream, Z_NO_FLUSH);
    *is_between = code == Z_STREAM_END;
    IMPORT_TRY(text_store_add(&source->store, room_before - stream->avail_out));
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR
               ? IMPORT_OK
               : fail_gzip(source, "damaged");
}

static enum import_result inflate_all(struct source *source)
{
    z_stream stream = {.next_in = (Bytef *)source->chunk, .avail_in = (uInt)source->chunk_length};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) { /* 15: largest window; + 16: a gzip header */
        return fail_unreadable(source, "no host memory for zlib");
    }
    enum import_result result = IMPORT_OK;
    bool is_done = false;
    bool is_between = false;
    while (result == IMPORT_OK && !is_done) {
        result = inflate_step(source, &stream, &is_between);
        /* What is full is emptied before there is more. */
        if (result == IMPORT_OK && (is_between || stream.avail_out > 0)) {
            result = inflate_more(source, &stream, &is_done);
        }
    }
    (void)inflateEnd(&stream);
    return result == IMPORT_OK && !is_between ? fail_gzip(source, "cut off") : result;
}

/* --- zstd --- */

static enum import_result fail_zstd(const struct source *source, size_t code)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
        return fail_unreadable(
            source,
            "the zstd stream needs a window above 128 MiB (zstd --long): decompress it first");
    }
    return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0,
                       "the zstd stream is damaged after %zu bytes of text: %s",
                       source->store.length, ZSTD_getErrorName(code));
}

static enum import_result decompress_step(struct source *source, ZSTD_DStream *stream,
                                          ZSTD_inBuffer *in, bool *is_between, bool *is_full)
{
    char *at = NULL;
    size_t room = 0;
    IMPORT_TRY(text_store_room(&source->store, &at, &room));
    ZSTD_outBuffer to = {.dst = at, .size = room};
    const size_t left = ZSTD_decompressStream(stream, &to, in);
    *is_between = left == 0;
    *is_full = to.pos == to.size;
    const enum import_result added = text_store_add(&source->store, to.pos);
    if (added == IMPORT_OK && ZSTD_isError(left)) {
        return fail_zstd(source, left);
    }
    return added;
}

static enum import_result decompress_all(struct source *source)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL) {
        return fail_unreadable(source, "no host memory for zstd");
    }
    ZSTD_inBuffer in = {.src = source->chunk, .size = source->chunk_length};
    enum import_result result = IMPORT_OK;
    bool is_done = false;
    bool is_between = false;
    while (result == IMPORT_OK && !is_done) {
        bool is_full = false;
        result = decompress_step(source, stream, &in, &is_between, &is_full);
        if (result == IMPORT_OK && in.pos == in.size && (is_between || !is_full)) {
            result = read_chunk(source);
            in = (ZSTD_inBuffer){.src = source->chunk, .size = source->chunk_length};
            is_done = source->chunk_length == 0;
        }
    }
    (void)ZSTD_freeDStream(stream);
    if (result == IMPORT_OK && !is_between) {
        return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0,
                           "the zstd stream is cut off after %zu bytes of text",
                           source->store.length);
    }
    return result;
}

/* --- a file --- */

static bool has_magic(const struct source *source, const char *magic, size_t length)
{
    return source->chunk_length >= length && memcmp(source->chunk, magic, length) == 0;
}

/* A frame of data, or one that is to be skipped, with which some tools begin. */
static bool is_zstd(const struct source *source)
{
    return has_magic(source, "\x28\xB5\x2F\xFD", 4) ||
           (source->chunk_length >= 4 && (source->chunk[0] & 0xF0) == 0x50 &&
            memcmp(source->chunk + 1, "\x2A\x4D\x18", 3) == 0);
}

static enum import_result read_all(struct source *source)
{
    struct stat status;
    if (fstat(fileno(source->stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        return fail_unreadable(source, "is a directory, not a file");
    }
    source->chunk = malloc(CHUNK_BYTES);
    if (source->chunk == NULL) {
        return fail_unreadable(source, "no host memory for the file's text");
    }
    IMPORT_TRY(read_chunk(source));
    if (has_magic(source, "\x1F\x8B", 2)) {
        return inflate_all(source);
    }
    if (has_magic(source, "\xFF\xFE", 2) || has_magic(source, "\xFE\xFF", 2)) {
        return convert_all(source, has_magic(source, "\xFE\xFF", 2));
    }
    return is_zstd(source) ? decompress_all(source) : copy_all(source);
}

/* An empty text has its NUL, too. */
static enum import_result finish_text(struct source *source, struct text *text)
{
    char *at = NULL;
    size_t room = 0;
    IMPORT_TRY(source->store.length == 0 ? text_store_room(&source->store, &at, &room) : IMPORT_OK);
    return text_store_finish(&source->store, text);
}

/* A device such as /dev/zero has no end.  Who types a list ends it. */
static bool is_device(FILE *stream)
{
    struct stat status;
    return fstat(fileno(stream), &status) == 0 && S_ISCHR(status.st_mode) &&
           !isatty(fileno(stream));
}

static FILE *open_file(const char *path)
{
    return strcmp(path, "-") == 0 ? fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "rb")
                                  : fopen(path, "rb");
}

enum import_result text_read(const char *path, size_t bytes_max, struct text *text,
                             struct import_error *error)
{
    struct source source = {.stream = open_file(path)};
    text_store_init(&source.store, bytes_max, error);
    if (source.stream == NULL) {
        return fail_unreadable(&source, strerror(errno));
    }
    enum import_result result = is_device(source.stream)
                                    ? fail_unreadable(&source, "it is a device, not a file")
                                    : read_all(&source);
    (void)fclose(source.stream);
    free(source.chunk);
    if (result == IMPORT_OK) {
        result = finish_text(&source, text);
    }
    text_store_deinit(&source.store);
    return result;
}

void text_deinit(struct text *text)
{
    if (text->is_mapped) {
        (void)munmap(text->bytes, text->length + 1);
    } else {
        free(text->bytes);
    }
    *text = (struct text){0};
}
