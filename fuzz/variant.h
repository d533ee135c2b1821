/* One allocator with its options as a part of a comparison: plays a list of ops and notes how each
 * was answered, and in which state it was asked. */
#ifndef FUZZ_VARIANT_H
#define FUZZ_VARIANT_H

#include "fuzz/player.h"
#include "harness/oracle/oom.h"

/* The outcome of one op. */
struct variant_note {
    uint32_t result; /* enum target_result */
    bool is_skipped;
    uint64_t size_bytes; /* of the block */
    uint64_t now_ns;     /* after it, as what follows */
    uint64_t pending;    /* digest of the events that are not done */
    uint64_t in_use_bytes, reserved_bytes;
    uint64_t unload_count; /* during it */
    uint64_t state; /* digest of the blocks before it; only where the op is a request, else 0 */
};

struct variant {
    const char *fuzz_target; /* for findings */
    const struct target *target;
    const char *target_name;    /* as a command line has it */
    const char *defrag;         /* the option; NULL = the target gets no options at all */
    struct op_player *player;   /* NULL before the first list */
    struct setup setup;         /* of the last list */
    const struct op_list *ops;  /* that is played */
    struct variant_note *notes; /* note_count of them, one for each op */
    size_t note_count, note_capacity;
    uint64_t state; /* before the next op */
};

/* alloc, output, load, execute: what an out-of-memory may answer. */
bool variant_op_is_request(const struct op *op);

/* Plays the input with the variant's options and notes each op.  An input that breaks a promise,
 * and a verdict on which trying everything (harness/oracle/exhaustive.h) disagrees, end the
 * process. NULL: the target refuses the setup. */
const struct run *variant_play(struct variant *variant, const struct input *input);

/* Plays the first count ops again, and takes the blocks and the contract of the host then.
 * oom->request is empty. Returns the virtual time. */
uint64_t variant_state(struct variant *variant, struct input *input, size_t count, uint8_t host,
                       struct oom *oom);

#endif
