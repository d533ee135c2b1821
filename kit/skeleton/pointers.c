/* my_target: first fit in one arena.  Put your own allocator in place of the calls of heap. */
#include <hbmstress/kit.h>

enum { UNIT_BYTES = 16 };

/* Right before its block, and counted in the size. */
struct chunk {
    uint64_t size_bytes;
    bool is_free;
};
_Static_assert(sizeof(struct chunk) == UNIT_BYTES, "the next chunk lies at a unit");

struct heap {
    char *start, *end;
};

static struct chunk *chunk_at(void *place)
{
    return place;
}

/* NULL: it cannot be created. */
static struct heap *heap_create(const struct kit_setup *setup)
{
    struct heap *heap = kit_records(setup, sizeof *heap);
    if (heap != NULL) {
        *heap = (struct heap){setup->arena, (char *)setup->arena + setup->arena_bytes};
        *chunk_at(heap->start) = (struct chunk){setup->arena_bytes, true};
    }
    return heap;
}

/* Takes in the free chunks behind a free one. */
static void chunk_join(const struct heap *heap, char *place)
{
    struct chunk *chunk = chunk_at(place);
    while (place + chunk->size_bytes < heap->end && chunk_at(place + chunk->size_bytes)->is_free) {
        chunk->size_bytes += chunk_at(place + chunk->size_bytes)->size_bytes;
    }
}

/* bytes, a multiple of the granule that is declared below, somewhere in the arena. */
static void *heap_allocate(struct heap *heap, size_t bytes)
{
    for (char *place = heap->start; place < heap->end; place += chunk_at(place)->size_bytes) {
        struct chunk *chunk = chunk_at(place);
        if (!chunk->is_free) {
            continue;
        }
        chunk_join(heap, place);
        if (bytes <= chunk->size_bytes - sizeof *chunk) {
            const uint64_t rest = chunk->size_bytes - sizeof *chunk - bytes;
            *chunk = (struct chunk){sizeof *chunk + bytes, false};
            if (rest > 0) {
                *chunk_at(place + chunk->size_bytes) = (struct chunk){rest, true};
            }
            return chunk + 1;
        }
    }
    return NULL;
}

static void heap_free(struct heap *heap, void *pointer)
{
    struct chunk *chunk = (struct chunk *)pointer - 1;
    (void)heap;
    chunk->is_free = true;
}

KIT_HEAP(heap_create, heap_allocate, heap_free);
KIT_TARGET_WITH("my_target", "first fit in one arena", NULL,
                (.limits = {.largest_align_bytes = UNIT_BYTES}), KIT_HEAP_CALLS,
                .granule_bytes = UNIT_BYTES, .is_granule_fixed = true,
                .header_bytes = sizeof(struct chunk),
                .rounding = {.overhead_bytes = sizeof(struct chunk)});
