# hbmstress_listed_sources(RESULT [FILE] [PREFIX <prefix>]): the sources that a folder's list names.
#
# FILE (list.h by default) has one line for each thing, MACRO(name) or MACRO(room, name), and that is the only place where the
# thing is listed: its source is name.c or room/name.c, name with the prefix in front, and C includes the same file for
# declarations and tables.
function(hbmstress_listed_sources result)
    cmake_parse_arguments(PARSE_ARGV 1 list "" "PREFIX" "")
    set(list "${CMAKE_CURRENT_SOURCE_DIR}/list.h")
    if(list_UNPARSED_ARGUMENTS)
        set(list "${CMAKE_CURRENT_SOURCE_DIR}/${list_UNPARSED_ARGUMENTS}")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
    file(STRINGS "${list}" lines REGEX "^[A-Z_]+\\([a-z0-9_, ]+\\)")
    set(sources "")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[A-Z_]+\\(([a-z0-9_, ]+)\\).*" "\\1" words "${line}")
        string(REPLACE ", " "/" words "${words}")
        string(REGEX REPLACE "([^/]+)$" "${list_PREFIX}\\1" words "${words}")
        list(APPEND sources "${words}.c")
    endforeach()
    if(NOT sources)
        message(FATAL_ERROR "${list} lists nothing")
    endif()
    list(REMOVE_DUPLICATES sources)
    set(${result} "${sources}" PARENT_SCOPE)
endfunction()
