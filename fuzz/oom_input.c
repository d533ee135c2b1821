#include "fuzz/oom_input.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* --- the header ---------------------------------------------------------------------------------
 *
 *   0      defrag (bits 0-1), does not drain (2), does not evict (3), program_evicts_program (4),
 *          all of bits 5-7: nothing moves, no programs, and what is freed is kept
 *   1      calls that were refused (bits 0-3), granule as a power of two (4-7)
 *   2-3    capacity in granules
 *   4      request: class (bit 0), its program: none, one of the blocks, or an evicted one (1-2),
 *          align (3-4), a byte less than its granules (5), larger than the device (6)
 *   5-6    its size in granules
 *   7      its stack in granules
 *   8      what is free below all blocks, in granules
 *   9      which program it executes
 *
 * and a block:
 *
 *   0      gap below it in granules (bits 0-2), align (3-4), holds (5-7: few of the values are any)
 *   1      its size in granules, less one (bits 0-5), of the op of the block before it (6)
 *   2      kind (bits 0-1), freed (2), used until (3-5)
 *   3      freed at (bits 0-2), stack in granules (3-7) */

enum {
    TIME_MASK = 7,
    TIME_NEVER = 7,
    GRANULE_LOG2_COUNT = 10,
    CAPACITY_GRANULES_MIN = 4,
    SIZE_GRANULES = 64,
    SAME_OP = 64,
    KEEPS = 7
};
enum { OP_STEP = 3 }; /* ops that made blocks have any others between them */

struct byte_reader {
    const uint8_t *at;
    size_t left;
    bool keeps;
};

static unsigned read_byte(struct byte_reader *reader)
{
    if (reader->left == 0) {
        return 0;
    }
    reader->left--;
    return *reader->at++;
}

static unsigned read_two(struct byte_reader *reader)
{
    const unsigned low = read_byte(reader);
    return low | read_byte(reader) << 8;
}

static uint64_t read_time(unsigned bits)
{
    return (bits & TIME_MASK) == TIME_NEVER ? DELAY_NEVER : bits & TIME_MASK;
}

/* 0 and 3 ask for no more than the granule. */
static uint64_t read_align(unsigned bits, uint64_t granule)
{
    return granule << ((bits & 3) == 3 ? 0 : bits & 3);
}

static void reserve_blocks(struct oom *oom)
{
    if (oom->block_capacity < OOM_INPUT_BLOCKS_MAX) {
        oom->blocks = realloc(oom->blocks, OOM_INPUT_BLOCKS_MAX * sizeof *oom->blocks);
        CHECK(oom->blocks != NULL);
        oom->block_capacity = OOM_INPUT_BLOCKS_MAX;
    }
}

static void read_contract(struct byte_reader *reader, struct oom *oom)
{
    const unsigned contract = read_byte(reader);
    const unsigned refused = read_byte(reader);
    reader->keeps = contract >> 5 == KEEPS;
    oom->defrag = reader->keeps         ? DEFRAG_NONE
                  : (contract & 3) == 3 ? DEFRAG_REPACK
                                        : (enum defrag_contract)(contract & 3);
    oom->drains = (contract & 4) == 0;
    oom->evicts = (contract & 8) == 0;
    oom->program_evicts_program = (contract & 16) != 0;
    oom->faults_fired = refused & ((1u << FAULT_CALL_COUNT) - 1);
    oom->granule_bytes = UINT64_C(1) << (refused >> 4) % GRANULE_LOG2_COUNT;
    const unsigned more = read_two(reader) % (OOM_INPUT_GRANULES_MAX - CAPACITY_GRANULES_MIN + 1);
    oom->capacity_bytes = (CAPACITY_GRANULES_MIN + more) * oom->granule_bytes;
}

/* Unloaded programs wait for their executions alone, and nobody holds a program.  Those that
 * execute have their stack below all blocks. */
static void fit_program(struct oom_block *block, uint64_t stack_bytes, uint64_t bottom_bytes)
{
    block->hold_count = 0;
    block->state = block->used_until_ns == 0 ? BLOCK_LIVE : block->state;
    block->freed_at_ns = block->state == BLOCK_DYING ? block->used_until_ns : 0;
    block->stack_bytes = block->used_until_ns > 0 && stack_bytes > bottom_bytes ? bottom_bytes
                                                                                : stack_bytes;
}

/* Makes the block one that a run could show. */
static void fit_state(struct oom_block *block, uint64_t stack_bytes, uint64_t bottom_bytes)
{
    if (block->kind == BLOCK_PROGRAM) {
        fit_program(block, stack_bytes, bottom_bytes);
        return;
    }
    if (block->kind == BLOCK_RETIRED) {
        block->state = BLOCK_LIVE;
        block->hold_count = 1;
        block->used_until_ns = block->freed_at_ns = 0;
    } else if (block->state == BLOCK_LIVE) {
        block->freed_at_ns = 0;
    } else if (block->freed_at_ns < block->used_until_ns ||
               (block->freed_at_ns == 0 && block->hold_count == 0)) {
        /* Uses are among what it waits for, and it waits for something. */
        block->freed_at_ns = block->used_until_ns > 0 ? block->used_until_ns : 1;
    }
}

