/* The reference allocator called by several lanes at once, under every scenario: five lists of
 * each. */
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"
#include "tests/scenarios/drawn_lanes.h"

TEST(hbm_keeps_its_promises_to_lanes, .count = count_scenarios, .timeout_s = 1200)
{
    const struct drawn_lanes lanes = {target_find("hbm"), draws_count(5, 1), 2, 3, 40, true};
    drawn_lanes_keep_promises(&lanes, scenarios[_i]);
}
