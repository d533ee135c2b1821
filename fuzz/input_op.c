#include "fuzz/private/input_parts.h"

#include "harness/base/search.h"
#include "harness/op/fit.h"

#include <string.h>

/* --- numbers of the short form --- */

/* A size in 16 bits: below 2^15 granules; above that 11 bits of bytes, shifted by an even number of
 * bits.  What is too large for the device is cut to a few granules more than it has, so that any
 * bytes ask for something. */
enum { SIZE_IN_BYTES = 0x8000, SIZE_MANTISSA = 0x7FF, SIZE_SHIFT_AT = 11, GRANULES_BEYOND = 4 };

static uint64_t decode_size(const struct setup *setup, uint64_t code)
{
    if ((code & SIZE_IN_BYTES) != 0) {
        return (code & SIZE_MANTISSA) << 2 * (code >> SIZE_SHIFT_AT & 15);
    }
    const uint64_t unit = unit_bytes(setup);
    return code % (setup->capacity_bytes / unit + GRANULES_BEYOND) * unit;
}

/* Some code of the size; not of every size is there one. */
static uint64_t encode_size(const struct setup *setup, uint64_t size_bytes)
{
    const uint64_t unit = unit_bytes(setup);
    if (size_bytes % unit == 0 && size_bytes / unit < SIZE_IN_BYTES &&
        size_bytes / unit < setup->capacity_bytes / unit + GRANULES_BEYOND) {
        return size_bytes / unit;
    }
    uint64_t shift = 0;
    while (size_bytes > SIZE_MANTISSA && shift < 15) {
        size_bytes >>= 2;
        shift++;
    }
    return SIZE_IN_BYTES | shift << SIZE_SHIFT_AT | (size_bytes & SIZE_MANTISSA);
}

/* A fit in 16 bits: kind in 3, index in 8, granules more in 5, as -16..15. */
static uint64_t decode_fit(uint64_t code)
{
    const struct fit fit = {.kind = (uint8_t)((code & 7) % FIT_KIND_COUNT),
                            .index = (uint32_t)(code >> 3 & 0xFF),
                            .granules = (int32_t)(code >> 11 ^ 16) - 16};
    return fit_pack(&(struct fit){.kind = fit.kind,
                                  .index = fit_has_index((enum fit_kind)fit.kind) ? fit.index : 0,
                                  .granules = fit.granules});
}

static uint64_t encode_fit(uint64_t packed)
{
    const struct fit fit = fit_unpack(packed);
    return fit.kind | (uint64_t)(fit.index & 0xFF) << 3 |
           (uint64_t)((uint32_t)fit.granules & 31) << 11;
}

/* A delay in 8 bits: nothing, never, or 1, 2 or 5 times a power of ten. */
#define DELAYS_FROM(power) (power), 2 * (power), 5 * (power)
static const uint64_t delays_ns[] = {
    0,
    DELAY_NEVER,
    DELAYS_FROM(UINT64_C(1)),
    DELAYS_FROM(UINT64_C(10)),
    DELAYS_FROM(UINT64_C(100)),
    DELAYS_FROM(UINT64_C(1000)),
    DELAYS_FROM(UINT64_C(10000)),
    DELAYS_FROM(UINT64_C(100000)),
    DELAYS_FROM(UINT64_C(1000000)),
    DELAYS_FROM(UINT64_C(10000000)),
    DELAYS_FROM(UINT64_C(100000000)),
    DELAYS_FROM(UINT64_C(1000000000)),
    DELAYS_FROM(UINT64_C(10000000000)),
    DELAYS_FROM(UINT64_C(100000000000)),
    DELAYS_FROM(UINT64_C(1000000000000)),
};
enum { DELAY_CODES = sizeof delays_ns / sizeof delays_ns[0] };
static_assert((int)DELAY_CODES == 41, "the form of an input is stable");

static uint64_t decode_delay(uint64_t code)
{
    return delays_ns[code % DELAY_CODES];
}

