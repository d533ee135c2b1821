/* Every suite of the program tests_kit: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(kit)
SUITE(kit_arena)
SUITE(kit_blocks)
SUITE(kit_refusals)
SUITE(kit_regions)
