/* Fewer switches and lanes of a list whose ops belong to several client threads. */
#include "harness/lanes/lanes.h"
#include "harness/shrink/private/shrink_state.h"
#include "harness/shrink/shrink.h"

/* Returns where the schedule begins: it stands at the end of a list that ran. */
static size_t schedule_start(const struct op_list *ops)
{
    size_t start = ops->count;
    while (start > 0 && ops->ops[start - 1].kind == OP_SWITCH) {
        start--;
    }
    return start;
}

void shrinker_remove_switches(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t count = ops->count - schedule_start(ops); count > 1; count /= 2) {
        shrinker_remove_chunks(shrinker, schedule_start(ops), count);
    }
    while (schedule_start(ops) < ops->count &&
           shrinker_remove_chunks(shrinker, schedule_start(ops), 1)) {
    }
}

static void rename_lane(struct op *op, uint8_t from, uint8_t to)
{
    op->lane = op->lane == from ? to : op->lane;
    if (op->kind == OP_SWITCH && op->event == OP_NONE && op->tag == from) {
        op->tag = to;
    }
}

/* Tries all ops of a lane on another one, with the switches that name it. */
static bool try_lane(struct shrinker *shrinker, uint8_t from, uint8_t to)
{
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        rename_lane(&shrinker->trial.ops[i], from, to);
    }
    return shrinker_try(shrinker);
}

static bool has_lane(const struct op_list *ops, uint8_t lane)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind != OP_SWITCH && ops->ops[i].lane == lane) {
            return true;
        }
    }
    return false;
}

/* One op, with its own switches, to another lane. */
static bool try_op_in_lane(struct shrinker *shrinker, size_t number, uint8_t lane)
{
    struct op_list *trial = &shrinker->trial;
    op_list_copy(trial, &shrinker->result->ops);
    trial->ops[number].lane = lane;
    for (size_t i = 0; i < trial->count; i++) {
        if (trial->ops[i].kind == OP_SWITCH && trial->ops[i].ref == number) {
            trial->ops[i].lane = lane;
        }
    }
    return shrinker_try(shrinker);
}

/* Fewer lanes: each is emptied into a lower one, whole or op by op, or takes the number of one that
 * is gone. */
static void join_lanes(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (uint8_t lane = lanes_count(ops); lane-- > 1;) {
        for (uint8_t to = 0; to < lane && has_lane(ops, lane) && !shrinker_is_over(shrinker);
             to++) {
            (void)try_lane(shrinker, lane, to);
        }
    }
    for (size_t i = 0; i < schedule_start(ops) && !shrinker_is_over(shrinker); i++) {
        if (ops->ops[i].lane != 0) {
            (void)try_op_in_lane(shrinker, i, 0);
        }
    }
}

void shrinker_remove_schedule(struct shrinker *shrinker)
{
    size_t before = SIZE_MAX;
    while (lanes_are_in(&shrinker->result->ops) && shrinker->result->ops.count < before &&
           !shrinker_is_over(shrinker)) {
        before = shrinker->result->ops.count;
        shrinker_remove_switches(shrinker);
        join_lanes(shrinker);
        shrinker_remove_ops(shrinker);
    }
}
