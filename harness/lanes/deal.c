#include "harness/lanes/deal.h"

#include "harness/base/check.h"

#include <stdlib.h>

enum { DEALT_COUNT_MIN = 8, DEALT_COUNT_MAX = 48 };

/* Memory goes bad, and targets sleep, while one client calls. */
static void drop_what_is_for_one(struct op_list *ops)
{
    bool *keep = malloc((ops->count + 1) * sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        const uint8_t kind = ops->ops[i].kind;
        keep[i] = kind != OP_RETIRE && kind != OP_SLEEP && kind != OP_WAKE &&
                  !op_is_of_recording((enum op_kind)kind);
    }
    op_list_filter(ops, keep);
    free(keep);
}

void deal(struct op_list *ops, uint8_t lane_count, struct random *random)
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
}
