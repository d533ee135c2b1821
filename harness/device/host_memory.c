#include "harness/device/host_memory.h"

#include "harness/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARGIN_BYTES = 16, MARGIN_BYTE = 0xA5, TABLE_COUNT_MIN = 64 };
#define MARGIN_WORD (UINT64_MAX / UINT8_MAX * MARGIN_BYTE)

/* A piece that lives; user NULL = a free place of the table. */
struct host_piece {
    unsigned char *user;
    size_t bytes;
    unsigned char *memory; /* of malloc, or mapped_bytes of mmap */
    size_t mapped_bytes;   /* 0 = not guarded */
};

static bool guards_pieces;

void host_memory_guard(bool is_guarded)
{
    guards_pieces = is_guarded;
}

void host_memory_init(struct host_memory *memory)
{
    *memory = (struct host_memory){0};
}

/* --- the table --- */

static size_t find_home(const struct host_memory *memory, const void *user)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)user * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(mixed >> 32) & (memory->capacity - 1);
}

/* The place of the piece, or the free one where it would be. */
static struct host_piece *table_find(const struct host_memory *memory, const void *user)
{
    size_t at = find_home(memory, user);
    while (memory->pieces[at].user != NULL && memory->pieces[at].user != user) {
        at = (at + 1) & (memory->capacity - 1);
    }
    return &memory->pieces[at];
}

/* Keeps the table at most half full, so that every search ends soon. */
static void table_grow(struct host_memory *memory)
{
    struct host_memory grown = *memory;
    grown.capacity = memory->capacity == 0 ? TABLE_COUNT_MIN : memory->capacity * 2;
    CHECK(grown.capacity > memory->capacity);
    CHECK((grown.capacity & (grown.capacity - 1)) == 0); /* a mask finds places */
    grown.pieces = calloc(grown.capacity, sizeof *grown.pieces);
    CHECK(grown.pieces != NULL);
    for (size_t i = 0; i < memory->capacity; i++) {
        if (memory->pieces[i].user != NULL) {
            *table_find(&grown, memory->pieces[i].user) = memory->pieces[i];
        }
    }
    free(memory->pieces);
    *memory = grown;
}

static void table_add(struct host_memory *memory, const struct host_piece *piece)
{
    CHECK(piece->user != NULL);
    if (memory->count * 2 >= memory->capacity) {
        table_grow(memory);
    }
    *table_find(memory, piece->user) = *piece;
    memory->count++;
    CHECK(memory->count * 2 <= memory->capacity);
}

/* Removes the piece.  Pieces behind its place move up, so that no search stops too early. */
static void table_remove(struct host_memory *memory, struct host_piece *piece)
{
    CHECK(memory->count > 0);
    size_t hole = (size_t)(piece - memory->pieces);
    const size_t mask = memory->capacity - 1;
    CHECK(hole < memory->capacity);
    memory->pieces[hole].user = NULL;
    memory->count--;
    for (size_t at = (hole + 1) & mask; memory->pieces[at].user != NULL; at = (at + 1) & mask) {
        const size_t home = find_home(memory, memory->pieces[at].user);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            memory->pieces[hole] = memory->pieces[at];
            memory->pieces[at].user = NULL;
            hole = at;
        }
    }
    CHECK(memory->pieces[hole].user == NULL);
}

/* --- pieces --- */

static bool piece_take_plain(struct host_piece *piece)
{
    CHECK(piece->mapped_bytes == 0);
    CHECK(piece->bytes <= SIZE_MAX / 2);
    piece->memory = malloc(piece->bytes + 2 * MARGIN_BYTES);
    if (piece->memory == NULL) {
        return false;
    }
    piece->user = piece->memory + MARGIN_BYTES;
    memset(piece->memory, MARGIN_BYTE, MARGIN_BYTES);
    memset(piece->user + piece->bytes, MARGIN_BYTE, MARGIN_BYTES);
    return true;
}

