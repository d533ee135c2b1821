#include "scenarios/private/op_walk.h"

static uint32_t find_common_factor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t draw_stride(struct random *random, uint32_t length)
{
    uint32_t stride = 1 + (uint32_t)random_below(random, length);
    while (find_common_factor(stride, length) != 1) { /* ends at a multiple of length plus one */
        stride++;
    }
    return stride;
}

void op_walk_begin(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end,
                   enum op_walk_order order)
{
    const uint32_t count = end > first ? end - first : 0;
    /* An odd length, so that steps of two come by every number. */
    *walk = (struct op_walk){.first = first, .length = count == 0 ? 0 : count | 1, .stride = 1};
    if (count == 0) {
        return;
    }
    switch (order) {
    case OP_WALK_BACKWARD:
        walk->start = walk->length - 1;
        walk->stride = walk->length - 1;
        break;
    case OP_WALK_ALTERNATING:
        walk->stride = 2;
        break;
    case OP_WALK_SHUFFLED:
        walk->stride = draw_stride(random, walk->length);
        walk->start = (uint32_t)random_below(random, walk->length);
        break;
    default:
        break;
    }
}

bool op_walk_next(struct op_walk *walk, uint32_t *number)
{
    if (walk->index >= walk->length) {
        return false;
    }
    const uint64_t at = walk->start + (uint64_t)walk->index * walk->stride;
    *number = walk->first + (uint32_t)(at % walk->length);
    walk->index++;
    return true;
}
