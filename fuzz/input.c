#include "fuzz/input.h"

#include "harness/check.h"
#include "harness/fit.h"
#include "harness/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the header ---------------------------------------------------------------------------------
 *
 *   0      version
 *   1      defrag: 0 not set, none, slide, repack
 *   2      order: 0 not set, then the six permutations
 *   3      program_evicts_program (low half) and message_code (high half): 0 not set, no, yes
 *   4      granule: 0 the target's, then 2^0 .. 2^16
 *   5      chip: 0 none, then those of `chips`
 *   6      hosts less one: below 192 modulo 4, from there on less 192
 *   7      lanes less one
 *   8-11   kinds of fault that are slipped in, a bit each
 *   12-15  capacity in granules: 31 bits when the highest bit is set, else 16; 0 = that of the chip, or
 *          INPUT_CAPACITY_GRANULES_DEFAULT
 *   16-23  seed
 *   24-25  how many bytes at the end of the input choose the schedule
 *   26-31  not used */

/* What version 1 knows, whatever is appended later.  A new kind of op is out of reach until a version 2 counts it. */
enum { KINDS_V1 = 19, CHIPS_V1 = 8, GRANULE_LOG2_MAX = 16, FEW_HOSTS = 4, MANY_HOSTS_FROM = 192 };
#define LARGE_CAPACITY (UINT64_C(1) << 31)
static_assert((int)KINDS_V1 <= (int)OP_KIND_COUNT, "kinds of op are only ever appended");

/* The chips of version 1, by name: the table of chips is free to change its order. */
static const char *const chip_names[CHIPS_V1] = {"", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};
static const char *const defrag_names[] = {NULL, "none", "slide", "repack"};
static const char *const order_names[] = {NULL,
                                          "drain,defragment,evict",
                                          "drain,evict,defragment",
                                          "defragment,drain,evict",
                                          "defragment,evict,drain",
                                          "evict,drain,defragment",
                                          "evict,defragment,drain"};
static const char *const flag_names[] = {NULL, "no", "yes"};

