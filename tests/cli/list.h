/* Every suite of the program tests_cli: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(cli)
SUITE(doctor)
SUITE(export)
SUITE(export_formats)
SUITE(keeper)
SUITE(run_record)
SUITE(scale)
SUITE(step_axis)
