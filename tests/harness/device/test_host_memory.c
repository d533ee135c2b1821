/* The host memory that a target gets: each byte that it writes beyond a piece is noticed, and how
 * much it may hold is in tests/cases/rules/host_memory.case. */
#include "harness/device/host_memory.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stddef.h>

enum { MARGIN_BYTES = 16, PIECE_BYTES = 24 };

/* Writes the byte at `offset` of a piece, and lets the memory be looked at, or the piece freed. */
static bool is_noticed(ptrdiff_t offset, bool is_freed)
{
    struct host_memory memory;
    host_memory_init(&memory);
    unsigned char *piece = host_memory_alloc(&memory, PIECE_BYTES);
    ck_assert_ptr_nonnull(piece);
    piece[offset] ^= 1;
    if (is_freed) {
        host_memory_free(&memory, piece, PIECE_BYTES);
    } else {
        host_memory_check(&memory);
    }
    const bool is_fault = memory.fault[0] != '\0';
    host_memory_deinit(&memory);
    return is_fault;
}

/* Behind a guarded piece there are bytes of its own only up to the alignment. */
TEST(each_byte_of_both_margins_is_looked_at)
{
    for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
        const ptrdiff_t behind = is_guarded != 0 ? MARGIN_BYTES - PIECE_BYTES % MARGIN_BYTES
                                                 : MARGIN_BYTES;
        host_memory_guard(is_guarded != 0);
        for (int is_freed = 0; is_freed < 2; is_freed++) {
            for (ptrdiff_t i = -MARGIN_BYTES; i < PIECE_BYTES + behind; i++) {
                ck_assert_msg(is_noticed(i, is_freed != 0) == (i < 0 || i >= PIECE_BYTES),
                              "byte %td, %s", i, is_guarded != 0 ? "guarded" : "plain");
            }
        }
    }
    host_memory_guard(false);
}
