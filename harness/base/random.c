#include "harness/base/random.h"

#include "harness/base/check.h"

/* SplitMix64 (Steele, Lea, Flood 2014): turns any seed, 0 included, into well-mixed state. */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void random_init(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        random->state[i] = split_mix(&seed);
    }
}

static uint64_t rotate_left(uint64_t value, int count)
{
    return (value << count) | (value >> (64 - count));
}

uint64_t random_bits(struct random *random)
{
    uint64_t *s = random->state;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    CHECK(bound >= 1);
    /* Draws under 2^64 mod bound are rejected: what is left is a multiple of bound. */
    const uint64_t reject_below = (0 - bound) % bound;
    uint64_t bits;
    do {
        bits = random_bits(random);
    } while (bits < reject_below);
    return bits % bound;
}

uint64_t random_between(struct random *random, uint64_t low, uint64_t high)
{
    CHECK(low <= high);
    if (high - low == UINT64_MAX) {
        return random_bits(random);
    }
    return low + random_below(random, high - low + 1);
}

bool random_chance(struct random *random, uint32_t numerator, uint32_t denominator)
{
    CHECK(denominator >= 1);
    return random_below(random, denominator) < numerator;
}

static uint32_t log2_floor(uint64_t value)
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

uint64_t random_log_uniform(struct random *random, uint64_t low, uint64_t high)
{
    CHECK(low >= 1);
    CHECK(low <= high);
    const uint64_t power = random_between(random, log2_floor(low), log2_floor(high));
    const uint64_t first = (uint64_t)1 << power;
    const uint64_t last = first + (first - 1);
    return random_between(random, first < low ? low : first, last > high ? high : last);
}

uint32_t random_weighted(struct random *random, const uint32_t *weights, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    CHECK(sum >= 1);
    uint64_t draw = random_below(random, sum);
    for (uint32_t i = 0; i < count; i++) {
        if (draw < weights[i]) {
            return i;
        }
        draw -= weights[i];
    }
    return count - 1;
}

uint64_t random_derive(uint64_t seed, uint64_t index)
{
    uint64_t state = seed ^ (index * 0xD1342543DE82EF95u);
    (void)split_mix(&state);
    return split_mix(&state);
}
