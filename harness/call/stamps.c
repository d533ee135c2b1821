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

static const struct block *find_stamped(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    return stamps_apply(host) && block->kind != BLOCK_PROGRAM && block->is_known ? block : NULL;
}

bool stamps_write(const struct host *host, uint32_t slot)
{
    const struct block *block = find_stamped(host, slot);
    bool is_good = true;
    struct piece pieces[2];
    if (block == NULL) {
        return true;
    }
    find_pieces(block, pieces);
    for (int i = 0; i < 2 && is_good; i++) {
        unsigned char stamp[STAMP_BYTES];
        make_stamp(block, &pieces[i], stamp);
        is_good = pieces[i].count == 0 ||
                  host->target->write(host->instance, block->handle, pieces[i].at, stamp,
                                      pieces[i].count) == TARGET_OK;
    }
    return is_good;
}

bool stamps_are_there(const struct host *host, uint32_t slot)
{
    const struct block *block = find_stamped(host, slot);
    bool is_good = true;
    struct piece pieces[2];
    if (block == NULL) {
        return true;
    }
    find_pieces(block, pieces);
    for (int i = 0; i < 2 && is_good; i++) {
        unsigned char stamp[STAMP_BYTES], found[STAMP_BYTES] = {0};
        make_stamp(block, &pieces[i], stamp);
        is_good = pieces[i].count == 0 ||
                  (host->target->read(host->instance, block->handle, pieces[i].at, found,
                                      pieces[i].count) == TARGET_OK &&
                   memcmp(found, stamp, pieces[i].count) == 0);
    }
    return is_good;
}
