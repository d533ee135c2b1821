/* The device of a run whose log does not say all of it: limits, granule and capacity. */
#ifndef FORMATS_COMMON_CAPACITY_H
#define FORMATS_COMMON_CAPACITY_H

#include "formats/common/import.h"

#define CAPACITY_BYTES_MAX ((uint64_t)1 << 50) /* what a setup can hold as capacity */

/* What `hbm` uses when nobody says otherwise: the heap quantum seen in public counters of v4 and
 * v5e. */
enum { GRANULE_BYTES_DEFAULT = 512 };

/* The largest power of two up to GRANULE_BYTES_DEFAULT that divides all sizes; size_bits: these,
 * or-ed. */
uint64_t capacity_granule(uint64_t size_bits);

/* Chooses what is not fixed, and adds a note where the capacity is assumed or too small.
 * size_bits: all sizes, or-ed.  peak_bytes: the most that is live at a time, each size rounded up
 * to the granule where it is fixed.  IMPORT_INVALID: there is no such device.
 *
 * - The granule, unless it is fixed or in import->setup: capacity_granule().
 * - The capacity, unless it is fixed or in import->setup: the peak.  Nothing is to spare then, so
 * that target option defrag=repack is suggested. */
enum import_result capacity_choose(const struct import_input *input, uint64_t size_bits,
                                   uint64_t peak_bytes, struct import *import,
                                   struct import_error *error);

#endif
