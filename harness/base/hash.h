/* Hashes of bytes, text and words: FNV-1a of 64 bits, the same on every machine and in every run.
 *
 * Seeds, names of findings and digests in checkpoints and reports rest on the results: they never
 * change. */
#ifndef HARNESS_BASE_HASH_H
#define HARNESS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash of nothing, from which a hash begins, and what each byte multiplies it with (Fowler,
 * Noll and Vo: the offset basis and the prime of 64 bits). */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* The hash of what has gone into `hash` followed by length bytes.  O(length). */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * HASH_PRIME;
    }
    return hash;
}

/* Adds a text in the same way, without its ending zero byte. */
static inline uint64_t hash_string(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

/* A word in one step in place of eight, for what is hashed often: another result than hash_bytes.
 * The product moves bits up only; the shift brings them down again. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_PRIME;
    return hash ^ hash >> 29;
}

#endif
