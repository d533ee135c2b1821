#include "harness/lanes/lanes_list.h"

#include "harness/base/check.h"

#include <stdlib.h>

bool lanes_are_in(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].lane != 0 || ops->ops[i].kind == OP_SWITCH) {
            return true;
        }
    }
    return false;
}

uint8_t lanes_count(const struct op_list *ops)
{
    uint8_t highest = 0;
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind != OP_SWITCH && ops->ops[i].lane > highest) {
            highest = ops->ops[i].lane;
        }
    }
    return (uint8_t)(highest + 1);
}

const char *lanes_why_not_list(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if ((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) != 0) {
            return "an op list with lanes cannot have %N or a size that is a fit: their values depend on the schedule";
        }
    }
    return lanes_count(ops) > LANES_CLIENT_COUNT_MAX ? "the op list has more than 16 lanes" : NULL;
}
static_assert(LANES_CLIENT_COUNT_MAX == 16, "as the message says");

/* --- the schedule --- */

size_t lanes_switch_count(const struct op_list *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += ops->ops[i].kind == OP_SWITCH;
    }
    return count;
}

void lanes_append_schedule(struct op_list *ops, const struct schedule_switch *switches,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct op op = op_make(OP_SWITCH);
        op.lane = switches[i].lane;
        op.ref = switches[i].op;
        op.size_bytes = switches[i].number;
        op.tag = switches[i].to;
        op.event = switches[i].completes ? (uint32_t)(switches[i].event - 1) : OP_NONE;
        op_list_append(ops, &op);
    }
}

/* Returns the op's number once the switches before it are gone; count ops have a number. */
static uint32_t renumbered_op(const uint32_t *numbers, size_t count, uint32_t op)
{
    return op < count ? numbers[op] : OP_NONE;
}

static struct schedule_switch read_switch(const struct op *op, const uint32_t *numbers,
                                          size_t count)
{
    return (struct schedule_switch){.lane = op->lane,
                                    .op = renumbered_op(numbers, count, op->ref),
                                    .number = (uint32_t)op->size_bytes,
                                    .completes = op->event != OP_NONE,
                                    .to = op->tag,
                                    .event = (uint64_t)renumbered_op(numbers, count, op->event) +
                                             1};
}

size_t lanes_take_schedule(const struct op_list *ops, struct op_list *plain,
                           struct schedule_switch **switches)
{
    size_t count = 0;
    bool *keep = calloc(ops->count + 1, sizeof *keep);
    uint32_t *numbers = calloc(ops->count + 1, sizeof *numbers);
    *switches = calloc(ops->count + 1, sizeof **switches);
    CHECK(keep != NULL && numbers != NULL && *switches != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        keep[i] = ops->ops[i].kind != OP_SWITCH;
        numbers[i] = (uint32_t)(i - count);
        if (!keep[i]) {
            (*switches)[count++] = read_switch(&ops->ops[i], numbers, i);
        }
    }
    op_list_copy(plain, ops);
    op_list_filter(plain, keep);
    CHECK(plain->count + count == ops->count);
    free(keep);
    free(numbers);
    return count;
}
