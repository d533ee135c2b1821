#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/array.h"

#include <stdalign.h>

struct packing_piece {
    struct packing_piece *next;
    alignas(max_align_t) char bytes[];
};

void *packing_take(struct packing *packing, size_t count, size_t size_bytes)
{
    struct packing_memory *memory = &packing->memory;
    CHECK(count < SIZE_MAX / 2 / size_bytes);
    /* Rounded up, and never 0: the place of nothing is a place, too. */
    const size_t bytes = (count * size_bytes / alignof(max_align_t) + 1) * alignof(max_align_t);
    if (bytes <= memory->capacity_bytes - memory->used_bytes) {
        void *taken = memory->first + memory->used_bytes;
        memory->used_bytes += bytes;
        return taken;
    }
    struct packing_piece *piece = array_resized(NULL, sizeof *piece + bytes);
    piece->next = memory->pieces;
    memory->pieces = piece;
    memory->beyond_bytes += bytes;
    return piece->bytes;
}

static void free_pieces(struct packing_memory *memory)
{
    while (memory->pieces != NULL) {
        struct packing_piece *piece = memory->pieces;
        memory->pieces = piece->next;
        free(piece);
    }
}

void packing_take_back(struct packing *packing)
{
    struct packing_memory *memory = &packing->memory;
    free_pieces(memory);
    if (memory->beyond_bytes > 0) {
        memory->capacity_bytes += memory->beyond_bytes;
        memory->beyond_bytes = 0;
        free(memory->first);
        memory->first = array_resized(NULL, memory->capacity_bytes);
    }
    memory->used_bytes = 0;
}

void packing_memory_deinit(struct packing_memory *memory)
{
    free_pieces(memory);
    free(memory->first);
}

void packing_log_add(struct packing *packing, char letter)
{
    if (packing->logs) {
        packing->log = array_grown(packing->log, packing->log_length, &packing->log_capacity, 1);
        packing->log[packing->log_length++] = letter;
    }
}

void packing_log_clear(struct packing *packing)
{
    packing->log_length = 0;
}
