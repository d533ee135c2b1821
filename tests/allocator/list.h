/* Every suite of the program tests_allocator: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(hbm_aligned)
SUITE(hbm_bins)
SUITE(hbm_exact)
SUITE(hbm_exchange)
SUITE(hbm_fuzz)
SUITE(hbm_gaps)
SUITE(hbm_mitigation)
SUITE(hbm_plan)
SUITE(hbm_program)
SUITE(hbm_retire)
SUITE(hbm_sweep)
SUITE(hbm_text)
