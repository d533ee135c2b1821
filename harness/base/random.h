/* The one source of chance.  Every draw is a function of the seed alone: integer arithmetic, no
 * clock, no address, so that a seed gives the same ops with every compiler. */
#ifndef HARNESS_BASE_RANDOM_H
#define HARNESS_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* State of xoshiro256** (Blackman and Vigna, 2018); never all zero. */
struct random {
    uint64_t state[4];
};

/* Any seed is good, 0 included. */
void random_init(struct random *random, uint64_t seed);

/* 64 random bits. */
uint64_t random_bits(struct random *random);

/* Uniform in [0, bound); bound >= 1.  No modulo bias. */
uint64_t random_below(struct random *random, uint64_t bound);

/* Uniform in [low, high], low <= high. */
uint64_t random_between(struct random *random, uint64_t low, uint64_t high);

/* True numerator times out of denominator; denominator >= 1. */
bool random_chance(struct random *random, uint32_t numerator, uint32_t denominator);

/* Log-uniform in [low, high], 1 <= low <= high: each power of two is about equally likely. */
uint64_t random_log_uniform(struct random *random, uint64_t low, uint64_t high);

/* Index into weights[count] drawn in proportion; the sum must be at least 1. */
uint32_t random_weighted(struct random *random, const uint32_t *weights, uint32_t count);

/* A seed for part `index` of what `seed` governs (a trial of a run, a host of a trial). */
uint64_t random_derive(uint64_t seed, uint64_t index);

#endif