/* An option of the target that the header can say. */
static const struct {
    const char *key;
    const char *const *values; /* value_count of them; [0] = not set */
    uint8_t value_count;
    uint8_t byte, shift, mask; /* where it is */
} options[] = {
    {"defrag", defrag_names, 4, 1, 0, 0xFF},
    {"order", order_names, 7, 2, 0, 0xFF},
    {"program_evicts_program", flag_names, 3, 3, 0, 0x0F},
    {"message_code", flag_names, 3, 3, 4, 0x0F},
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static uint64_t read_number(const uint8_t *bytes, unsigned count)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < count; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

static void write_number(uint8_t *bytes, unsigned count, uint64_t number)
{
    for (unsigned i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

static uint64_t unit_bytes(const struct setup *setup)
{
    return setup->granule_bytes == 0 ? INPUT_GRANULE_BYTES : setup->granule_bytes;
}

static void decode_capacity(struct setup *setup, uint64_t granules)
{
    const struct chip *chip = chip_find(setup->chip);
    if (granules == 0 && chip != NULL) {
        setup->capacity_bytes = chip->capacity_bytes / unit_bytes(setup) * unit_bytes(setup);
        return;
    }
    setup->capacity_bytes = (granules == 0 ? INPUT_CAPACITY_GRANULES_DEFAULT : granules) * unit_bytes(setup);
}

static void decode_header(const uint8_t header[INPUT_HEADER_BYTES], struct input *input)
{
    struct setup *setup = &input->setup;
    setup_init(setup);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *value =
            options[i].values[(header[options[i].byte] >> options[i].shift & options[i].mask) % options[i].value_count];
        if (value != NULL) {
            CHECK(setup_set_option(setup, options[i].key, value));
        }
    }
    const unsigned granule = header[4] % (GRANULE_LOG2_MAX + 2);
    setup->granule_bytes = granule == 0 ? 0 : UINT64_C(1) << (granule - 1);
    (void)snprintf(setup->chip, sizeof setup->chip, "%s", chip_names[header[5] % CHIPS_V1]);
    setup->host_count = 1u + (header[6] < MANY_HOSTS_FROM ? header[6] % FEW_HOSTS : header[6] - MANY_HOSTS_FROM);
    input->lane_count = (uint8_t)(1 + header[7] % INPUT_LANE_COUNT_MAX);
    input->faults.kinds = (uint32_t)read_number(header + 8, 4) & FAULTING_ALL;
    const uint64_t granules = read_number(header + 12, 4);
    decode_capacity(setup, granules & ((granules & LARGE_CAPACITY) != 0 ? LARGE_CAPACITY - 1 : UINT16_MAX));
    setup->seed = read_number(header + 16, 8);
}

/* 0 when it is not set, or set to what the header cannot say. */
static uint8_t index_of_option(const struct setup *setup, unsigned option)
{
    const char *value = setup_option(setup, options[option].key);
    for (uint8_t i = 1; value != NULL && i < options[option].value_count; i++) {
        if (strcmp(options[option].values[i], value) == 0) {
            return i;
        }
    }
    return 0;
}

static uint8_t index_of_chip(const struct setup *setup)
{
    uint8_t i = CHIPS_V1;
    while (--i > 0 && strcmp(chip_names[i], setup->chip) != 0) {
    }
    return i;
}

static void encode_header(const struct input *input, uint8_t header[INPUT_HEADER_BYTES])
{
    const struct setup *setup = &input->setup;
    memset(header, 0, INPUT_HEADER_BYTES);
    header[0] = INPUT_VERSION;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        header[options[i].byte] |= (uint8_t)(index_of_option(setup, i) << options[i].shift);
    }
    header[4] = setup->granule_bytes == 0 ? 0 : (uint8_t)(1 + __builtin_ctzll(setup->granule_bytes));
    header[5] = index_of_chip(setup);
    header[6] = (uint8_t)(setup->host_count - 1 + (setup->host_count <= FEW_HOSTS ? 0 : MANY_HOSTS_FROM));
    header[7] = (uint8_t)(input->lane_count - 1);
    write_number(header + 8, 4, input->faults.kinds);
    struct setup default_setup = *setup;
    decode_capacity(&default_setup, 0);
    if (default_setup.capacity_bytes != setup->capacity_bytes) {
        const uint64_t granules = setup->capacity_bytes / unit_bytes(setup);
        write_number(header + 12, 4, granules | (granules > UINT16_MAX ? LARGE_CAPACITY : 0));
    }
    write_number(header + 16, 8, setup->seed);
    write_number(header + 24, 2, input->choice_count);
}

/* --- numbers of the short form ------------------------------------------------------------------ */

/* A size in 16 bits: below 2^15 granules; above that 11 bits of bytes, shifted by an even number of bits.  What is too
 * large for the device is cut to a few granules more than it has, so that any bytes ask for something. */
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
    return fit.kind | (uint64_t)(fit.index & 0xFF) << 3 | (uint64_t)((uint32_t)fit.granules & 31) << 11;
}

/* A delay in 8 bits: nothing, never, or 1, 2 or 5 times a power of ten. */
enum { DELAY_CODES = 41 };

static uint64_t decode_delay(uint64_t code)
{
    static const uint64_t steps[] = {1, 2, 5};
    code %= DELAY_CODES;
    if (code < 2) {
        return code == 0 ? 0 : DELAY_NEVER;
    }
    uint64_t delay = steps[(code - 2) % 3];
    for (uint64_t i = (code - 2) / 3; i > 0; i--) {
        delay *= 10;
    }
    return delay;
}

static uint64_t encode_delay(uint64_t delay_ns)
{
    uint64_t code = 0;
    while (code < DELAY_CODES - 1 && decode_delay(code) != delay_ns) {
        code++;
    }
    return code;
}

/* --- ops ----------------------------------------------------------------------------------------
 *
 * The short form: kind, then flag bits (named or for ever, fitted), lane and host, two numbers of 16 bits, two of 8.
 * The wide form: a byte that is no kind, then every field as it is. */

