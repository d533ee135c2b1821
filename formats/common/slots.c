#include "formats/common/slots.h"

#include "harness/base/array.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* 512: a table that is half full has no such probe by chance, with up to 2^32 things. */
enum { SLOT_COUNT_MIN = 64, PROBE_COUNT_MAX = 512 };

/* Returns where the key stands, or the empty slot where it belongs; NULL: the probe is too long. */
static uint32_t *find_slot(const struct slots *slots, const struct slots_kind *kind,
                           const char *things, const void *key)
{
    const size_t mask = slots->count - 1;
    size_t i = (size_t)kind->hash(key, slots->seed) & mask;
    for (int probes = 0; probes < PROBE_COUNT_MAX; probes++, i = (i + 1) & mask) {
        if (slots->slots[i] == 0 ||
            kind->is_same(things + (slots->slots[i] - 1) * kind->size_bytes, key)) {
            return &slots->slots[i];
        }
    }
    return NULL;
}

/* False: with this seed a probe is too long. */
static bool fill_slots(struct slots *slots, const struct slots_kind *kind, const char *things,
                       size_t first, size_t end)
{
    memset(slots->slots, 0, slots->count * sizeof *slots->slots);
    for (size_t i = first; i < end; i++) {
        uint32_t *slot = find_slot(slots, kind, things, things + i * kind->size_bytes);
        if (slot == NULL) {
            return false;
        }
        *slot = (uint32_t)i + 1;
    }
    return true;
}

uint32_t *slots_find(struct slots *slots, const struct slots_kind *kind, const void *things,
                     size_t first, size_t end, const void *key)
{
    uint32_t *slot = NULL;
    bool is_filled = true;
    if (2 * (end - first + 1) > slots->count) {
        slots->count = slots->count == 0 ? SLOT_COUNT_MIN : slots->count * 2;
        slots->slots = array_resized(slots->slots, slots->count * sizeof *slots->slots);
        is_filled = fill_slots(slots, kind, things, first, end);
    }
    while (!is_filled || (slot = find_slot(slots, kind, things, key)) == NULL) {
        slots->seed = hash_seed_draw();
        is_filled = fill_slots(slots, kind, things, first, end);
    }
    return slot;
}

uint64_t hash_seed_draw(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        struct timespec now = {0};
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        seed = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15);
    }
    return seed;
}
