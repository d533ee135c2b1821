/* Every suite of the program tests_targets: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(caching)
SUITE(lanes_exhaustive)
SUITE(lanes_going_on)
SUITE(lanes_sizes)
SUITE(races)
SUITE(races_table)
SUITE(regressions)
SUITE(segments)
SUITE(targets)
SUITE(targets_plants)
SUITE(targets_plugin)
