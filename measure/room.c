#include "measure/room.h"

#include "harness/run/run_state.h"

/* Asks for a block of that size and frees it. */
static bool is_served(struct run *run, uint64_t size_bytes)
{
    struct op request = op_make(OP_ALLOC), end = op_make(OP_FREE);
    request.size_bytes = size_bytes;
    end.ref = (uint32_t)run_ops(run)->count;
    (void)run_step(run, &request);
    const struct observation *seen = run_observation(run);
    const bool is_granted = seen->skipped == 0 && seen->result == TARGET_OK;
    if (is_granted && !run_is_broken(run)) {
        (void)run_step(run, &end);
    }
    return is_granted && !run_is_broken(run);
}

static uint64_t find_largest(struct run *run, uint64_t granule_bytes, uint64_t granule_count)
{
    uint64_t low = 0, high = granule_count + 1;
    while (high - low > 1 && !run_is_broken(run)) {
        const uint64_t middle = low + (high - low) / 2;
        if (is_served(run, middle * granule_bytes)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low * granule_bytes;
}

bool room_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  uint32_t last, uint64_t *bytes)
{
    char reason[RUN_REASON_BYTES];
    struct setup bounded = *setup;
    bounded.search_nodes_max = 1; /* why it is refused is not asked */
    struct run *run = run_create(target, &bounded, reason);
    if (run == NULL) {
        return false;
    }
    run_judge_promises_only(run);
    run_go_on(run);
    for (uint32_t i = 0; i <= last && i < ops->count && !run_is_broken(run); i++) {
        (void)run_step(run, &ops->ops[i]);
    }
    const struct model *model = run_model(run, 0);
    const uint64_t granule_bytes = model_granule_bytes(model);
    const uint64_t found_bytes = find_largest(run, granule_bytes,
                                              model_free_bytes(model) / granule_bytes);
    const bool is_sound = !run_is_broken(run);
    run_destroy(run);
    if (is_sound) {
        *bytes = found_bytes;
    }
    return is_sound;
}
