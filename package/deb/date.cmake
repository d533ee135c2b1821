# Read first by cpack.  The date of all that is packed is that of the commit, or a fixed one where git knows none, so that two
# builds of one commit give the same bytes.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
    set(date 1767225600) # 2026-01-01 00:00:00 UTC
    execute_process(COMMAND git -C "${CMAKE_CURRENT_LIST_DIR}" log -1 --format=%ct
        OUTPUT_VARIABLE committed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(status STREQUAL "0" AND committed MATCHES "^[0-9]+$")
        set(date ${committed})
    endif()
    set(ENV{SOURCE_DATE_EPOCH} ${date})
endif()
