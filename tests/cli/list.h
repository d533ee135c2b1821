/* Every suite of the program tests_cli: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(baseline)
SUITE(campaign_state)
SUITE(cli)
SUITE(cli_commit)
SUITE(death)
SUITE(deaths)
SUITE(export)
SUITE(export_formats)
SUITE(lane_options)
SUITE(shrink)
SUITE(trial_result)
SUITE(trials)
