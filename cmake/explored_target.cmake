# Targets whose atomic operations are steps of the scheduler and whose plain accesses are checked for races: compiled
# for the thread sanitizer, but linked to explore/private/instrumented.h.  With the real one they are built like all others.

# What such code calls by name and explore/ wants to see; see explore/instrumented_memory.c.
set(HBMSTRESS_EXPLORED_CALLS memcpy memmove memset malloc calloc realloc aligned_alloc posix_memalign free)

# hbmstress_add_explored_target(NAME SOURCES <file>... [KIND MODULE|STATIC] [LIBRARIES <library>...]
#                               [DEFINITIONS <definition>...])
#
# MODULE (the default) is a plug-in NAME.so that exports its table, and no more; the program that loads it has
# the runtime (hbmstress_hosts_explored), and no library of the plug-in may bring explore/ with it: its lanes would not
# be those of the program.  STATIC is a library for a program that is linked to it.
function(hbmstress_add_explored_target name)
    cmake_parse_arguments(PARSE_ARGV 1 explored "" "KIND" "SOURCES;LIBRARIES;DEFINITIONS")
    if(explored_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "hbmstress_add_explored_target(${name}): what is ${explored_UNPARSED_ARGUMENTS}?")
    endif()
    if(NOT explored_KIND)
        set(explored_KIND MODULE)
    endif()
    if(NOT explored_KIND MATCHES "^(MODULE|STATIC)$")
        message(FATAL_ERROR "hbmstress_add_explored_target(${name}): KIND is MODULE or STATIC, not ${explored_KIND}")
    endif()
    add_library(${name} ${explored_KIND} ${explored_SOURCES})
    target_compile_definitions(${name} PRIVATE ${explored_DEFINITIONS})
    target_link_libraries(${name} PRIVATE ${explored_LIBRARIES})
    if(explored_KIND STREQUAL "MODULE")
        # Of two copies of the same code, one in the program and one here, each must call its own.
        set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)
        set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/plugin_exports.map")
        target_link_options(${name} PRIVATE -Wl,-Bsymbolic "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/plugin_exports.map")
    endif()
    if(NOT HBMSTRESS_SANITIZE MATCHES "thread")
        hbmstress_instrument(${name} ${explored_KIND})
    endif()
endfunction()

# The compiler's calls to the sanitizer stay undefined: nothing that links its runtime may be left among the options.
function(hbmstress_instrument name kind)
    foreach(property IN ITEMS COMPILE_OPTIONS LINK_OPTIONS)
        get_target_property(options ${name} ${property})
        if(options)
            list(FILTER options EXCLUDE REGEX "sanitize|--coverage|lto")
            set_property(TARGET ${name} PROPERTY ${property} "${options}")
        endif()
    endforeach()
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    # Calls that the compiler would expand in place would not be seen.  Fences are (gcc warns that its own sanitizer
    # does not know them).
    # CFLAGS, too, may name a sanitizer, as those of a fleet of fuzzers do.
    target_compile_options(${name} PRIVATE -fno-sanitize=all -fsanitize=thread -g
        -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
    if(kind STREQUAL "MODULE")
        foreach(call IN LISTS HBMSTRESS_EXPLORED_CALLS)
            target_link_options(${name} PRIVATE -Wl,--wrap=${call})
        endforeach()
        return()
    endif()
    target_link_libraries(${name} PUBLIC explore)
    # --wrap would reach all of the program that links it.
    set(renamed "")
    foreach(call IN LISTS HBMSTRESS_EXPLORED_CALLS)
        list(APPEND renamed --redefine-sym ${call}=__wrap_${call})
    endforeach()
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_OBJCOPY} ${renamed} $<TARGET_FILE:${name}> VERBATIM)
endfunction()

# The program can load plug-ins that are explored targets.
function(hbmstress_hosts_explored program)
    target_link_libraries(${program} PRIVATE explore)
    target_link_options(${program} PRIVATE -Wl,--undefined=instrumented_link)
    # Nothing else: what a plug-in has of its own under the same name must stay its own.
    target_link_options(${program} PRIVATE "-Wl,--export-dynamic-symbol=__tsan_*" "-Wl,--export-dynamic-symbol=__wrap_*")
endfunction()
