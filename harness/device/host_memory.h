/* The host memory that a target has from the harness: how much it holds, and whether it writes
 * beyond what it was given or gives back what it has not.  Each piece lies between two patterns,
 * or, guarded, at the end of pages of its own in front of one that nobody may touch. */
#ifndef HARNESS_DEVICE_HOST_MEMORY_H
#define HARNESS_DEVICE_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_piece;

enum { HOST_MEMORY_FAULT_BYTES = 128 };

/* pieces is a hash table of those that live, by address. */
struct host_memory {
    struct host_piece *pieces;
    size_t capacity, count;
    uint64_t held_bytes;                   /* obtained, less what the target released */
    uint64_t opened_bytes, item_count_max; /* see host_memory_bytes_max */
    char fault[HOST_MEMORY_FAULT_BYTES];   /* the first one, in words; "" = none */
};

void host_memory_init(struct host_memory *memory);
/* Gives back what is left, too. */
void host_memory_deinit(struct host_memory *memory);

/* Aligned to 16 bytes.  NULL: the system has none. */
void *host_memory_alloc(struct host_memory *memory, size_t bytes);
/* Frees the piece.  A write beyond the piece, or a piece that is not there, is noted as the fault;
 * the latter changes nothing. */
void host_memory_free(struct host_memory *memory, void *piece, size_t bytes);
/* Looks at every piece that lives. */
void host_memory_check(struct host_memory *memory);

/* The bytes that a target may hold: what open took, 1 MiB, and 4 KiB for each block, event and
 * program at the peak.  The first call notes that open is over; the second notes the number of
 * blocks, events and programs. */
void host_memory_opened(struct host_memory *memory);
static inline void host_memory_allow(struct host_memory *memory, uint64_t item_count)
{
    memory->item_count_max = item_count > memory->item_count_max ? item_count
                                                                 : memory->item_count_max;
}
#define HOST_MEMORY_BYTES_AT_LEAST (UINT64_C(1) << 20)
#define HOST_MEMORY_BYTES_PER_ITEM (UINT64_C(4) << 10)
static inline uint64_t host_memory_bytes_max(const struct host_memory *memory)
{
    return memory->opened_bytes + HOST_MEMORY_BYTES_AT_LEAST +
           HOST_MEMORY_BYTES_PER_ITEM * memory->item_count_max;
}

/* Pieces taken from now on in this process are guarded: the very write beyond one ends the process.
 */
void host_memory_guard(bool is_guarded);

#endif
