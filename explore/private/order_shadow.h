/* Remembers for each 8 bytes of memory who touched which of them last. */
#ifndef EXPLORE_PRIVATE_ORDER_SHADOW_H
#define EXPLORE_PRIVATE_ORDER_SHADOW_H

#include "explore/order.h"

/* Accesses that no later one has replaced, of some bytes of one word: lane and clock say when.  The
 * cells of a word are a list. */
struct shadow_cell {
    const void *place;
    uint32_t op, clock;
    uint32_t next; /* index of a cell; 0 = the last */
    uint8_t mask;  /* bit per byte of the word, never 0 */
    uint8_t lane;
    bool is_write, is_atomic;
};

struct shadow_word {
    uintptr_t address;   /* a multiple of 8 */
    uint32_t generation; /* another one than the shadow's: a free place */
    uint32_t cells;      /* index of the first; 0 = none */
};

struct shadow {
    struct shadow_word *words; /* word_capacity of them, a power of two; at most half are in use */
    uint32_t word_capacity, word_count, generation;
    struct shadow_cell *cells; /* [1, cell_count) are in a list: a word's, or that of the unused */
    uint32_t cell_capacity, cell_count, unused;
};

/* An access as the shadow sees it. */
struct shadow_access {
    const struct access *access;
    bool is_atomic;       /* does not race with others that are */
    const uint32_t *seen; /* by lane: up to which clock its acts come before this access; seen[own
                             lane] is now */
};

void shadow_init(struct shadow *shadow);
void shadow_deinit(struct shadow *shadow);
/* O(1). */
void shadow_reset(struct shadow *shadow);
/* The bytes of mask in the word at address are touched.  True: that races, *race says with what,
 * nothing is changed. Memory is only taken when more words or more accesses are remembered than
 * ever before. */
bool shadow_touch(struct shadow *shadow, uintptr_t address, uint8_t mask,
                  const struct shadow_access *touch, struct race *race);
/* O(the smaller of size_bytes and what is remembered). */
void shadow_forget(struct shadow *shadow, uintptr_t address, size_t size_bytes);

/* Every word is found, and every cell is in one list, with a byte. */
bool shadow_invariants_hold(const struct shadow *shadow);

/* Calls that walk over the words of a range: the next one, and which of its bytes are in [*address,
 * end). */
static inline uint8_t shadow_mask(uintptr_t word, uintptr_t address, uintptr_t end)
{
    const unsigned first = address > word ? (unsigned)(address - word) : 0;
    const unsigned stop = end - word < 8 ? (unsigned)(end - word) : 8;
    return (uint8_t)((0xFFu << first) & (0xFFu >> (8 - stop)));
}

/* Decides which atomic operations order what comes before them and after them, as C17 says (5.1.2.4
 * and 7.17.3).  A store that does not release ends what another lane released, an update carries it
 * on, fences work through relaxed operations. */

void order_atomic_load(struct order *order, uint8_t lane, const void *object, bool acquires);
void order_atomic_store(struct order *order, uint8_t lane, const void *object, bool releases);
/* The store of an update (exchange, fetch_add, a compare_exchange that succeeded), after its load.
 */
void order_atomic_update(struct order *order, uint8_t lane, const void *object, bool releases);
void order_atomic_fence(struct order *order, uint8_t lane, bool acquires, bool releases);

/* Does as order_access() for the access of an atomic operation: it races with plain ones only.
 * After the load's part of the order, before the store's. */
bool order_atomic_access(struct order *order, const struct access *access, const void *address,
                         size_t size_bytes, struct race *race);

#endif
