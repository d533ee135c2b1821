# The version for people: of the tag in git if there is one, else of project(VERSION).
#
# As a script it prints the version that it finds, and warns as a configuration would:
#     cmake -DSOURCE=<tree> -DPROJECT=<version of project()> -P cmake/version.cmake

# A tag vMAJOR.MINOR.PATCH on this commit gives MAJOR.MINOR.PATCH; on an earlier one, MAJOR.MINOR.PATCH+N.gHASH: N commits
# later, at HASH.  Other tags are none.  Without git, in a tree that is no repository of its own (unpacked from an archive,
# copied into another repository, of another user) and in a shallow clone without the tag it is project(VERSION).  Changes
# that are not committed are not in it: they come and go between two configurations.
function(hbmstress_find_version source project result)
    set(${result} "${project}" PARENT_SCOPE)
    hbmstress_ask_git("${source}" top rev-parse --show-toplevel)
    file(REAL_PATH "${source}" real_source)
    if(NOT top STREQUAL real_source)
        return()
    endif()
    hbmstress_ask_git("${source}" said describe --tags --long --abbrev=12 --match "v[0-9]*.[0-9]*.[0-9]*"
        --exclude "v*[!0-9.]*" --exclude "v*.*.*.*" HEAD)
    if(NOT said MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)-([0-9]+)-(g[0-9a-f]+)$")
        return()
    endif()
    set(version "${CMAKE_MATCH_1}")
    if(NOT CMAKE_MATCH_2 EQUAL 0)
        string(APPEND version "+${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
    endif()
    if(NOT CMAKE_MATCH_1 STREQUAL project)
        message(WARNING "the tag v${CMAKE_MATCH_1} and the file VERSION (${project}) differ: "
            "docs/stability.md says how a release is made")
    endif()
    set(${result} "${version}" PARENT_SCOPE)
endfunction()

# hbmstress_watch_version(<tree>): CMake runs again when a commit, a checkout or a tag may have changed the version.
function(hbmstress_watch_version source)
    hbmstress_ask_git("${source}" branch symbolic-ref --quiet HEAD)
    foreach(name IN ITEMS HEAD logs/HEAD packed-refs refs/tags ${branch})
        hbmstress_ask_git("${source}" path rev-parse --git-path ${name})
        cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${source}")
        if(path AND EXISTS "${path}")
            set_property(DIRECTORY "${source}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        endif()
    endforeach()
endfunction()

# What git prints, or nothing where it cannot tell.  Variables that a hook of git sets would name another repository.
function(hbmstress_ask_git source result)
    find_program(HBMSTRESS_GIT git)
    mark_as_advanced(HBMSTRESS_GIT)
    set(${result} "" PARENT_SCOPE)
    if(NOT HBMSTRESS_GIT)
        return()
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=GIT_DIR --unset=GIT_WORK_TREE --unset=GIT_INDEX_FILE --unset=GIT_COMMON_DIR
            ${HBMSTRESS_GIT} -C "${source}" ${ARGN}
        OUTPUT_VARIABLE printed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0)
        set(${result} "${printed}" PARENT_SCOPE)
    endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    hbmstress_find_version("${SOURCE}" "${PROJECT}" HBMSTRESS_VERSION)
    message(NOTICE "${HBMSTRESS_VERSION}")
    return()
endif()
hbmstress_find_version("${CMAKE_SOURCE_DIR}" "${PROJECT_VERSION}" HBMSTRESS_VERSION)
hbmstress_watch_version("${CMAKE_SOURCE_DIR}")
