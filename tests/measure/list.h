/* Every suite of the program tests_measure: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(headroom)
SUITE(lists)
SUITE(served)
SUITE(smallest)