/* Puts the piece at the end of its pages, up to the alignment; the rest of them is margin. */
static bool piece_take_guarded(struct host_piece *piece)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t taken_bytes = (piece->bytes + MARGIN_BYTES - 1) / MARGIN_BYTES * MARGIN_BYTES;
    const size_t usable_bytes = (taken_bytes + MARGIN_BYTES + page_bytes - 1) / page_bytes *
                                page_bytes;
    void *memory = mmap(NULL, usable_bytes + page_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    piece->memory = memory;
    piece->mapped_bytes = usable_bytes + page_bytes;
    piece->user = piece->memory + usable_bytes - taken_bytes;
    CHECK(piece->user >= piece->memory + MARGIN_BYTES);
    CHECK(piece->user + piece->bytes <= piece->memory + usable_bytes);
    memset(piece->user - MARGIN_BYTES, MARGIN_BYTE, MARGIN_BYTES);
    memset(piece->user + piece->bytes, MARGIN_BYTE, taken_bytes - piece->bytes);
    return mprotect(piece->memory + usable_bytes, page_bytes, PROT_NONE) == 0;
}

static void piece_give_back(struct host_piece *piece)
{
    CHECK(piece->memory != NULL);
    CHECK(piece->user != NULL);
    if (piece->mapped_bytes == 0) {
        free(piece->memory);
    } else {
        (void)munmap(piece->memory, piece->mapped_bytes);
    }
}

/* A word at a time, as far as words go. */
static bool is_margin(const unsigned char *bytes, size_t count)
{
    const unsigned char *const end = bytes + count;
    uint64_t word = MARGIN_WORD;
    for (; (size_t)(end - bytes) >= sizeof word && word == MARGIN_WORD; bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
    }
    while (bytes < end && *bytes == MARGIN_BYTE) {
        bytes++;
    }
    return bytes == end && word == MARGIN_WORD;
}

static void note_fault(struct host_memory *memory, const char *what, size_t bytes)
{
    CHECK(what != NULL);
    if (memory->fault[0] == '\0') {
        (void)snprintf(memory->fault, sizeof memory->fault, "%s of %zu bytes of host memory", what,
                       bytes);
    }
    CHECK(memory->fault[0] != '\0');
}

static void piece_check(struct host_memory *memory, const struct host_piece *piece)
{
    const size_t behind_bytes = piece->mapped_bytes == 0
                                    ? MARGIN_BYTES
                                    : (MARGIN_BYTES - piece->bytes % MARGIN_BYTES) % MARGIN_BYTES;
    if (!is_margin(piece->user - MARGIN_BYTES, MARGIN_BYTES)) {
        note_fault(memory, "the target wrote before the start", piece->bytes);
    }
    if (!is_margin(piece->user + piece->bytes, behind_bytes)) {
        note_fault(memory, "the target wrote past the end", piece->bytes);
    }
}

void *host_memory_alloc(struct host_memory *memory, size_t bytes)
{
    struct host_piece piece = {.bytes = bytes};
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    if (!(guards_pieces && piece_take_guarded(&piece))) {
        if (piece.mapped_bytes != 0) {
            piece_give_back(&piece);
        }
        piece = (struct host_piece){.bytes = bytes};
        if (!piece_take_plain(&piece)) {
            return NULL;
        }
    }
    table_add(memory, &piece);
    CHECK(table_find(memory, piece.user)->user == piece.user);
    CHECK(memory->count > 0);
    memory->held_bytes += bytes;
    return piece.user;
}

void host_memory_free(struct host_memory *memory, void *user, size_t bytes)
{
    struct host_piece *piece = memory->capacity == 0 ? NULL : table_find(memory, user);
    if (piece == NULL || piece->user == NULL) {
        note_fault(memory, "the target released what it does not hold: a piece", bytes);
        return;
    }
    CHECK(piece->user == user);
    CHECK(memory->count > 0);
    piece_check(memory, piece);
    memory->held_bytes -= bytes;
    piece_give_back(piece);
    table_remove(memory, piece);
}

void host_memory_check(struct host_memory *memory)
{
    for (size_t i = 0; i < memory->capacity; i++) {
        if (memory->pieces[i].user != NULL) {
            piece_check(memory, &memory->pieces[i]);
        }
    }
}

void host_memory_deinit(struct host_memory *memory)
{
    CHECK(memory->pieces != NULL || memory->capacity == 0);
    CHECK(memory->count <= memory->capacity);
    for (size_t i = 0; i < memory->capacity; i++) {
        if (memory->pieces[i].user != NULL) {
            piece_give_back(&memory->pieces[i]);
        }
    }
    free(memory->pieces);
    *memory = (struct host_memory){0};
}

/* --- how much --- */

void host_memory_opened(struct host_memory *memory)
{
    CHECK(memory->item_count_max == 0);
    memory->opened_bytes = memory->held_bytes;
}
