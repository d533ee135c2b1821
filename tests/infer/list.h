/* Every suite of the program tests_infer: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(experiments)
SUITE(inference)
SUITE(option_values)
SUITE(size_fit)
