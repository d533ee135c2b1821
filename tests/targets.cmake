hbmstress_add_test(test_targets LIBS targets harness)
hbmstress_add_test(test_targets_plugin LIBS targets scenarios harness)
hbmstress_add_test(test_targets_plants LIBS targets scenarios harness certificate_check SOURCES faulty_scenario.c)

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
