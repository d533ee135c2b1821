/* A seed for a hash table in which somebody has made keys meet: one that nobody can have known. */
#ifndef FORMATS_COMMON_HASH_SEED_H
#define FORMATS_COMMON_HASH_SEED_H

#include <stdint.h>

/* Drawn by the system, and another one each time.  What is in a table and in which order never
 * depends on it, only how long it takes to be found. */
uint64_t hash_seed_draw(void);

#endif