/* Some code; not of every delay is there one. */
static uint64_t encode_delay(uint64_t delay_ns)
{
    if (delay_ns == 0 || delay_ns == DELAY_NEVER) {
        return delay_ns == 0 ? 0 : 1;
    }
    uint64_t first; /* from 2 on they ascend */
    SEARCH_FIRST(first, 2, DELAY_CODES - 1, delays_ns[first] >= delay_ns);
    return first;
}

/* --- ops ----------------------------------------------------------------------------------------
 *
 * The short form: kind, then flag bits (named or for ever, fitted), lane and host, two numbers of
 * 16 bits, two of 8. The wide form: a byte that is no kind, then every field as it is. */

enum {
    KIND_CODES = OP_KIND_COUNT * (256 / OP_KIND_COUNT), /* byte 0 below it: a kind, modulo */
    WIDE_MARK = 255,
    SHORT_FLAG = 1, /* not OP_RELATIVE; of a fault OP_FOR_EVER */
    SHORT_FITTED = 2,
    SHORT_LANES = 8,
    SHORT_HOSTS = 8,
    ALIGN_FROM = 234, /* most codes are no alignment at all */
};
static_assert((int)KIND_CODES <= (int)WIDE_MARK, "a byte is left that marks the wide form");

static bool is_wide(uint8_t first)
{
    return first >= KIND_CODES;
}

static bool has_reference(const struct op_kind_info *info)
{
    return info->has_block || info->has_program || info->has_recording || info->has_event ||
           info->has_address;
}

/* The flags that an op of the kind may have. */
static uint8_t kept_flags(const struct op *op, const struct op_kind_info *info)
{
    if (op->kind == OP_FAULT || op->kind == OP_SWITCH) {
        return op->kind == OP_FAULT ? OP_FOR_EVER : 0;
    }
    return (uint8_t)(OP_SPMD | (has_reference(info) ? OP_RELATIVE : 0) |
                     (info->can_be_fitted ? OP_FITTED : 0) | (info->can_be_refused ? OP_RETRY : 0) |
                     (info->has_stream ? OP_ON_STREAM : 0) |
                     (op->kind == OP_EXECUTE ? OP_COLLECTIVE : 0));
}

static uint64_t fold_fit(uint64_t packed)
{
    const struct fit fit = fit_unpack(packed);
    return fit_pack(&fit);
}

/* number modulo count; almost always it is smaller, and to divide takes as long as the rest. */
static uint8_t fold_number(uint8_t number, uint32_t count)
{
    if (number < count) {
        return number;
    }
    return (uint8_t)(number % count);
}

void op_fold(const struct setup *setup, uint8_t lane_count, struct op *op)
{
    op->lane = fold_number(op->lane, lane_count);
    op->host = fold_number(op->host, setup->host_count);
    op->flags &= kept_flags(op, op_kind_info(op->kind));
    op->align_log2 = fold_number(op->align_log2, OP_ALIGN_LOG2_MAX + 1);
    if (op->kind == OP_FAULT) {
        op->tag = fold_number(op->tag, FAULT_KIND_COUNT);
    }
    op_clear_unused(op);
    if (op->kind == OP_FAULT || op->kind == OP_SWITCH) {
        op->size_bytes &= UINT32_MAX;
    }
    if (op->kind == OP_SWITCH) {
        op->tag = fold_number(op->tag, OP_LANE_COUNT_MAX);
    }
    if ((op->flags & OP_FITTED) != 0) {
        op->size_bytes = fold_fit(op->size_bytes);
    }
}

static uint64_t decode_short_size(const struct setup *setup, const struct op *op, uint64_t code)
{
    return (op->flags & OP_FITTED) != 0 ? decode_fit(code) : decode_size(setup, code);
}

