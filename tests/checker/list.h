/* Every suite of the program tests_checker: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(certificate_budget)
SUITE(certificate_check)
SUITE(certificate_moves)
SUITE(certificate_search)
SUITE(certificate_tree)
SUITE(checker_text)
SUITE(checks)
SUITE(history)