enum {
    KIND_CODES = KINDS_V1 * (256 / KINDS_V1), /* byte 0 below it: a kind, modulo */
    WIDE_MARK = 255,
    SHORT_FLAG = 1,   /* not OP_RELATIVE; of a fault OP_FOR_EVER */
    SHORT_FITTED = 2,
    SHORT_LANES = 8, SHORT_HOSTS = 8,
    ALIGN_FROM = 234, /* most codes are no alignment at all */
};

static bool is_wide(uint8_t first)
{
    return first >= KIND_CODES;
}

static bool has_reference(const struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    return info->has_block || info->has_program || info->has_event || info->has_address;
}

/* Clears what the kind does not have, so that equal ops are equal bytes. */
static void fold_op(const struct setup *setup, uint8_t lane_count, struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    const bool has_amount = info->has_delay || info->has_stack || info->has_unpadded || info->has_address;
    op->lane = (uint8_t)(op->lane % lane_count);
    op->host = (uint8_t)(op->host % setup->host_count);
    op->flags &= op->kind == OP_FAULT ? OP_FOR_EVER : OP_FLAG_MASK & ~OP_FOR_EVER;
    op->flags &= (uint8_t)~((has_reference(op) ? 0 : OP_RELATIVE) | (info->can_be_fitted ? 0 : OP_FITTED) |
                            (op->kind == OP_EXECUTE ? 0 : OP_COLLECTIVE) | (op->kind == OP_SWITCH ? OP_FLAG_MASK : 0));
    op->ref = info->has_block || info->has_program || info->has_point ? op->ref : OP_NONE;
    op->event = info->has_event || info->has_point ? op->event : OP_NONE;
    op->size_bytes = info->has_size || info->has_point ? op->size_bytes : 0;
    op->size_bytes = op->kind == OP_FAULT || op->kind == OP_SWITCH ? op->size_bytes & UINT32_MAX : op->size_bytes;
    op->size_bytes = (op->flags & OP_FITTED) == 0 ? op->size_bytes
                                                  : fit_pack(&(struct fit){fit_unpack(op->size_bytes).kind,
                                                                           fit_unpack(op->size_bytes).index,
                                                                           fit_unpack(op->size_bytes).granules});
    op->tag = info->has_tag || info->has_point ? op->tag : 0;
    op->tag = op->kind == OP_FAULT ? op->tag % FAULT_KIND_COUNT : op->kind == OP_SWITCH ? op->tag % OP_LANE_COUNT_MAX
                                                                                         : op->tag;
    op->align_log2 = info->has_align ? op->align_log2 % (OP_ALIGN_LOG2_MAX + 1) : 0;
    op->group = (op->flags & (OP_COLLECTIVE | OP_SPMD)) != 0 ? op->group : 0;
    const bool waits = op->kind != OP_FAULT || fault_info((enum fault_kind)op->tag)->has_delay;
    op->delay_ns = has_amount && op->event == OP_NONE && waits ? op->delay_ns : 0;
}

static uint64_t decode_short_size(const struct setup *setup, const struct op *op, uint64_t code)
{
    return (op->flags & OP_FITTED) != 0 ? decode_fit(code) : decode_size(setup, code);
}

static void decode_short(const struct setup *setup, const uint8_t bytes[INPUT_SHORT_BYTES], struct op *op)
{
    const uint64_t a = read_number(bytes + 2, 2);
    const uint64_t b = read_number(bytes + 4, 2);
    const uint8_t c = bytes[6];
    const uint8_t d = bytes[7];
    *op = op_make((enum op_kind)(bytes[0] % KINDS_V1));
    op->flags = (bytes[1] & SHORT_FLAG) == 0 ? OP_RELATIVE : op->kind == OP_FAULT ? OP_FOR_EVER : 0;
    op->flags |= (bytes[1] & SHORT_FITTED) != 0 && op_kind_info(op->kind)->can_be_fitted ? OP_FITTED : 0;
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
        op->flags |= (uint8_t)((d & 1) != 0 ? OP_COLLECTIVE : 0) | (uint8_t)((d & 2) != 0 ? OP_SPMD : 0);
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
    default: /* those that name a block or program alone, and those that wait alone or name nothing */
        op->ref = (uint32_t)a;
        op->delay_ns = decode_delay(c);
        return;
    }
}

