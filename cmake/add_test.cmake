# hbmstress_add_test(NAME LIBS <library>... [SOURCES <file>...] [LABELS <label>...])
#
# Builds the libcheck program NAME from NAME.c (and SOURCES) and gives it to ctest.  It knows where the
# sources, what was built and the field data are from the definitions below; field data
# may be absent, and a test that needs it then says that it was skipped.
function(hbmstress_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "LIBS;SOURCES;LABELS")
    if(test_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "hbmstress_add_test(${name}): what is ${test_UNPARSED_ARGUMENTS}?")
    endif()
    add_executable(${name} ${name}.c ${test_SOURCES})
    target_link_libraries(${name} PRIVATE ${test_LIBS} PkgConfig::CHECK Threads::Threads)
    target_compile_definitions(${name} PRIVATE
        "HBMSTRESS_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\""
        "HBMSTRESS_BINARY_DIR=\"${CMAKE_BINARY_DIR}\""
        "HBMSTRESS_FIELD_DATA=\"${HBMSTRESS_FIELD_DATA}\""
        "HBMSTRESS_FACTS_DIR=\"${HBMSTRESS_FACTS_DIR}\"")
    add_test(NAME ${name} COMMAND ${name})
    hbmstress_test_properties(${name} LABELS ${test_LABELS})
endfunction()

# hbmstress_add_script_test(NAME COMMAND <word>... [LABELS <label>...]): a test that is a program of its own.
# It exits with 77 where it cannot run; ctest then says skipped.
function(hbmstress_add_script_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "COMMAND;LABELS")
    add_test(NAME ${name} COMMAND ${test_COMMAND} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    hbmstress_test_properties(${name} LABELS ${test_LABELS})
endfunction()

function(hbmstress_test_properties name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "LABELS")
    # What ci/exhaustive runs asks everything there, which takes longer than other tests may.
    set(seconds_max 600)
    if("exhaustive" IN_LIST test_LABELS)
        set(seconds_max 3600)
    endif()
    # libcheck gives each case 4 s by default, which a sanitized build on a busy machine may need.
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${seconds_max}
        ENVIRONMENT "CK_DEFAULT_TIMEOUT=300;UBSAN_OPTIONS=print_stacktrace=1"
        LABELS "${test_LABELS}")
endfunction()
