/* A library with malloc and free over one pool, for malloc:FILE.so.  Compiled with one of the
 * BEND_... it has a defect; without one it is sound. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POOL_BYTES = 1 << 22, UNIT_BYTES = 16, PERIOD = 40, LEAK_PERIOD = 4 };

/* Units of the pool: how many the block that begins there has; 0 = none begins there. */
static uint32_t lengths[POOL_BYTES / UNIT_BYTES];
static unsigned char used[POOL_BYTES / UNIT_BYTES];
static _Alignas(4096) unsigned char pool[POOL_BYTES];
#if defined BEND_OVERLAP || defined BEND_PREMATURE || defined BEND_LEAK
static unsigned call_count;
#endif

void *malloc(size_t bytes);
void free(void *memory);

static size_t find_room(size_t units)
{
    size_t run = 0;
    for (size_t i = 0; i < POOL_BYTES / UNIT_BYTES; i++) {
        run = used[i] ? 0 : run + 1;
        if (run == units) {
            return i + 1 - units;
        }
    }
    return SIZE_MAX;
}

void *malloc(size_t bytes)
{
    const size_t units = bytes / UNIT_BYTES + (bytes % UNIT_BYTES != 0);
    if (units == 0 || units > POOL_BYTES / UNIT_BYTES) {
        return NULL;
    }
#ifdef BEND_PREMATURE
    if (++call_count % PERIOD == 0) {
        return NULL;
    }
#endif
    const size_t first = find_room(units);
    if (first == SIZE_MAX) {
        return NULL;
    }
    lengths[first] = (uint32_t)units;
    memset(used + first, 1, units);
#ifdef BEND_OVERLAP
    if (++call_count % PERIOD == 0 && units > 2) { /* its end is given out again */
        used[first + units - 2] = used[first + units - 1] = 0;
    }
#endif
    return pool + first * UNIT_BYTES;
}

void free(void *memory)
{
    const size_t first = (size_t)((unsigned char *)memory - pool) / UNIT_BYTES;
#ifdef BEND_LEAK
    if (++call_count % LEAK_PERIOD == 0) {
        return;
    }
#endif
    memset(used + first, 0, lengths[first]);
    lengths[first] = 0;
}
