/* The parts of an input's bytes: its header and its ops.  Only fuzz/input*.c include it. */
#ifndef FUZZ_PRIVATE_INPUT_PARTS_H
#define FUZZ_PRIVATE_INPUT_PARTS_H

#include "fuzz/input.h"

static inline uint64_t read_number(const uint8_t *bytes, unsigned count)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < count; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

static inline void write_number(uint8_t *bytes, unsigned count, uint64_t number)
{
    for (unsigned i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

/* Returns the unit in which capacities and sizes count. */
static inline uint64_t unit_bytes(const struct setup *setup)
{
    return setup->granule_bytes == 0 ? INPUT_GRANULE_BYTES : setup->granule_bytes;
}

/* An input describes its hosts in the last bytes of its header, and in records behind it. */
enum { INPUT_HOSTS_BYTES = 5, INPUT_RECORD_COUNT_MAX = UINT8_MAX };
struct host_bytes {
    uint8_t header[INPUT_HOSTS_BYTES];
    uint8_t records[INPUT_RECORD_COUNT_MAX][INPUT_RECORD_BYTES];
};
/* Returns how many records follow a header that ends so. */
unsigned hosts_record_count(const uint8_t header[INPUT_HOSTS_BYTES]);
/* Groups, clocks and the bound of setup->host_count hosts; with lanes all have one time.  Decoding
 * reads as many records as the header says. */
void hosts_decode(const struct host_bytes *bytes, bool has_lanes, struct setup *setup);
void hosts_encode(const struct setup *setup, struct host_bytes *bytes);

/* Everything but the number of choices, which is in bytes 24 and 25, and the hosts. */
enum { INPUT_HOSTS_AT = INPUT_HEADER_BYTES - INPUT_HOSTS_BYTES };
void header_decode(const uint8_t header[INPUT_HEADER_BYTES], struct input *input);
void header_encode(const struct input *input, uint8_t header[INPUT_HEADER_BYTES]);
/* Takes from a setup what a header can say; the options that it cannot say are left out.  False:
 * the capacity or the granule is not among it. */
bool header_take_setup(const struct setup *from, struct setup *to);

/* The op that begins at bytes, of which length (at least 1) are there; returns how many of them it
 * took. */
size_t op_decode(const struct input *input, const uint8_t *bytes, size_t length, struct op *op);
/* Clears what the kind does not have, so that equal ops are equal bytes. */
void op_fold(const struct setup *setup, uint8_t lane_count, struct op *op);
/* Returns how many bytes the op took. */
size_t op_encode(const struct input *input, const struct op *op, uint8_t bytes[INPUT_WIDE_BYTES]);

#endif
