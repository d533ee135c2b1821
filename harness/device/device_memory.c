#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/device/private/device_state.h"

/* --- what it holds --- */

void device_stamp(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    if (bytes > 0 && is_in_range(device, address, bytes)) {
        contents_stamp(&device->contents, address, bytes, owner);
    }
}

bool device_holds(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    return contents_hold(&device->contents, address, bytes, owner);
}

/* --- what its stages hold --- */

/* True if the piece is the owner's bytes [0, bytes), in order and without a gap. */
static bool piece_holds(const struct contents_piece *piece, uint32_t owner, uint64_t bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < piece->count && at < bytes; i++) {
        const struct span *span = &piece->spans[i];
        if (span->owner != owner || span->start != at || span->offset != at) {
            return false;
        }
        at = span->end;
    }
    return at >= bytes;
}

bool device_has_staged(const struct device *device, uint32_t owner, uint64_t bytes)
{
    for (size_t i = 0; i < device->stage_count; i++) {
        if (device->stages[i].id != 0 && piece_holds(&device->stages[i].piece, owner, bytes)) {
            return true;
        }
    }
    return false;
}

bool device_has_stage(const struct device *device, uint64_t stage, uint32_t *owner)
{
    for (size_t i = 0; stage != 0 && i < device->stage_count; i++) {
        const struct stage *at = &device->stages[i];
        if (at->id == stage) {
            *owner = at->piece.count == 0 ? UINT32_MAX : (uint32_t)at->piece.spans[0].owner;
            return true;
        }
    }
    return false;
}

void device_stamp_stage(struct device *device, uint64_t stage, uint64_t bytes, uint32_t owner)
{
    CHECK(owner != UINT32_MAX);
    struct stage *staged = stage_of(device, stage);
    if (staged != NULL) {
        struct contents_piece *piece = &staged->piece;
        piece->spans = array_resized(piece->spans, sizeof *piece->spans);
        CHECK(piece->spans != NULL);
        piece->spans[0] = (struct span){.end = bytes, .owner = owner};
        piece->count = 1;
    }
}

size_t device_stage_count(const struct device *device)
{
    return device->stage_count_live;
}

static SELDOM void piece_scrub(struct contents_piece *piece, uint32_t owner)
{
    CHECK(piece->spans != NULL || piece->count == 0);
    size_t count_left = 0;
    for (size_t i = 0; i < piece->count; i++) {
        if (piece->spans[i].owner != owner) {
            piece->spans[count_left++] = piece->spans[i];
        }
    }
    CHECK(count_left <= piece->count);
    piece->count = count_left;
}

/* --- both --- */

void device_scrub(struct device *device, uint32_t owner)
{
    contents_scrub(&device->contents, owner);
    for (size_t i = 0; i < device->stage_count; i++) {
        piece_scrub(&device->stages[i].piece, owner);
    }
}

void device_settle(struct device *device)
{
    CHECK(device->begun.done_bytes <= device->begun.call.bytes);
    contents_settle(&device->contents);
    CHECK(!device->contents.is_detailed);
    device->begun
        .done_bytes = 0; /* what had arrived is forgotten, too: the same call brings all of it */
}

void device_settle_moved(struct device *device)
{
    EACH_DEVICE_CALL(device, made) {
        const enum device_call_kind kind = made->kind;
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_OUT) {
            contents_erase(&device->contents, made->from, made->from + made->bytes);
        }
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_IN) {
            contents_erase(&device->contents, made->to, made->to + made->bytes);
        }
    }
    contents_keep(&device->contents);
    device->begun.done_bytes = 0;
}
