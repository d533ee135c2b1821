# Other allocators that a user has the sources of.  Nothing of them is in this tree, nor how to build them: the user says
# what the compiler needs of the copy, as folders to include, files to compile, and flags.
set(HBMSTRESS_PEERS "" CACHE PATH
    "A folder: each line of its file NAME.needs is a folder, a source or a flag that the peer NAME needs to be built")

# hbmstress_peer_needs(NAME RESULT): what HBMSTRESS_PEER_NAME lists, or else NAME.needs in HBMSTRESS_PEERS; empty: nothing.
function(hbmstress_peer_needs name result)
    string(TOUPPER ${name} variable)
    set(HBMSTRESS_PEER_${variable} "" CACHE STRING "What ${name} needs to be built: folders, sources, flags; empty: it is skipped")
    set(needs ${HBMSTRESS_PEER_${variable}})
    if(NOT needs AND EXISTS "${HBMSTRESS_PEERS}/${name}.needs")
        file(STRINGS "${HBMSTRESS_PEERS}/${name}.needs" needs)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${HBMSTRESS_PEERS}/${name}.needs")
    endif()
    set(${result} "${needs}" PARENT_SCOPE)
endfunction()

# hbmstress_add_peer_needs(TARGET NAME NEED...): relative paths are below HBMSTRESS_PEERS.
function(hbmstress_add_peer_needs target name)
    foreach(need IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH need BASE_DIRECTORY "${HBMSTRESS_PEERS}" OUTPUT_VARIABLE path)
        if(need MATCHES "^-Wl,")
            target_link_options(${target} PUBLIC ${need})
        elseif(need MATCHES "^-")
            target_compile_options(${target} PRIVATE ${need})
        elseif(IS_DIRECTORY "${path}")
            target_include_directories(${target} SYSTEM PRIVATE "${path}")
        elseif(EXISTS "${path}")
            target_sources(${target} PRIVATE "${path}")
            set_source_files_properties("${path}" PROPERTIES COMPILE_OPTIONS -w)
        else()
            string(TOUPPER ${name} variable)
            message(FATAL_ERROR "HBMSTRESS_PEER_${variable}: there is no file or folder ${need}")
        endif()
    endforeach()
endfunction()
