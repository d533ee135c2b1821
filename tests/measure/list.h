/* Every suite of the program tests_measure: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(fixed_places)
SUITE(headroom)
SUITE(robson)
SUITE(served)
SUITE(smallest)
