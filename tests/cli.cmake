# The program from end to end, and what lies under it.
hbmstress_add_test(test_cli LIBS cli)
hbmstress_add_test(test_cli_commit LIBS cli)
hbmstress_add_test(test_export LIBS cli SOURCES export_rig.c)
hbmstress_add_test(test_export_formats LIBS cli PkgConfig::JANSSON SOURCES export_rig.c)
hbmstress_add_script_test(cli_export
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_export.sh" "$<TARGET_FILE:hbmstress>" "${CMAKE_SOURCE_DIR}/corpus/field"
    LABELS cli)
hbmstress_add_test(test_death LIBS cli)
hbmstress_add_test(test_shrink LIBS cli SOURCES two_defects.c)
hbmstress_add_test(test_deaths LIBS cli SOURCES faulty_scenario.c LABELS exhaustive)
hbmstress_add_test(test_cli_reports LIBS reports PkgConfig::JANSSON)

# The program with one judge that lies, linked before the one in its library.
foreach(liar IN ITEMS cli_lying_checker cli_lying_judge)
    add_executable(${liar} ${liar}.c "${CMAKE_SOURCE_DIR}/cli/main.c")
    target_link_libraries(${liar} PRIVATE cli)
endforeach()
add_executable(cli_dead_canary cli_dead_canary.c "${CMAKE_SOURCE_DIR}/cli/main.c")
target_link_libraries(cli_dead_canary PRIVATE cli)
hbmstress_add_script_test(cli_campaign
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_campaign.sh" "$<TARGET_FILE:hbmstress>" "$<TARGET_FILE:cli_dead_canary>"
    LABELS cli)
hbmstress_add_script_test(cli_disputes
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_disputes.sh" "$<TARGET_FILE:hbmstress>" "$<TARGET_FILE:cli_lying_checker>"
            "$<TARGET_FILE:cli_lying_judge>"
    LABELS cli)

hbmstress_add_script_test(cli_deaths
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_deaths.sh" "$<TARGET_FILE:hbmstress>" LABELS cli)

add_library(test_cli_bad_target MODULE test_cli_bad_target.c)
set_target_properties(test_cli_bad_target PROPERTIES PREFIX "")
foreach(script IN ITEMS help bad_input certificates findings lanes same_bytes shrink watch what_if world job)
    hbmstress_add_script_test(cli_${script}
        COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_${script}.sh" "$<TARGET_FILE:hbmstress>"
                "$<IF:$<STREQUAL:${script},findings>,$<TARGET_FILE:test_cli_bad_target>,${CMAKE_SOURCE_DIR}/scenarios/jobs/smoke.ini>"
        LABELS cli)
endforeach()

add_library(test_cli_flawed_target MODULE flawed_target.c)
set_target_properties(test_cli_flawed_target PROPERTIES PREFIX "")
target_link_libraries(test_cli_flawed_target PRIVATE targets)
hbmstress_add_script_test(cli_sweep
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cli_sweep.sh" "$<TARGET_FILE:hbmstress>" "$<TARGET_FILE:test_cli_flawed_target>"
            "${CMAKE_SOURCE_DIR}/scenarios/jobs/smoke.ini"
    LABELS cli)
