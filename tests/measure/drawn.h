/* Lists of scenarios that ask the same of every target, on a device of 64 MiB. */
#ifndef TESTS_MEASURE_DRAWN_H
#define TESTS_MEASURE_DRAWN_H

#include "measure/drawn_list.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"

#include <check.h>

#define CAPACITY_BYTES (UINT64_C(64) << 20)
enum { DRAWN_COUNT = 5 };

static inline void draw(int i, uint64_t seed, uint64_t op_count, struct op_list *ops)
{
    const struct scenario *const drawn[DRAWN_COUNT] = {
        &scenario_fragmentation_storm, &scenario_training_step, &scenario_queued_free_race,
        &scenario_crowded, &scenario_slow_leak};
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    wish_set_up(&(struct trial_wish){"paged", drawn[i], seed, .capacity_bytes = CAPACITY_BYTES},
                &setup);
    setup.chip[0] = '\0';
    setup.granule_bytes = 512;
    op_list_init(ops);
    ck_assert_msg(drawn_list_make(&target_paged, drawn[i], &setup, op_count, ops, reason), "%s",
                  reason);
}

#endif
