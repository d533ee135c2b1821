/* The chance of a strategy: all of it comes from one seed. */
#ifndef EXPLORE_CHANCE_H
#define EXPLORE_CHANCE_H

#include <stdint.h>

/* An open value; zero is a valid state of its own. */
struct chance {
    uint64_t state;
};

/* Other streams of the same seed have nothing to do with each other. */
static inline struct chance chance_of(uint64_t seed, uint64_t stream)
{
    return (struct chance){seed * UINT64_C(0x9E3779B97F4A7C15) ^
                           (stream + 1) * UINT64_C(0xD1342543DE82EF95)};
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
static inline uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Below bound (1..2^32), each as likely but for a share of bound / 2^32. */
static inline uint32_t chance_below(struct chance *chance, uint32_t bound)
{
    return (uint32_t)((chance_next(chance) >> 32) * bound >> 32);
}

#endif
