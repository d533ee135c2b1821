/* A schedule under which lanes execute a list in its own order.
 *
 * A lane that goes on stands at point 0 of its next op, and there, and only there, the turn can be
 * passed on: an op that waits inside, or a lane that ends, passes the turn by default, from a point
 * whose number is the target's business.  So nobody may wait inside, and nobody may end before the
 * last op of the log: an op that would wait for what another lane has yet to make is preceded by a
 * pause of its lane (time advances by nothing), and each lane whose ops end early gets one at the
 * end of the list. */
#include "formats/common/private/trace_state.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

static bool is_waiting_for(const struct op_list *ops, const struct op *op, uint32_t last,
                           uint32_t named)
{
    return named != OP_NONE && named > last && ops->ops[named].lane != op->lane;
}

bool trace_lanes_would_wait(const struct op_list *ops, const struct op *op, uint32_t last)
{
    /* A lane begins when the turn is passed to it first: what it names is there by then. */
    return last != OP_NONE &&
           (is_waiting_for(ops, op, last, op->ref) || is_waiting_for(ops, op, last, op->event));
}

/* Pauses at the end, in the order in which lanes end by default: the next by number, round and
 * round. */
static void keep_alive(struct op_list *ops)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < ops->count; i++) {
        seen |= UINT32_C(1) << ops->ops[i].lane;
    }
    const uint8_t last = ops->ops[ops->count - 1].lane;
    for (unsigned i = 1; i < LANES_CLIENT_COUNT_MAX; i++) {
        const uint8_t lane = (uint8_t)((last + i) % LANES_CLIENT_COUNT_MAX);
        if ((seen >> lane & 1) != 0) {
            struct op op = op_make(OP_ADVANCE);
            op.lane = lane;
            op_list_append(ops, &op);
        }
    }
}

static size_t count_changes(const struct op_list *ops, size_t count)
{
    size_t changes = 0;
    for (size_t i = 1; i < count; i++) {
        changes += ops->ops[i].lane != ops->ops[i - 1].lane;
    }
    return changes;
}

void trace_lanes_schedule(struct op_list *ops)
{
    const size_t count = ops->count; /* without the pauses at the end, which are run in any order */
    uint32_t next[LANES_CLIENT_COUNT_MAX];
    memset(next, 0xFF, sizeof next);
    size_t left = count_changes(ops, count);
    const size_t change_count = left;
    keep_alive(ops);
    struct schedule_switch *switches = malloc((change_count + 1) * sizeof *switches);
    CHECK(switches != NULL);
    for (size_t i = ops->count; i-- > 0;) {
        const uint8_t lane = ops->ops[i].lane;
        if (i + 1 < count && ops->ops[i + 1].lane != lane) {
            CHECK(next[lane] != OP_NONE && left > 0);
            switches[--left] = (struct schedule_switch){
                .lane = lane, .op = next[lane], .to = ops->ops[i + 1].lane};
        }
        next[lane] = (uint32_t)i;
    }
    lanes_append_schedule(ops, switches, change_count);
    free(switches);
}
