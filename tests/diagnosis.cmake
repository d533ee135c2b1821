# Why a run ended, and what would have helped.
hbmstress_add_test(test_causes LIBS diagnosis targets)
hbmstress_add_test(test_leak LIBS diagnosis targets m SOURCES leak_traces.c)
hbmstress_add_script_test(cli_explain
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_explain.sh" "$<TARGET_FILE:hbmstress>" "${CMAKE_SOURCE_DIR}/corpus/causes"
    LABELS cli)
hbmstress_add_test(test_remedies LIBS diagnosis targets SOURCES remedy_lists.c)
hbmstress_add_test(test_what_if LIBS diagnosis scenarios targets SOURCES remedy_lists.c)
