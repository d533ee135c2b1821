/* How many of its cases of chance a test draws: all where the environment variable HBMSTRESS_TESTS
 * is "full", as it is at night, otherwise a twelfth. */
#ifndef TESTS_HELPERS_DRAWS_H
#define TESTS_HELPERS_DRAWS_H

#include <stdint.h>

/* One case of so many is drawn: 1 in a full run, otherwise 12.  Fails the test when the variable is
 * neither "full" nor empty, because a typing error must not shorten the night. */
uint64_t draws_period(void);

/* So many of count cases are drawn, the first ones: all in a full run, otherwise a twelfth, rounded
 * down, but at least count_min (1..count).  Fails the test as draws_period does. */
uint64_t draws_count(uint64_t count, uint64_t count_min);

#endif
