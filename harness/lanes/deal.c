#include "harness/lanes/deal.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>

enum { DEALT_COUNT_MIN = 8, DEALT_COUNT_MAX = 48 };

bool deal_is_for_one(enum op_kind kind)
{
    return kind == OP_RETIRE || kind == OP_SLEEP || kind == OP_WAKE || op_is_of_recording(kind);
}

static void drop_what_is_for_one(struct op_list *ops)
{
    bool *keep = array_resized(NULL, (ops->count + 1) * sizeof *keep);
    for (size_t i = 0; i < ops->count; i++) {
        keep[i] = !deal_is_for_one((enum op_kind)ops->ops[i].kind);
    }
    op_list_filter(ops, keep);
    free(keep);
}

size_t deal(struct op_list *ops, uint8_t lane_count, struct random *random)
{
    CHECK(lane_count >= 2);
    drop_what_is_for_one(ops);
    const uint64_t wanted = random_between(random, DEALT_COUNT_MIN, DEALT_COUNT_MAX);
    const size_t half = ops->count / 2;
    const size_t dealt = wanted < half ? (size_t)wanted : half;
    CHECK(dealt <= ops->count);
    uint8_t lane = 0;
    for (size_t i = ops->count - dealt; i < ops->count; i++) {
        if ((ops->ops[i].flags & OP_RETRY) == 0 && random_chance(random, 2, 3)) {
            lane = (uint8_t)random_below(random, lane_count);
            CHECK(lane < lane_count);
        }
        ops->ops[i].lane = lane;
    }
    return ops->count - dealt;
}

/* Whose the op is: the tag of what it asks for, or of what it names; OP_TAG_COUNT: nobody's.
 * owners: of the ops before, `number` of them. */
static uint16_t find_owner(const struct op *op, const uint16_t *owners, size_t number)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (info->has_tag && (info->makes_block || info->makes_program)) {
        return op->tag;
    }
    if ((info->has_block || info->has_program) && op->ref < number) {
        return owners[op->ref];
    }
    return info->has_event && op->event < number ? owners[op->event] : OP_TAG_COUNT;
}

void deal_by_client(struct op_list *ops, size_t first, const struct setup *setup,
                    uint8_t lane_count)
{
    CHECK(lane_count >= 2);
    CHECK(first <= ops->count);
    uint16_t *owners = array_zeroed(ops->count + 1, sizeof *owners);
    for (size_t i = 0; i < ops->count; i++) {
        owners[i] = find_owner(&ops->ops[i], owners, i);
        if (i >= first && owners[i] < OP_TAG_COUNT && setup_is_client(setup, (uint8_t)owners[i])) {
            ops->ops[i].lane = (uint8_t)(owners[i] % lane_count);
        }
    }
    free(owners);
}
