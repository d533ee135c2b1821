hbmstress_add_test(test_targets LIBS targets harness)
hbmstress_add_test(test_targets_plugin LIBS targets scenarios harness)
hbmstress_add_test(test_targets_plants LIBS targets scenarios harness certificate_check SOURCES faulty_scenario.c)
hbmstress_add_test(test_races_table LIBS targets scenarios harness SOURCES faulty_scenario.c)

# Shared objects that the loader must refuse, all of one source.
set(bad_plugin_dir "${CMAKE_CURRENT_BINARY_DIR}/bad_plugins")
foreach(bad IN ITEMS no_symbol abi size no_stats hold programs defragment)
    string(TOUPPER "BAD_${bad}" bad_definition)
    add_library(bad_${bad} MODULE test_targets_bad_plugin.c)
    target_compile_definitions(bad_${bad} PRIVATE ${bad_definition})
    # The stand-ins are never called: their types do not matter.
    target_compile_options(bad_${bad} PRIVATE -Wno-cast-function-type)
    set_target_properties(bad_${bad} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${bad_plugin_dir}")
    add_dependencies(test_targets_plugin bad_${bad})
endforeach()
add_dependencies(test_targets_plugin example)
target_compile_definitions(test_targets_plugin PRIVATE
    "BAD_PLUGIN_DIR=\"${bad_plugin_dir}\"" "EXAMPLE_DIR=\"$<TARGET_FILE_DIR:example>\"")
hbmstress_add_test(test_regressions LIBS targets harness)
hbmstress_add_test(test_races LIBS targets harness)
hbmstress_add_test(test_hbm_lanes_thread LIBS harness targets scenarios)
hbmstress_add_test(test_lanes_exhaustive LIBS targets harness LABELS exhaustive)

# Accesses of code that the real thread sanitizer looks at are not seen by lanes.
if(HBMSTRESS_SANITIZE MATCHES "thread")
    add_custom_target(test_races_order_unused SOURCES test_races_order.c)
else()
    hbmstress_add_test(test_races_order LIBS targets scenarios harness)
    hbmstress_hosts_explored(test_races_order)
    add_dependencies(test_races_order threaded_explored hbm_explored)
    target_compile_definitions(test_races_order PRIVATE
        "THREADED_EXPLORED=\"$<TARGET_FILE:threaded_explored>\"" "HBM_EXPLORED=\"$<TARGET_FILE:hbm_explored>\"")
endif()

# Loads what a script compiles, so it is no test by itself.
add_executable(test_worker test_worker.c)
target_link_libraries(test_worker PRIVATE targets scenarios harness PkgConfig::CHECK Threads::Threads)
hbmstress_add_script_test(explored_worker
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/explored_worker.sh" "$<TARGET_FILE:test_worker>")

# Measures, and asserts nothing: run by hand.
add_executable(races_measure races_measure.c)
target_link_libraries(races_measure PRIVATE targets harness Threads::Threads)
