/* The error text of an out-of-memory, held against the XLA:TPU grammar and the model's numbers. */
#ifndef HARNESS_RULES_PRIVATE_MESSAGE_H
#define HARNESS_RULES_PRIVATE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the text must say. */
struct message_expected {
    bool is_program;
    uint64_t requested_bytes; /* of the block; 0 = only the stack can have failed */
    uint64_t stack_bytes;     /* of a program, as asked */
    uint64_t free_bytes, reserved_bytes;
    uint64_t reservable_low_bytes, reservable_high_bytes;
    uint64_t largest_hole_bytes;
    bool has_fragmentation; /* nothing ever moves and the free bytes would do: the text must say so
                             */
    /* Any size will do there: the contract does not say how much it is. */
    bool is_free_open, is_reserved_open, is_reservable_open, is_hole_open;
};

/* True when the text follows the grammar and each number that is not open prints as the model's.
 * Else reason says what is wrong, and *lacking which part it is, without its numbers. */
bool message_is_right(const char *text, const struct message_expected *expected,
                      const char **lacking, char *reason, size_t reason_bytes);

#endif