/* A piece of memory that is kept, perhaps of the same op as the one below it. */
static void fit_kept(struct oom *oom, struct oom_block *piece, bool is_of_same_op)
{
    const struct oom_block *below = oom->block_count > 0 ? &oom->blocks[oom->block_count - 1]
                                                         : NULL;
    piece->is_kept = true;
    piece->used_until_ns = 0;
    piece->hold_count = piece->hold_count > 0;
    piece->freed_at_ns = piece->freed_at_ns == 0 && piece->hold_count == 0 ? 1 : piece->freed_at_ns;
    if (is_of_same_op && below != NULL && below->is_kept &&
        below->address + below->size_bytes < piece->address) {
        piece->op = below->op;
        piece->hold_count = below->hold_count;
        piece->freed_at_ns = below->freed_at_ns;
    }
}

/* False: it has no room above *at. */
static bool read_block(struct byte_reader *reader, struct oom *oom, uint64_t bottom_bytes,
                       uint64_t *at)
{
    const unsigned place = read_byte(reader);
    const unsigned size = read_byte(reader);
    const unsigned state = read_byte(reader);
    const unsigned times = read_byte(reader);
    const uint64_t granule = oom->granule_bytes;
    struct oom_block block = {
        .size_bytes = (1 + size % SIZE_GRANULES) * granule,
        .align_bytes = reader->keeps || (state & 3) == BLOCK_PROGRAM
                           ? granule
                           : read_align(place >> 3, granule),
        .used_until_ns = read_time(state >> 3),
        .freed_at_ns = read_time(times),
        .op = (uint32_t)oom->block_count * OP_STEP + 1,
        .hold_count = place >> 5 == 1 || place >> 5 == 2 ? place >> 5 : 0,
        .kind = (uint8_t)(state & (reader->keeps ? BLOCK_OUTPUT : 3)),
        .state = (state & 4) != 0 ? BLOCK_DYING : BLOCK_LIVE,
    };
    block.address = align_up(*at + (place & 7) * granule, block.align_bytes);
    if (block.address >= oom->capacity_bytes ||
        block.size_bytes > oom->capacity_bytes - block.address) {
        return false;
    }
    if (reader->keeps && block.state == BLOCK_DYING) {
        fit_kept(oom, &block, (size & SAME_OP) != 0);
    } else {
        fit_state(&block, (times >> 3) * granule, bottom_bytes);
    }
    *at = block.address + block.size_bytes;
    oom->blocks[oom->block_count++] = block;
    return true;
}

/* The program that is executed is one of the live ones, or none of the blocks; a loaded one needs
 * its stack alone. */
static void read_own_program(unsigned how, unsigned which, struct oom *oom)
{
    const uint32_t evicted_op = OOM_INPUT_BLOCKS_MAX * OP_STEP + 1;
    if (how == 2) {
        oom->request.own_op = evicted_op;
    }
    for (size_t i = 0; i < oom->block_count && how == 1; i++) {
        const struct oom_block *block = &oom->blocks[(which + i) % oom->block_count];
        if (block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE) {
            oom->request.own_op = block->op;
            oom->request.size_bytes = 0;
            oom->request.stack_bytes = block->stack_bytes;
            return;
        }
    }
}

void oom_decode(const uint8_t *bytes, size_t length, struct oom *oom)
{
    struct byte_reader reader = {bytes, length, false};
    reserve_blocks(oom);
    read_contract(&reader, oom);
    const uint64_t granule = oom->granule_bytes;
    const uint64_t granules = oom->capacity_bytes / granule;
    const unsigned request = read_byte(&reader) & (reader.keeps ? ~1u : ~0u);
    const uint64_t size = (1 + read_two(&reader) % (granules + 2)) * granule;
    const uint64_t less = (request & 32) != 0 && granule > 1 ? 1 : 0;
    const uint64_t more = (request & 64) != 0 ? oom->capacity_bytes : 0;
    const uint64_t stack = read_byte(&reader) % (granules / 2 + 1) * granule;
    const uint64_t bottom = read_byte(&reader) % (granules / 3 + 1) * granule;
    const unsigned which = read_byte(&reader);
    uint64_t at = bottom;
    oom->block_count = 0;
    while (reader.left > 0 && oom->block_count < OOM_INPUT_BLOCKS_MAX &&
           read_block(&reader, oom, bottom, &at)) {
    }
    oom->request = (struct oom_request){
        .class = (request & 1) != 0 ? REQUEST_PROGRAM : REQUEST_BUFFER,
        .size_bytes = size - less + more,
        .align_bytes = (request & 1) != 0 ? granule : read_align(request >> 3, granule),
        .stack_bytes = (request & 1) != 0 ? stack : 0,
        .own_op = OP_NONE,
    };
    if (oom->request.class == REQUEST_PROGRAM) {
        read_own_program(request >> 1 & 3, which, oom);
    }
}
