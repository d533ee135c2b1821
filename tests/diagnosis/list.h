/* Every suite of the program tests_diagnosis: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(advice)
SUITE(causes)
SUITE(hang)
SUITE(leak)
SUITE(no_return)
SUITE(remedies)
SUITE(training)
SUITE(verdicts)
SUITE(what_if)
