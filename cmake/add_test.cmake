# Tests are of two kinds: suites of libcheck, test_<name>.c, and scripts.  ctest has one entry for each, so that each can be
# chosen, runs beside others, and has a time limit of its own.

# hbmstress_add_suites(PROGRAM LIBS <library>... [SOURCES <file>...])
#
# Builds the program from the suites that list.h of this folder names, SUITE(name) for test_name.c or SUITE_OF(room, name) for
# room/test_name.c, and SOURCES.  ctest has the test test_name for each; by hand, CK_RUN_SUITE=name chooses one.
function(hbmstress_add_suites program)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "LIBS;SOURCES")
    hbmstress_listed_sources(listed PREFIX test_)
    hbmstress_add_test_program(${program} SOURCES ${listed} ${test_SOURCES} LIBS ${test_LIBS})
    foreach(source IN LISTS listed)
        cmake_path(GET source STEM name)
        hbmstress_add_suite_entry(${name} ${program})
    endforeach()
endfunction()

# hbmstress_add_test(test_NAME [ROOM <folder>] LIBS <library>... [SOURCES <file>...] [LABELS <label>...])
#
# The suite of test_NAME.c, or of that file in the room, as a program of its own: for what is built or linked in another way
# than its neighbours.
function(hbmstress_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "ROOM" "LIBS;SOURCES;LABELS")
    hbmstress_add_test_program(${name} SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${test_ROOM}/${name}.c" ${test_SOURCES}
        LIBS ${test_LIBS})
    hbmstress_add_suite_entry(${name} ${name} LABELS ${test_LABELS})
endfunction()

# hbmstress_label_suites(LABEL test_NAME...): entries of hbmstress_add_suites get the label.
function(hbmstress_label_suites label)
    foreach(name IN LISTS ARGN)
        hbmstress_test_properties(${name} SUITE LABELS ${label})
    endforeach()
endfunction()

# hbmstress_add_script_test(NAME COMMAND <word>... [LABELS <label>...]): a test that is a program of its own.
# It exits with 77 where it cannot run; ctest then says skipped.
function(hbmstress_add_script_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "COMMAND;LABELS")
    add_test(NAME ${name} COMMAND ${test_COMMAND} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    hbmstress_test_properties(${name} LABELS ${test_LABELS})
endfunction()

# hbmstress_run_optimised(TEST...): what these tests ask needs no sanitizer, and takes three times as long under one.  ci/test
# runs them in its build at -O3, ci/exhaustive under sanitizers.
function(hbmstress_run_optimised)
    foreach(name IN LISTS ARGN)
        set_property(TEST ${name} APPEND PROPERTY LABELS optimised)
        set_property(GLOBAL APPEND PROPERTY HBMSTRESS_OPTIMISED_TESTS ${name})
    endforeach()
    hbmstress_start_early(${ARGN})
endfunction()

# hbmstress_build_optimised_only(): programs of suites none of which is labelled optimised are built by name only.
function(hbmstress_build_optimised_only)
    get_property(optimised GLOBAL PROPERTY HBMSTRESS_OPTIMISED_TESTS)
    get_property(programs GLOBAL PROPERTY HBMSTRESS_SUITE_PROGRAMS)
    foreach(program IN LISTS programs)
        get_property(suites GLOBAL PROPERTY HBMSTRESS_SUITES_OF_${program})
        set(needed FALSE)
        foreach(suite IN LISTS suites)
            if(suite IN_LIST optimised)
                set(needed TRUE)
            endif()
        endforeach()
        if(NOT needed)
            set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endforeach()
endfunction()

# hbmstress_leave_to_night(TEST...): they take long, and other tests ask the same of less, or nothing of a program.
function(hbmstress_leave_to_night)
    foreach(name IN LISTS ARGN)
        set_property(TEST ${name} APPEND PROPERTY LABELS nightly)
    endforeach()
endfunction()

# hbmstress_start_early(TEST...): the longest, so that none of them runs alone at the end.
function(hbmstress_start_early)
    set_tests_properties(${ARGN} PROPERTIES COST 4)
endfunction()

# A program of the tests that its sources register.  It knows where the sources, what was built and the field data are from
# the definitions below; field data may be absent, and a test that needs it then says that it was skipped.
function(hbmstress_add_test_program program)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "LIBS;SOURCES")
    add_executable(${program} ${test_SOURCES})
    target_link_libraries(${program} PRIVATE test_helpers ${test_LIBS} PkgConfig::CHECK Threads::Threads)
    target_compile_definitions(${program} PRIVATE
        "HBMSTRESS_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\""
        "HBMSTRESS_BINARY_DIR=\"${CMAKE_BINARY_DIR}\""
        "HBMSTRESS_FIELD_DATA=\"${HBMSTRESS_FIELD_DATA}\""
        "HBMSTRESS_FACTS_DIR=\"${HBMSTRESS_FACTS_DIR}\"")
endfunction()

function(hbmstress_add_suite_entry name program)
    cmake_parse_arguments(PARSE_ARGV 2 test "" "" "LABELS")
    add_test(NAME ${name} COMMAND ${program})
    set_property(GLOBAL APPEND PROPERTY HBMSTRESS_SUITE_PROGRAMS ${program})
    set_property(GLOBAL APPEND PROPERTY HBMSTRESS_SUITES_OF_${program} ${name})
    hbmstress_test_properties(${name} SUITE LABELS ${test_LABELS})
endfunction()

function(hbmstress_test_properties name)
    cmake_parse_arguments(PARSE_ARGV 1 test "SUITE" "" "LABELS")
    # What ci/exhaustive runs asks everything there, which takes longer than other tests may.
    set(seconds_max 600)
    # ctest starts the costliest first, so that none of these runs alone at the end.
    set(cost 1)
    if("exhaustive" IN_LIST test_LABELS)
        set(seconds_max 3600)
        set(cost 3)
    elseif(NOT test_SUITE)
        set(cost 2)
    endif()
    # libcheck gives each case 4 s by default, which a sanitized build on a busy machine may need.
    set(environment "CK_DEFAULT_TIMEOUT=300" "UBSAN_OPTIONS=print_stacktrace=1")
    # Undefined behaviour that traps, as in ci/test, is told with its place, too.
    list(APPEND environment "ASAN_OPTIONS=handle_sigill=1")
    if(test_SUITE)
        string(REGEX REPLACE "^test_" "" suite ${name})
        list(APPEND environment "CK_RUN_SUITE=${suite}")
    endif()
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${seconds_max}
        COST ${cost}
        ENVIRONMENT "${environment}"
        LABELS "${test_LABELS}")
endfunction()
