#include "formats/common/hash_seed.h"

#include <sys/random.h>
#include <time.h>

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
