#include "harness/op/limits.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <stdio.h>

/* Every granule that a list may name divides it. */
#define CAPACITY_UNIT_BYTES (UINT64_C(1) << 16)

const char *limits_flaw(const struct target_limits *limits)
{
    const uint64_t align = limits->largest_align_bytes;
    if (limits->largest_capacity_bytes != 0 &&
        limits->smallest_capacity_bytes > limits->largest_capacity_bytes) {
        return "its smallest capacity is above its largest";
    }
    return (align & (align - 1)) != 0 ? "its largest alignment is no power of two" : NULL;
}

/* NULL, or which limit the capacity does not keep; *limit is its size. */
static const char *find_missed(const struct target_limits *limits, uint64_t capacity_bytes,
                               uint64_t *limit)
{
    if (capacity_bytes < limits->smallest_capacity_bytes) {
        *limit = limits->smallest_capacity_bytes;
        return "at least";
    }
    if (limits->largest_capacity_bytes != 0 && capacity_bytes > limits->largest_capacity_bytes) {
        *limit = limits->largest_capacity_bytes;
        return "at most";
    }
    *limit = limits->capacity_step_bytes;
    return *limit != 0 && capacity_bytes % *limit != 0 ? "a multiple of" : NULL;
}

bool limits_take_capacity(const struct target_limits *limits, uint64_t capacity_bytes,
                          char reason[LIMITS_REASON_BYTES])
{
    char size[SIZE_TEXT_BYTES], wanted[SIZE_TEXT_BYTES];
    uint64_t limit = 0;
    const char *missed = find_missed(limits, capacity_bytes, &limit);
    if (missed != NULL) {
        size_print(capacity_bytes, size);
        size_print(limit, wanted);
        snprintf(reason, LIMITS_REASON_BYTES, "a device of it has %s %s; this one has %s", missed,
                 wanted, size);
    }
    return missed == NULL;
}

/* A limit may be no multiple of the granule that was drawn.  What is less than a unit stays, unless
 * it is to be rounded up. */
static uint64_t round_capacity(uint64_t bytes, uint64_t unit, bool is_up)
{
    const uint64_t over = bytes % unit;
    if (over == 0 || (bytes < unit && !is_up)) {
        return bytes;
    }
    return is_up ? bytes - over + unit : bytes - over;
}

void limits_keep_setup(const struct target_limits *limits, struct setup *setup)
{
    const uint64_t least = limits->smallest_capacity_bytes;
    const uint64_t most = limits->largest_capacity_bytes;
    uint64_t capacity = setup->capacity_bytes;
    const uint64_t step = limits->capacity_step_bytes;
    const uint64_t unit = step > CAPACITY_UNIT_BYTES ? step : CAPACITY_UNIT_BYTES;
    CHECK(capacity != 0);
    capacity = capacity < least ? round_capacity(least, unit, true) : capacity;
    capacity = most != 0 && capacity > most ? round_capacity(most, unit, false) : capacity;
    capacity = step != 0 ? round_capacity(capacity, step, false) : capacity;
    if (capacity != setup->capacity_bytes) {
        setup->capacity_bytes = capacity;
        setup->chip[0] = '\0';
    }
}

void limits_keep_op(const struct target_limits *limits, struct op *op)
{
    if (!limits_concern(op)) {
        return;
    }
    while (limits_align_exceeded(limits, op) && op->align_log2 > 0) {
        op->align_log2--;
    }
    if (limits->largest_size_bytes != 0 && (op->flags & OP_FITTED) == 0 &&
        op->size_bytes > limits->largest_size_bytes) {
        op->size_bytes = limits->largest_size_bytes;
        if (op_kind_info((enum op_kind)op->kind)->has_unpadded &&
            op->unpadded_bytes > op->size_bytes) {
            op->unpadded_bytes = op->size_bytes;
        }
    }
}
