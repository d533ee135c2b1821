#include "formats/common/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Stores the text while it is read: in host memory, and from TEXT_HEAP_BYTES_MAX on in a file
 * without a name. */
struct text_store {
    char *heap; /* what is not in the file */
    size_t heap_length, heap_capacity;
    size_t length; /* in all, at most bytes_max */
    size_t bytes_max;
    int file;                /* -1: none yet */
    uint64_t file_bytes_max; /* half of what was free where the file is when it was begun */
    struct import_error *error;
};

enum { HEAP_BYTES_MIN = 65536, CHUNK_BYTES = 1 << 20 /* what is written to the file at once */ };

static void text_store_deinit(struct text_store *store)
{
    free(store->heap);
    if (store->file >= 0) {
        (void)close(store->file);
    }
    *store = (struct text_store){.file = -1};
}

/* --- the file --- */

static const char *find_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory == NULL || directory[0] == '\0' ? "/tmp" : directory;
}

static enum import_result fail_no_file(const struct text_store *store, int code)
{
    return import_fail(
        store->error, IMPORT_UNREADABLE, 0, 0,
        "its text is above %zu bytes and cannot be stored in a temporary file in %s (TMPDIR): %s",
        TEXT_HEAP_BYTES_MAX, find_directory(), strerror(code));
}

