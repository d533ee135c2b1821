/* The host memory that a target gets: each byte that it writes beyond a piece is noticed, and how
 * much it may hold. */
#include "harness/device/host_memory.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

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

/* --- how much --- */

static size_t wanted_bytes;
static void *held;

static void take_memory(void)
{
    held = script.device[0]->host_alloc(script.device[0]->context, wanted_bytes);
    ck_assert_ptr_nonnull(held);
}

static void release_memory(void)
{
    script.device[0]->host_free(script.device[0]->context, held, wanted_bytes);
}

/* 1 MiB, and 4 KiB each for what the rows have made. */
TEST(blocks_events_and_programs_raise_what_may_be_held)
{
    const struct {
        int buffers, programs, events;
    } rows[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {2, 2, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t too_many = 0; too_many < 2; too_many++) {
            start();
            for (int k = 0; k < rows[i].buffers; k++) {
                KEEPS(alloc_at((uint64_t)k, 1));
            }
            for (int k = 0; k < rows[i].programs; k++) {
                KEEPS(load_at(8 + (uint64_t)k, 1, 0));
            }
            for (int k = 0; k < rows[i].events; k++) {
                KEEPS(on_for(OP_USE, 0, 1000));
            }
            /* An image is a block as well. */
            const int items = rows[i].buffers + 2 * rows[i].programs + rows[i].events;
            wanted_bytes = ((size_t)1 << 20) + 4096 * (size_t)items + too_many;
            script.act = take_memory;
            const struct verdict *verdict = step(op_make(OP_DEFRAGMENT));
            ck_assert_msg(verdict->rule == (too_many != 0 ? RULE_HOST_MEMORY : RULE_NONE),
                          "row %zu: %s", i, verdict->reason);
            release_memory();
            stop();
        }
    }
}

/* --- the end --- */

static unsigned char *piece;
static void take_piece(void)
{
    piece = script.device[0]->host_alloc(script.device[0]->context, PIECE_BYTES);
    ck_assert_ptr_nonnull(piece);
}

/* What was written beyond a piece is looked at when the target is closed, at the latest. */
TEST(a_byte_beyond_a_piece_is_noticed_at_the_end)
{
    for (int is_beyond = 0; is_beyond < 2; is_beyond++) {
        start();
        script.act = take_piece;
        KEEPS(step(op_make(OP_DEFRAGMENT)));
        piece[is_beyond != 0 ? PIECE_BYTES : PIECE_BYTES - 1] ^= 1;
        const struct verdict *verdict = run_finish(script.run);
        BREAKS(verdict, is_beyond != 0 ? RULE_OVERRUN : RULE_HOST_MEMORY);
        ck_assert_str_eq(verdict->mechanism, "close");
        if (is_beyond == 0) {
            ck_assert_str_eq(verdict->reason, "24 bytes of host memory were not released");
        }
        stop();
    }
}
