#include "campaign/trials/rounds.h"

#include "harness/base/check.h"

size_t rounds_first_part(const struct plan *plan)
{
    return plan->has_canary ? plan->count - 1 : 0;
}

size_t rounds_next_part(const struct plan *plan, size_t part)
{
    return part + 1 == plan->count ? 0 : part + 1;
}

size_t rounds_turn(const struct plan *plan, size_t part)
{
    return plan->has_canary ? rounds_next_part(plan, part) : part;
}

/* A host does at most so many ops in a step, those before the first one and faults included. */
enum { OPS_PER_STEP_MAX = 64 };

uint64_t rounds_op_count(const struct part *part)
{
    if (part->trace != NULL) {
        return trace_op_count_max(part->trace);
    }
    if (part->setup.until_step != 0) {
        return (part->setup.until_step + 1) * part->setup.host_count * OPS_PER_STEP_MAX;
    }
    CHECK(part->scenario->ops_per_trial > 0);
    return part->scenario->ops_per_trial;
}

uint64_t rounds_stride(const struct part *part)
{
    const uint64_t stride = part->stride != 0 ? part->stride : rounds_op_count(part) / 2000;
    return stride == 0 ? 1 : stride;
}

/* A trial that takes as long as so many others is very long. */
enum { LONG_STRIDE = 10 };

static bool is_long(const struct part *part)
{
    return rounds_stride(part) >= LONG_STRIDE;
}

/* Returns how many rounds a long scenario waits: none if all scenarios are long. */
static uint64_t choose_long_wait(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const bool is_canary = plan->has_canary && i + 1 == plan->count;
        if (!is_canary && !plan->parts[i].is_tentative && !is_long(&plan->parts[i])) {
            return ROUNDS_LONG_WAIT;
        }
    }
    return 0;
}

uint64_t rounds_of(const struct plan *plan, size_t index, uint64_t i)
{
    const struct part *part = &plan->parts[index];
    const uint64_t first = is_long(part) ? choose_long_wait(plan) : 0;
    const uint64_t head_start = part->head_start == 0 ? 1 : part->head_start;
    const uint64_t turns = i < head_start ? 0 : i - head_start + 1;
    return first + turns * rounds_stride(part);
}

bool rounds_count_before(const struct plan *plan, const struct task *a, const struct task *b)
{
    if (a->part == b->part) { /* several trials of a head start have one round */
        return a->trial < b->trial;
    }
    const uint64_t round_a = rounds_of(plan, a->part, a->trial / plan->shard_count);
    const uint64_t round_b = rounds_of(plan, b->part, b->trial / plan->shard_count);
    return round_a != round_b ? round_a < round_b
                              : rounds_turn(plan, a->part) < rounds_turn(plan, b->part);
}