static void decode_short(const struct setup *setup, const uint8_t bytes[INPUT_SHORT_BYTES],
                         struct op *op)
{
    const uint64_t a = read_number(bytes + 2, 2);
    const uint64_t b = read_number(bytes + 4, 2);
    const uint8_t c = bytes[6];
    const uint8_t d = bytes[7];
    *op = op_make((enum op_kind)(bytes[0] % OP_KIND_COUNT));
    op->flags = (bytes[1] & SHORT_FLAG) == 0 ? OP_RELATIVE : op->kind == OP_FAULT ? OP_FOR_EVER : 0;
    op->flags |= (bytes[1] & SHORT_FITTED) != 0 && op_kind_info(op->kind)->can_be_fitted ? OP_FITTED
                                                                                         : 0;
    op->lane = bytes[1] >> 2 & (SHORT_LANES - 1);
    op->host = bytes[1] >> 5;
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        op->size_bytes = decode_short_size(setup, op, a);
        op->unpadded_bytes = decode_size(setup, b);
        op->tag = c;
        op->align_log2 = d < ALIGN_FROM ? 0 : (uint8_t)((d - ALIGN_FROM) % (OP_ALIGN_LOG2_MAX + 1));
        return;
    case OP_LOAD:
        op->size_bytes = decode_short_size(setup, op, a);
        op->stack_bytes = decode_size(setup, b);
        op->tag = c;
        return;
    case OP_DONATE:
        op->ref = (uint32_t)a;
        op->size_bytes = decode_short_size(setup, op, b);
        op->tag = c;
        return;
    case OP_FREE_AFTER:
    case OP_USE:
        op->ref = (uint32_t)a;
        op->event = (d & 1) != 0 ? (uint32_t)b : OP_NONE;
        op->delay_ns = (d & 1) != 0 ? 0 : decode_delay(c);
        return;
    case OP_EXECUTE:
        op->ref = (uint32_t)a;
        op->group = (uint16_t)b;
        op->delay_ns = decode_delay(c);
        op->flags |= (uint8_t)((d & 1) != 0 ? OP_COLLECTIVE : 0) |
                     (uint8_t)((d & 2) != 0 ? OP_SPMD : 0);
        return;
    case OP_COMPLETE:
        op->event = (uint32_t)a;
        return;
    case OP_FAULT:
        op->size_bytes = a;
        op->delay_ns = decode_delay(b);
        op->tag = c;
        return;
    case OP_RETIRE:
        op->size_bytes = decode_size(setup, a);
        op->address = decode_size(setup, b);
        return;
    case OP_SWITCH:
        op->ref = (d & 2) != 0 ? OP_NONE : (uint32_t)a;
        op->size_bytes = b;
        op->tag = c;
        op->event = (d & 1) != 0 ? c : OP_NONE;
        op->tag = (d & 1) != 0 ? 0 : c;
        return;
    default: /* those that name one thing alone, and those that wait alone or name nothing */
        op->ref = (uint32_t)a;
        op->delay_ns = decode_delay(c);
        return;
    }
}

static void encode_short(const struct setup *setup, const struct op *op,
                         uint8_t bytes[INPUT_SHORT_BYTES])
{
    const uint64_t size = (op->flags & OP_FITTED) != 0 ? encode_fit(op->size_bytes)
                                                       : encode_size(setup, op->size_bytes);
    uint64_t a = op->ref & UINT16_MAX;
    uint64_t b = 0;
    uint64_t c = op->tag;
    uint64_t d = 0;
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        a = size;
        b = encode_size(setup, op->unpadded_bytes);
        d = op->align_log2 == 0 ? 0 : ALIGN_FROM + (uint64_t)op->align_log2;
        break;
    case OP_LOAD:
        a = size;
        b = encode_size(setup, op->stack_bytes);
        break;
    case OP_DONATE:
        b = size;
        break;
    case OP_FREE_AFTER:
    case OP_USE:
        b = op->event == OP_NONE ? 0 : op->event & UINT16_MAX;
        c = encode_delay(op->delay_ns);
        d = op->event != OP_NONE;
        break;
    case OP_EXECUTE:
        b = op->group;
        c = encode_delay(op->delay_ns);
        d = ((op->flags & OP_COLLECTIVE) != 0 ? 1u : 0) | ((op->flags & OP_SPMD) != 0 ? 2u : 0);
        break;
    case OP_COMPLETE:
        a = op->event & UINT16_MAX;
        break;
    case OP_FAULT:
        a = op->size_bytes;
        b = encode_delay(op->delay_ns);
        break;
    case OP_RETIRE:
        a = encode_size(setup, op->size_bytes);
        b = encode_size(setup, op->address);
        break;
    case OP_SWITCH:
        b = op->size_bytes;
        c = op->event == OP_NONE ? op->tag : op->event;
        d = (op->event != OP_NONE ? 1u : 0) | (op->ref == OP_NONE ? 2u : 0);
        break;
    default:
        c = encode_delay(op->delay_ns);
        break;
    }
    const bool flag = op->kind == OP_FAULT ? (op->flags & OP_FOR_EVER) != 0
                                           : (op->flags & OP_RELATIVE) == 0;
    bytes[0] = op->kind;
    bytes[1] = (uint8_t)((flag ? SHORT_FLAG : 0) |
                         ((op->flags & OP_FITTED) != 0 ? SHORT_FITTED : 0) |
                         (op->lane & (SHORT_LANES - 1)) << 2 | (op->host & (SHORT_HOSTS - 1)) << 5);
    write_number(bytes + 2, 2, a);
    write_number(bytes + 4, 2, b);
    write_number(bytes + 6, 1, c);
    write_number(bytes + 7, 1, d);
}

