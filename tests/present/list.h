/* Every suite of the program tests_reports: SUITE(name) is test_name.c. */
/* clang-format off */
SUITE(annotation)
SUITE(bug_text)
SUITE(cli_reports)
SUITE(job_log)
SUITE(memory_track)
SUITE(page)
SUITE(reports_junit)
SUITE(reports_summary)
SUITE(reports_watch)
SUITE(review)
SUITE(sarif)
SUITE(table)
