/* The hash of libhbm: for tables that find records by their bytes. */
#ifndef ALLOCATOR_PRIVATE_HASH_H
#define ALLOCATOR_PRIVATE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 32 bits. */
static inline uint32_t hbm_hash_bytes(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ byte[i]) * 16777619u;
    }
    return hash;
}

/* The finaliser of splitmix64: every bit of the value changes about half of the result's. */
static inline uint64_t hbm_hash_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/* Fibonacci hashing: consecutive numbers, the usual case of ids, spread over all buckets. */
static inline uint32_t hbm_hash_id(uint64_t id)
{
    return (uint32_t)((id * 0x9E3779B97F4A7C15u) >> 32);
}

#endif
