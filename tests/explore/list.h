/* Every suite of the program tests_explore: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(imports)
SUITE(order)
SUITE(place)
SUITE(strategies)
SUITE(strategy_exhaustive)
SUITE(strategy_replay)
