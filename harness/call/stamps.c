#include "harness/call/stamps.h"

#include "harness/base/hash.h"

#include <string.h>

enum { STAMP_BYTES = 16 };

/* Bytes [at, at + count) of a block. */
struct piece {
    uint64_t at;
    size_t count;
};

bool stamps_apply(const struct host *host)
{
    return host->contract.placement != PLACEMENT_RANGES && host->target->read != NULL &&
           host->target->write != NULL;
}

/* The first bytes and the last ones; the second may be empty. */
static void find_pieces(const struct block *block, struct piece pieces[2])
{
    const uint64_t bytes = block->requested_bytes;
    const size_t first = bytes < STAMP_BYTES ? (size_t)bytes : STAMP_BYTES;
    const uint64_t rest = bytes - first;
    const size_t last = rest < STAMP_BYTES ? (size_t)rest : STAMP_BYTES;
    pieces[0] = (struct piece){0, first};
    pieces[1] = (struct piece){bytes - last, last};
}

/* Names the block and the place in it. */
static void make_stamp(const struct block *block, const struct piece *piece,
                       unsigned char bytes[STAMP_BYTES])
{
    uint64_t words[STAMP_BYTES / sizeof(uint64_t)];
    words[0] = hash_word(hash_word(HASH_START, block->op), piece->at);
    words[1] = hash_word(words[0], block->requested_bytes);
    memcpy(bytes, words, STAMP_BYTES);
}

static bool write_piece(const struct host *host, const struct block *block,
                        const struct piece *piece)
{
    unsigned char stamp[STAMP_BYTES];
    make_stamp(block, piece, stamp);
    return host->target->write(host->instance, block->handle, piece->at, stamp, piece->count) ==
           TARGET_OK;
}

static bool has_piece(const struct host *host, const struct block *block, const struct piece *piece)
{
    unsigned char stamp[STAMP_BYTES], found[STAMP_BYTES] = {0};
    make_stamp(block, piece, stamp);
    return host->target->read(host->instance, block->handle, piece->at, found, piece->count) ==
               TARGET_OK &&
           memcmp(found, stamp, piece->count) == 0;
}

static bool do_pieces(const struct host *host, uint32_t slot,
                      bool (*piece_is_good)(const struct host *host, const struct block *block,
                                            const struct piece *piece))
{
    const struct block *block = model_block(host->model, slot);
    struct piece pieces[2];
    bool is_good = true;
    if (!stamps_apply(host) || block->kind == BLOCK_PROGRAM || !block->is_known) {
        return true;
    }
    find_pieces(block, pieces);
    for (int i = 0; i < 2 && is_good; i++) {
        is_good = pieces[i].count == 0 || piece_is_good(host, block, &pieces[i]);
    }
    return is_good;
}

bool stamps_write(const struct host *host, uint32_t slot)
{
    return do_pieces(host, slot, write_piece);
}

bool stamps_are_there(const struct host *host, uint32_t slot)
{
    return do_pieces(host, slot, has_piece);
}
