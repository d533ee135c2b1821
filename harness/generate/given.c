#include "harness/generate/given.h"

#include "harness/base/check.h"

#include <stdlib.h>

void given_init(struct given *given, const struct op_list *ops)
{
    const size_t count = ops == NULL ? 0 : ops->count;
    *given = (struct given){.ops = ops, .numbers = calloc(count + 1, sizeof *given->numbers)};
    CHECK(given->numbers != NULL);
}

void given_deinit(struct given *given)
{
    free(given->numbers);
    *given = (struct given){0};
}

static uint32_t find_number(const struct given *given, uint32_t reference)
{
    return reference < given->next ? given->numbers[reference] : OP_NONE;
}

bool given_next(struct given *given, uint32_t op_number, struct op *op)
{
    if (given->ops == NULL || given->next == given->ops->count) {
        return false;
    }
    *op = given->ops->ops[given->next];
    if ((op->flags & OP_RELATIVE) == 0) {
        const bool named_event = op->event != OP_NONE;
        op->ref = find_number(given, op->ref);
        op->event = find_number(given, op->event);
        /* One whose event is not there must not turn into one with an event of its own. */
        op->ref = named_event && op->event == OP_NONE ? OP_NONE : op->ref;
    }
    given->numbers[given->next++] = op_number;
    return true;
}