static void decode_wide(const uint8_t bytes[INPUT_WIDE_BYTES], struct op *op)
{
    *op = op_make((enum op_kind)(bytes[1] % OP_KIND_COUNT));
    op->lane = bytes[2];
    op->host = bytes[3];
    op->flags = bytes[4];
    op->tag = bytes[5];
    op->align_log2 = bytes[6];
    op->group = (uint16_t)read_number(bytes + 8, 2);
    op->ref = (uint32_t)read_number(bytes + 12, 4);
    op->event = (uint32_t)read_number(bytes + 16, 4);
    op->size_bytes = read_number(bytes + 24, 8);
    op->delay_ns = read_number(bytes + 32, 8);
}

static void encode_wide(const struct op *op, uint8_t bytes[INPUT_WIDE_BYTES])
{
    memset(bytes, 0, INPUT_WIDE_BYTES);
    bytes[0] = WIDE_MARK;
    bytes[1] = op->kind;
    bytes[2] = op->lane;
    bytes[3] = op->host;
    bytes[4] = op->flags;
    bytes[5] = op->tag;
    bytes[6] = op->align_log2;
    write_number(bytes + 8, 2, op->group);
    write_number(bytes + 12, 4, op->ref);
    write_number(bytes + 16, 4, op->event);
    write_number(bytes + 24, 8, op->size_bytes);
    write_number(bytes + 32, 8, op->delay_ns);
}

/* True if the short form can express the op, in which case bytes has it. */
static bool try_short(const struct input *input, const struct op *op,
                      uint8_t bytes[INPUT_SHORT_BYTES])
{
    struct op back;
    encode_short(&input->setup, op, bytes);
    decode_short(&input->setup, bytes, &back);
    op_fold(&input->setup, input->lane_count, &back);
    return op_equal(&back, op);
}

size_t op_decode(const struct input *input, const uint8_t *bytes, size_t length, struct op *op)
{
    uint8_t padded[INPUT_WIDE_BYTES];
    const size_t size = is_wide(bytes[0]) ? INPUT_WIDE_BYTES : INPUT_SHORT_BYTES;
    const size_t there = length < size ? length : size;
    if (there < size) {
        memset(padded, 0, size);
        memcpy(padded, bytes, there);
        bytes = padded;
    }
    if (size == INPUT_WIDE_BYTES) {
        decode_wide(bytes, op);
    } else {
        decode_short(&input->setup, bytes, op);
    }
    op_fold(&input->setup, input->lane_count, op);
    return there;
}

size_t op_encode(const struct input *input, const struct op *op, uint8_t bytes[INPUT_WIDE_BYTES])
{
    if (try_short(input, op, bytes)) {
        return INPUT_SHORT_BYTES;
    }
    encode_wide(op, bytes);
    return INPUT_WIDE_BYTES;
}