static void encode_short(const struct setup *setup, const struct op *op, uint8_t bytes[INPUT_SHORT_BYTES])
{
    const uint64_t size = (op->flags & OP_FITTED) != 0 ? encode_fit(op->size_bytes) : encode_size(setup, op->size_bytes);
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
    const bool flag = op->kind == OP_FAULT ? (op->flags & OP_FOR_EVER) != 0 : (op->flags & OP_RELATIVE) == 0;
    bytes[0] = op->kind;
    bytes[1] = (uint8_t)((flag ? SHORT_FLAG : 0) | ((op->flags & OP_FITTED) != 0 ? SHORT_FITTED : 0) |
                         (op->lane & (SHORT_LANES - 1)) << 2 | (op->host & (SHORT_HOSTS - 1)) << 5);
    write_number(bytes + 2, 2, a);
    write_number(bytes + 4, 2, b);
    write_number(bytes + 6, 1, c);
    write_number(bytes + 7, 1, d);
}

static void decode_wide(const uint8_t bytes[INPUT_WIDE_BYTES], struct op *op)
{
    *op = op_make((enum op_kind)(bytes[1] % KINDS_V1));
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

/* Whether the short form says the op, in which case bytes has it. */
static bool try_short(const struct input *input, const struct op *op, uint8_t bytes[INPUT_SHORT_BYTES])
{
    struct op back;
    encode_short(&input->setup, op, bytes);
    decode_short(&input->setup, bytes, &back);
    fold_op(&input->setup, input->lane_count, &back);
    return op_equal(&back, op);
}

/* --- inputs -------------------------------------------------------------------------------------- */

void input_init(struct input *input)
{
    *input = (struct input){.lane_count = 1};
    setup_init(&input->setup);
    input->setup.capacity_bytes = INPUT_CAPACITY_GRANULES_DEFAULT * INPUT_GRANULE_BYTES;
    op_list_init(&input->ops);
}

void input_deinit(struct input *input)
{
    op_list_deinit(&input->ops);
    free(input->choices);
    *input = (struct input){0};
}

void input_set_choice_count(struct input *input, size_t count)
{
    CHECK(count <= INPUT_CHOICE_COUNT_MAX);
    if (count > input->choice_capacity) {
        input->choices = realloc(input->choices, count);
        CHECK(input->choices != NULL);
        input->choice_capacity = count;
    }
    if (count > input->choice_count) {
        memset(input->choices + input->choice_count, 0, count - input->choice_count);
    }
    input->choice_count = count;
}

void input_copy(struct input *to, const struct input *from)
{
    to->setup = from->setup;
    to->faults = from->faults;
    to->lane_count = from->lane_count;
    op_list_copy(&to->ops, &from->ops);
    input_set_choice_count(to, from->choice_count);
    if (from->choice_count > 0) {
        memcpy(to->choices, from->choices, from->choice_count);
    }
}

/* The next op; returns how many bytes it took. */
static size_t decode_op(const struct input *input, const uint8_t *bytes, size_t length, struct op *op)
{
    uint8_t padded[INPUT_WIDE_BYTES] = {0};
    const size_t size = is_wide(bytes[0]) ? INPUT_WIDE_BYTES : INPUT_SHORT_BYTES;
    const size_t there = length < size ? length : size;
    memcpy(padded, bytes, there);
    if (is_wide(bytes[0])) {
        decode_wide(padded, op);
    } else {
        decode_short(&input->setup, padded, op);
    }
    fold_op(&input->setup, input->lane_count, op);
    return there;
}

void input_decode(const uint8_t *bytes, size_t length, struct input *input)
{
    uint8_t header[INPUT_HEADER_BYTES] = {0};
    const size_t header_length = length < INPUT_HEADER_BYTES ? length : INPUT_HEADER_BYTES;
    if (header_length > 0) {
        memcpy(header, bytes, header_length);
    }
    decode_header(header, input);
    size_t choices = read_number(header + 24, 2);
    choices = choices < length - header_length ? choices : length - header_length;
    input_set_choice_count(input, choices);
    if (choices > 0) {
        memcpy(input->choices, bytes + length - choices, choices);
    }
    op_list_clear(&input->ops);
    const size_t end = length - choices;
    for (size_t at = header_length; at < end && input->ops.count < INPUT_OP_COUNT_MAX;) {
        struct op op;
        at += decode_op(input, bytes + at, end - at, &op);
        op_list_append(&input->ops, &op);
    }
}

/* Where encoded bytes go: as many as fit, all of them counted. */
struct sink {
    uint8_t *bytes;
    size_t capacity, length;
};

static void sink_add(struct sink *sink, const uint8_t *bytes, size_t length)
{
    if (sink->length + length <= sink->capacity) {
        memcpy(sink->bytes + sink->length, bytes, length);
    }
    sink->length += length;
}

size_t input_encode(const struct input *input, uint8_t *bytes, size_t capacity)
{
    struct sink sink = {.bytes = bytes, .capacity = capacity};
    uint8_t part[INPUT_WIDE_BYTES];
    encode_header(input, part);
    sink_add(&sink, part, INPUT_HEADER_BYTES);
    for (size_t i = 0; i < input->ops.count; i++) {
        const bool is_short = try_short(input, &input->ops.ops[i], part);
        if (!is_short) {
            encode_wide(&input->ops.ops[i], part);
        }
        sink_add(&sink, part, is_short ? INPUT_SHORT_BYTES : INPUT_WIDE_BYTES);
    }
    if (input->choice_count > 0) {
        sink_add(&sink, input->choices, input->choice_count);
    }
    return sink.length;
}

size_t input_op_bytes(const struct input *input, const struct op *op)
{
    uint8_t part[INPUT_SHORT_BYTES];
    return try_short(input, op, part) ? INPUT_SHORT_BYTES : INPUT_WIDE_BYTES;
}

/* --- from elsewhere ------------------------------------------------------------------------------ */

static bool is_power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static bool take_setup(const struct setup *from, struct setup *to)
{
    setup_init(to);
    (void)snprintf(to->chip, sizeof to->chip, "%s", chip_names[index_of_chip(from)]);
    to->granule_bytes = from->granule_bytes;
    to->capacity_bytes = from->capacity_bytes;
    to->host_count = from->host_count;
    to->seed = from->seed;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *value = options[i].values[index_of_option(from, i)];
        if (value != NULL) {
            CHECK(setup_set_option(to, options[i].key, value));
        }
    }
    if (to->granule_bytes != 0 && (!is_power_of_two(to->granule_bytes) || to->granule_bytes >> GRANULE_LOG2_MAX > 1)) {
        return false;
    }
    if (to->capacity_bytes == 0) {
        decode_capacity(to, 0);
        return true;
    }
    return to->capacity_bytes % unit_bytes(to) == 0 && to->capacity_bytes / unit_bytes(to) < LARGE_CAPACITY;
}

bool input_from_ops(const struct setup *setup, const struct op_list *ops, struct input *input)
{
    if (!take_setup(setup, &input->setup) || ops->count > INPUT_OP_COUNT_MAX) {
        return false;
    }
    input->faults = (struct fault_wish){0};
    input->lane_count = 1;
    input_set_choice_count(input, 0);
    op_list_copy(&input->ops, ops);
    for (size_t i = 0; i < ops->count; i++) {
        const uint8_t lane = ops->ops[i].lane % INPUT_LANE_COUNT_MAX;
        input->lane_count = input->lane_count > lane ? input->lane_count : (uint8_t)(lane + 1);
    }
    for (size_t i = 0; i < ops->count; i++) {
        fold_op(&input->setup, input->lane_count, &input->ops.ops[i]);
    }
    return true;
}