/* -1: none can be made; errno says why. */
static int open_nameless_file(void)
{
    char path[4096];
    const int file = open(find_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) {
        return file;
    }
    /* Not every file system knows O_TMPFILE. */
    if (snprintf(path, sizeof path, "%s/hbmstress_text_XXXXXX", find_directory()) >=
        (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkostemp(path, O_CLOEXEC);
    if (named >= 0) {
        (void)unlink(path);
    }
    return named;
}

/* Writes what is in host memory to the file. */
static enum import_result write_out(struct text_store *store)
{
    if (store->length > store->file_bytes_max) {
        return import_fail(
            store->error, IMPORT_UNREADABLE, 0, 0,
            "its text is above %zu bytes and needs a temporary file in %s (TMPDIR), where half of the free space, %" PRIu64
            " bytes, is too little",
            TEXT_HEAP_BYTES_MAX, find_directory(), store->file_bytes_max);
    }
    for (size_t done = 0; done < store->heap_length;) {
        const ssize_t count = write(store->file, store->heap + done, store->heap_length - done);
        if (count < 0 && errno != EINTR) {
            return fail_no_file(store, errno);
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    store->heap_length = 0;
    return IMPORT_OK;
}

/* Others need the place, too, and what comes without end is told from a long text by nothing else:
 * a half of what is free is the most.  A file system that says it has no blocks at all does not say
 * what is free. */
static enum import_result begin_file(struct text_store *store)
{
    struct statvfs status;
    store->file = open_nameless_file();
    if (store->file < 0) {
        return fail_no_file(store, errno);
    }
    const bool is_said = fstatvfs(store->file, &status) == 0 && status.f_blocks > 0;
    store->file_bytes_max = is_said ? (uint64_t)status.f_bavail * status.f_frsize / 2 : UINT64_MAX;
    return write_out(store);
}

/* --- host memory --- */

/* One byte more than the text: the NUL, and one beyond the limit, by which exactly the limit is
 * told from more. */
static enum import_result grow_heap(struct text_store *store)
{
    const size_t capacity = store->heap_capacity == 0 ? HEAP_BYTES_MIN : store->heap_capacity * 2;
    char *heap = realloc(store->heap, capacity + 1);
    if (heap == NULL) {
        return import_fail(store->error, IMPORT_UNREADABLE, 0, 0,
                           "no host memory for the file's text");
    }
    store->heap = heap;
    store->heap_capacity = capacity;
    return IMPORT_OK;
}

static enum import_result text_store_room(struct text_store *store, char **at, size_t *room)
{
    if (store->file >= 0 && store->heap_length >= CHUNK_BYTES) {
        IMPORT_TRY(write_out(store));
    } else if (store->file < 0 && store->heap_length >= TEXT_HEAP_BYTES_MAX) {
        IMPORT_TRY(begin_file(store));
    }
    IMPORT_TRY(store->heap_length == store->heap_capacity ? grow_heap(store) : IMPORT_OK);
    const size_t left = store->heap_capacity - store->heap_length;
    *at = store->heap + store->heap_length;
    *room = store->file >= 0 && left > CHUNK_BYTES ? CHUNK_BYTES : left;
    return IMPORT_OK;
}

static enum import_result text_store_add(struct text_store *store, size_t count)
{
    store->heap_length += count;
    store->length += count;
    if (store->length > store->bytes_max) {
        return import_fail(store->error, IMPORT_UNREADABLE, 0, 0,
                           "the text is longer than the limit of %zu bytes", store->bytes_max);
    }
    return IMPORT_OK;
}

/* --- the end --- */

static enum import_result text_store_finish(struct text_store *store, struct text *text)
{
    if (store->file < 0) {
        store->heap[store->heap_length] = '\0';
        *text = (struct text){.bytes = store->heap, .length = store->length};
        store->heap = NULL;
        return IMPORT_OK;
    }
    store->heap[store->heap_length++] = '\0';
    IMPORT_TRY(write_out(store));
    void *bytes = mmap(NULL, store->length + 1, PROT_READ, MAP_PRIVATE, store->file, 0);
    if (bytes == MAP_FAILED) {
        return fail_no_file(store, errno);
    }
    (void)madvise(bytes, store->length + 1, MADV_SEQUENTIAL);
    *text = (struct text){.bytes = bytes, .length = store->length, .is_mapped = true};
    return IMPORT_OK;
}

enum { READ_BYTES = 1 << 18, GZIP_FIRST_BYTE = 0x1F };

/* A file while it is read. */
struct text_source {
    FILE *stream;
    struct text_store store;
    char *chunk;         /* READ_BYTES: what was read and is not yet decompressed */
    size_t chunk_length; /* 0 after the end of the file */
    size_t chunk_at;     /* what is taken of it by what unpacks */
};

static enum import_result fail_unreadable(const struct text_source *source, const char *reason)
{
    return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0, "%s", reason);
}

/* Reads the next chunk; at the end of the file it is empty. */
static enum import_result read_chunk(struct text_source *source)
{
    source->chunk_at = 0;
    source->chunk_length = fread(source->chunk, 1, READ_BYTES, source->stream);
    return source->chunk_length == 0 && ferror(source->stream)
               ? fail_unreadable(source, strerror(errno))
               : IMPORT_OK;
}

/* --- plain --- */

static enum import_result store_bytes(struct text_source *source, const char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        char *at = NULL;
        size_t room = 0;
        IMPORT_TRY(text_store_room(&source->store, &at, &room));
        const size_t count = length - done < room ? length - done : room;
        memcpy(at, bytes + done, count);
        done += count;
        IMPORT_TRY(text_store_add(&source->store, count));
    }
    return IMPORT_OK;
}

static enum import_result copy_all(struct text_source *source)
{
    while (source->chunk_length > 0) {
        IMPORT_TRY(store_bytes(source, source->chunk, source->chunk_length));
        IMPORT_TRY(read_chunk(source));
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

static enum import_result convert_chunk(struct text_source *source, struct utf16 *utf16)
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
static enum import_result convert_all(struct text_source *source, bool is_big)
{
    struct utf16 utf16 = {.is_big = is_big};
    while (source->chunk_length > 0) {
        IMPORT_TRY(convert_chunk(source, &utf16));
        IMPORT_TRY(read_chunk(source));
    }
    return IMPORT_OK;
}

/* --- what is packed --- */

static enum import_result fail_packed(const struct text_source *source, const char *packing,
                                      const char *what)
{
    return import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0,
                       "the %s stream is %s after %zu bytes of text", packing, what,
                       source->store.length);
}

/* One step.  *is_between: a member or frame is complete; *is_full: there may be more of the text.
 */
typedef enum import_result unpack_step(struct text_source *source, void *stream, bool *is_between,
                                       bool *is_full);

/* Only the end of the file tells that the text is over.  A full output is emptied before more input
 * is read. */
static enum import_result unpack_all(struct text_source *source, unpack_step *step, void *stream,
                                     const char *packing)
{
    enum import_result result = IMPORT_OK;
    bool is_between = false;
    while (result == IMPORT_OK && source->chunk_length > 0) {
        bool is_full = false;
        result = step(source, stream, &is_between, &is_full);
        if (result == IMPORT_OK && source->chunk_at == source->chunk_length &&
            (is_between || !is_full)) {
            result = read_chunk(source);
        }
    }
    return result == IMPORT_OK && !is_between ? fail_packed(source, packing, "cut off") : result;
}

/* --- gzip --- */

static enum import_result inflate_step(struct text_source *source, void *context, bool *is_between,
                                       bool *is_full)
{
    z_stream *stream = context;
    char *at = NULL;
    size_t room = 0;
    IMPORT_TRY(text_store_room(&source->store, &at, &room));
    if (*is_between && source->chunk[source->chunk_at] != GZIP_FIRST_BYTE) {
        return fail_packed(source, "gzip", "followed by something that is not gzip");
    }
    if (*is_between && inflateReset(stream) != Z_OK) {
        return fail_packed(source, "gzip", "damaged");
    }
    const uInt room_before = room > 1u << 30 ? 1u << 30 : (uInt)room;
    stream->next_in = (Bytef *)source->chunk + source->chunk_at;
    stream->avail_in = (uInt)(source->chunk_length - source->chunk_at);
    stream->next_out = (Bytef *)at;
    stream->avail_out = room_before;
    const int code = inflate(stream, Z_NO_FLUSH);
    source->chunk_at = source->chunk_length - stream->avail_in;
    *is_between = code == Z_STREAM_END;
    *is_full = stream->avail_out == 0;
    IMPORT_TRY(text_store_add(&source->store, room_before - stream->avail_out));
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR
               ? IMPORT_OK
               : fail_packed(source, "gzip", "damaged");
}

static enum import_result inflate_all(struct text_source *source)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) { /* 15: largest window; + 16: a gzip header */
        return fail_unreadable(source, "no host memory for zlib");
    }
    const enum import_result result = unpack_all(source, inflate_step, &stream, "gzip");
    (void)inflateEnd(&stream);
    return result;
}

/* --- zstd --- */

static enum import_result decompress_step(struct text_source *source, void *stream,
                                          bool *is_between, bool *is_full)
{
    char *at = NULL;
    size_t room = 0;
    IMPORT_TRY(text_store_room(&source->store, &at, &room));
    ZSTD_inBuffer in = {source->chunk, source->chunk_length, source->chunk_at};
    ZSTD_outBuffer to = {.dst = at, .size = room};
    const size_t left = ZSTD_decompressStream(stream, &to, &in);
    source->chunk_at = in.pos;
    *is_between = left == 0;
    *is_full = to.pos == to.size;
    IMPORT_TRY(text_store_add(&source->store, to.pos));
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
        return fail_unreadable(
            source,
            "the zstd stream needs a window above 128 MiB (zstd --long): decompress it first");
    }
    return !ZSTD_isError(left)
               ? IMPORT_OK
               : import_fail(source->store.error, IMPORT_UNREADABLE, 0, 0,
                             "the zstd stream is damaged after %zu bytes of text: %s",
                             source->store.length, ZSTD_getErrorName(left));
}

