# What a campaign says, in each form.
add_library(report_campaigns STATIC report_campaigns.c)
target_link_libraries(report_campaigns PUBLIC reports)
hbmstress_add_test(test_reports_junit LIBS report_campaigns LABELS reports)
hbmstress_add_test(test_reports_summary LIBS report_campaigns PkgConfig::JANSSON LABELS reports)
hbmstress_add_test(test_reports_watch LIBS report_campaigns LABELS reports)
hbmstress_add_test(test_memory_track LIBS reports LABELS reports)
hbmstress_add_script_test(reports_junit
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/reports_junit.sh" "$<TARGET_FILE:test_reports_junit>" LABELS reports)
