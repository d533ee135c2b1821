#include "formats/common/private/text_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { HEAP_BYTES_MIN = 65536, CHUNK_BYTES = 1 << 20 /* what is written to the file at once */ };

void text_store_init(struct text_store *store, size_t bytes_max, struct import_error *error)
{
    *store = (struct text_store){.bytes_max = bytes_max, .file = -1, .error = error};
}

void text_store_deinit(struct text_store *store)
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

/* Others need the place, too, and what comes without end is told from a long text by nothing else.
 * A file system that says it has no blocks at all does not say what is free. */
static uint64_t measure_half_of_free(int file)
{
    struct statvfs status;
    const bool is_said = fstatvfs(file, &status) == 0 && status.f_blocks > 0;
    return is_said ? (uint64_t)status.f_bavail * status.f_frsize / 2 : UINT64_MAX;
}

static enum import_result fail_no_half(const struct text_store *store)
{
    return import_fail(
        store->error, IMPORT_UNREADABLE, 0, 0,
        "its text is above %zu bytes and needs a temporary file in %s (TMPDIR), where half of the free space, %" PRIu64
        " bytes, is too little",
        TEXT_HEAP_BYTES_MAX, find_directory(), store->file_bytes_max);
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
        return fail_no_half(store);
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

static enum import_result begin_file(struct text_store *store)
{
    store->file = open_nameless_file();
    if (store->file < 0) {
        return fail_no_file(store, errno);
    }
    store->file_bytes_max = measure_half_of_free(store->file);
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

enum import_result text_store_room(struct text_store *store, char **at, size_t *room)
{
    enum import_result result = IMPORT_OK;
    if (store->file >= 0 && store->heap_length >= CHUNK_BYTES) {
        result = write_out(store);
    } else if (store->file < 0 && store->heap_length >= TEXT_HEAP_BYTES_MAX) {
        result = begin_file(store);
    }
    if (result == IMPORT_OK && store->heap_length == store->heap_capacity) {
        result = grow_heap(store);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    const size_t left = store->heap_capacity - store->heap_length;
    *at = store->heap + store->heap_length;
    *room = store->file >= 0 && left > CHUNK_BYTES ? CHUNK_BYTES : left;
    return IMPORT_OK;
}

enum import_result text_store_add(struct text_store *store, size_t count)
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

static enum import_result map_file(struct text_store *store, struct text *text)
{
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

enum import_result text_store_finish(struct text_store *store, struct text *text)
{
    if (store->file >= 0) {
        return map_file(store, text);
    }
    store->heap[store->heap_length] = '\0';
    *text = (struct text){.bytes = store->heap, .length = store->length};
    store->heap = NULL;
    return IMPORT_OK;
}
