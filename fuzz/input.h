/* The one decoder: the bytes of a fuzz input as a setup, a list of ops and the choices of a
 * schedule, and back.
 *
 * Every input is legal: where bytes are missing they count as zero, and what a field cannot say is
 * folded into what it can.  What input_encode() wrote keeps its meaning: byte 0 is the version
 * of the form, and kinds of op, fits, faults and chips are only ever appended
 * (docs/fuzzing-reference.md). */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "harness/generate/faulting.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    INPUT_VERSION = 1,
    INPUT_HEADER_BYTES = 32,
    INPUT_RECORD_BYTES = 16,   /* of hosts, behind the header */
    INPUT_SHORT_BYTES = 8,     /* an op in its short form, */
    INPUT_WIDE_BYTES = 40,     /* in its wide form, which can say everything */
    INPUT_LANE_COUNT_MAX = 16, /* as many as can be run */
    INPUT_HOST_COUNT_MAX = 64,
    INPUT_OP_COUNT_MAX = 100000, /* what is behind is not read */
    INPUT_CHOICE_COUNT_MAX = UINT16_MAX,
    INPUT_CAPACITY_GRANULES_DEFAULT = 256, /* where the header says 0 and no chip */
};
/* The granule in which the capacity counts when the header names none: that of libhbm. */
#define INPUT_GRANULE_BYTES UINT64_C(512)

/* An input as its parts.  ops is owned: input_init, input_deinit. */
struct input {
    /* Chip or capacity, granule, hosts, seed, and these options where they are set: defrag, order,
     * drains, evicts, program_evicts_program, message_code; and of the hosts their groups, the
     * bound, a time of their own, clocks (one lane alone).  The target and everything else, names
     * of groups too, are not the input's to say: as setup_init() leaves them, and by number. */
    struct setup setup;
    struct fault_options faults; /* slipped in between the ops, from the seed */
    /* to which the ops are dealt where lanes are run: 1..INPUT_LANE_COUNT_MAX */
    uint8_t lane_count;
    struct op_list ops; /* references and sizes may be relative; lanes and hosts in range */
    uint8_t *choices;   /* choice_count of them: each decides a step of the schedule */
    size_t choice_count, choice_capacity;
};
void input_init(struct input *input);
void input_deinit(struct input *input);
void input_copy(struct input *to, const struct input *from); /* both initialised */
/* Makes room for count choices and sets choice_count; what is new is 0. */
void input_set_choice_count(struct input *input, size_t count);

/* Sets the number of hosts, 1..64; groups and clocks become what the same bytes say of so many. */
void input_set_host_count(struct input *input, uint32_t host_count);
/* For callers that changed groups, clocks or the bound in input->setup: makes them what bytes say.
 * Groups lose hosts that are not there and are named by number; with lanes there are no clocks. */
void input_settle_hosts(struct input *input);
/* Rows of so many hosts (1..15) as groups and, if asked, columns, in place of all groups. */
void input_set_mesh(struct input *input, unsigned width, bool has_columns);
/* Gives all hosts one time, as an input that runs in lanes needs it. */
void input_share_time(struct input *input);
/* No groups, one time, the default bound. */
void input_forget_hosts(struct input *input);

/* Any bytes at all.  input is initialised, and replaced; it keeps its memory.  O(length). */
void input_decode(const uint8_t *bytes, size_t length, struct input *input);

/* Bytes from which input_decode() makes the same input again.  Returns how many are needed; those
 * below capacity are written, so 0 asks for the number alone. */
size_t input_encode(const struct input *input, uint8_t *bytes, size_t capacity);
/* Returns the bytes before the ops: INPUT_HEADER_BYTES, or more where hosts need records. */
size_t input_head_bytes(const struct input *input);
/* Returns how many bytes the op takes in that input. */
size_t input_op_bytes(const struct input *input, const struct op *op);

/* Takes a setup and a list from elsewhere, as an .ops file has them.  ops are the same, those of
 * lanes that an input does not have excepted; of the setup what an input can say is kept.  False:
 * capacity, granule or an op cannot be said, and *input is unspecified. */
bool input_from_ops(const struct setup *setup, const struct op_list *ops, struct input *input);

#endif
