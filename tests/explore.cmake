hbmstress_add_test(test_strategies LIBS explore SOURCES simulated_lanes.c)
hbmstress_add_test(test_strategy_exhaustive LIBS explore SOURCES simulated_lanes.c)
hbmstress_add_test(test_strategy_replay LIBS explore SOURCES simulated_lanes.c)
hbmstress_add_test(test_order LIBS explore)
hbmstress_add_test(test_place LIBS explore)

# With the real thread sanitizer there are no lanes of ours to be seen in.
if(HBMSTRESS_SANITIZE MATCHES "thread")
    add_custom_target(test_instrumented_unused SOURCES test_instrumented.c explored_code.c)
else()
    hbmstress_add_explored_target(explored_code SOURCES explored_code.c KIND STATIC)
    hbmstress_add_test(test_instrumented LIBS explored_code explore)
    hbmstress_hosts_explored(test_instrumented)
endif()
hbmstress_add_script_test(explored_plugin
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/explored_plugin.sh" "$<TARGET_FILE:hbmstress>" "$<TARGET_FILE:hbm_explored>"
    LABELS cli)
foreach(subject IN ITEMS locks waits threads)
    hbmstress_add_test(test_pthreads_${subject} LIBS explore SOURCES pthreads_rig.c)
endforeach()
add_library(pthreads_plugin MODULE pthreads_plugin.c)
set_target_properties(pthreads_plugin PROPERTIES PREFIX "")
add_dependencies(test_pthreads_threads pthreads_plugin)

# What our functions order, a thread sanitizer sees ordered; and nothing else.
add_executable(pthreads_ordered pthreads_ordered.c pthreads_rig.c)
target_link_libraries(pthreads_ordered PRIVATE explore PkgConfig::CHECK)
add_test(NAME pthreads_ordered COMMAND pthreads_ordered)
if(HBMSTRESS_SANITIZE MATCHES "thread")
    add_test(NAME pthreads_unordered COMMAND pthreads_ordered unordered)
    set_tests_properties(pthreads_unordered PROPERTIES PASS_REGULAR_EXPRESSION "data race .*pthreads_ordered.c")
    # It must not see the strategy; and the tests break what it watches on purpose.
    set_source_files_properties(pthreads_rig.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
    foreach(subject IN ITEMS locks waits threads)
        target_compile_options(test_pthreads_${subject} PRIVATE -fno-sanitize=thread)
        target_compile_definitions(test_pthreads_${subject} PRIVATE EXPLORE_REAL_LOCKS)
        set_property(TEST test_pthreads_${subject} APPEND PROPERTY ENVIRONMENT
            "TSAN_OPTIONS=report_bugs=0:exitcode=0")
    endforeach()
endif()
