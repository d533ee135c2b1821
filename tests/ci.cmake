hbmstress_add_script_test(format COMMAND "${CMAKE_SOURCE_DIR}/ci/check-format")
hbmstress_add_script_test(format_checker_fires COMMAND "${CMAKE_SOURCE_DIR}/tests/format_checker_fires.sh")
hbmstress_add_script_test(floors COMMAND "${CMAKE_SOURCE_DIR}/ci/check-floors" "${CMAKE_SOURCE_DIR}")
hbmstress_add_script_test(floors_checker_fires COMMAND "${CMAKE_SOURCE_DIR}/tests/floors_checker_fires.sh")
hbmstress_add_script_test(installed_headers_compile
    COMMAND "${CMAKE_SOURCE_DIR}/tests/installed_headers_compile.sh" "${CMAKE_BINARY_DIR}" "${CMAKE_C_COMPILER}")
hbmstress_add_script_test(ci_help COMMAND "${CMAKE_SOURCE_DIR}/tests/ci_help.sh" "${CMAKE_SOURCE_DIR}")
hbmstress_add_script_test(ci_stress COMMAND "${CMAKE_SOURCE_DIR}/tests/ci_stress.sh" "${CMAKE_SOURCE_DIR}")
# README.md and docs/ show commands and what they print; both hold for the programs of this build.
hbmstress_add_script_test(docs_pages
    COMMAND "${CMAKE_SOURCE_DIR}/tests/docs/run_pages.py" "${CMAKE_BINARY_DIR}" LABELS docs)
hbmstress_add_script_test(docs_pages_fires
    COMMAND "${CMAKE_SOURCE_DIR}/tests/docs/run_pages_fires.sh" "${CMAKE_BINARY_DIR}" LABELS docs)
