/* Every suite of the program tests_scenarios: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(crowded)
SUITE(hbm_lanes)
SUITE(lingering_lanes)
SUITE(scenarios)
SUITE(scenarios_deep)
SUITE(scenarios_hbm)
SUITE(training_job)