static enum import_result decompress_all(struct text_source *source)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL) {
        return fail_unreadable(source, "no host memory for zstd");
    }
    const enum import_result result = unpack_all(source, decompress_step, stream, "zstd");
    (void)ZSTD_freeDStream(stream);
    return result;
}

/* --- a file --- */

static bool has_magic(const struct text_source *source, const char *magic, size_t length)
{
    return source->chunk_length >= length && memcmp(source->chunk, magic, length) == 0;
}

/* A frame of data, or one that is to be skipped, with which some tools begin. */
static bool is_zstd(const struct text_source *source)
{
    return has_magic(source, "\x28\xB5\x2F\xFD", 4) ||
           (source->chunk_length >= 4 && (source->chunk[0] & 0xF0) == 0x50 &&
            memcmp(source->chunk + 1, "\x2A\x4D\x18", 3) == 0);
}

static enum import_result read_all(struct text_source *source)
{
    struct stat status;
    if (fstat(fileno(source->stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        return fail_unreadable(source, "is a directory, not a file");
    }
    source->chunk = malloc(READ_BYTES);
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

/* A device such as /dev/zero has no end; who types a list ends it.  An empty text has its NUL, too.
 */
enum import_result text_read(const char *path, size_t bytes_max, struct text *text,
                             struct import_error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "rb")
                                          : fopen(path, "rb");
    struct text_source source = {.stream = stream,
                                 .store = {.bytes_max = bytes_max, .file = -1, .error = error}};
    struct stat status;
    char *at = NULL;
    size_t room = 0;
    if (stream == NULL) {
        return fail_unreadable(&source, strerror(errno));
    }
    const bool is_device = fstat(fileno(stream), &status) == 0 && S_ISCHR(status.st_mode) &&
                           !isatty(fileno(stream));
    enum import_result result = is_device ? fail_unreadable(&source, "it is a device, not a file")
                                          : read_all(&source);
    (void)fclose(stream);
    free(source.chunk);
    if (result == IMPORT_OK && source.store.length == 0) {
        result = text_store_room(&source.store, &at, &room);
    }
    if (result == IMPORT_OK) {
        result = text_store_finish(&source.store, text);
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
