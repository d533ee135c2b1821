# Language, warnings and sanitizers of the whole tree.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
# Position-independent everywhere, because targets that are shared objects link the same libraries.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Nobody measures or ships a build without optimisation by accident.
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT is_multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
if(HBMSTRESS_WERROR)
    add_compile_options(-Werror)
endif()

# libhbm and explore/ know the first name, the harness the second.
if(HBMSTRESS_COSTLY_CHECKS)
    add_compile_definitions(HBM_COSTLY_CHECKS HBMSTRESS_COSTLY_CHECKS)
endif()

if(HBMSTRESS_SANITIZE)
    add_compile_options(-fsanitize=${HBMSTRESS_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HBMSTRESS_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # gcc guesses lengths of strings, and guesses wrong between instrumented statements; the builds
        # without sanitizers keep this warning.
        add_compile_options(-Wno-format-truncation)
    endif()
    if(HBMSTRESS_SANITIZE MATCHES "undefined")
        # A finding that only prints would leave a test green.
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
endif()
if(NOT HBMSTRESS_FUZZ_ENGINE MATCHES "^(|libfuzzer|afl)$")
    message(FATAL_ERROR "HBMSTRESS_FUZZ_ENGINE is libfuzzer, afl or empty, not ${HBMSTRESS_FUZZ_ENGINE}")
endif()
# For files that an engine must not see, as COMPILE_OPTIONS of the source.
set(HBMSTRESS_NOT_INSTRUMENTED "")
if(CMAKE_C_COMPILER MATCHES "afl-clang")
    set(HBMSTRESS_NOT_INSTRUMENTED --afl-noopt)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(HBMSTRESS_NOT_INSTRUMENTED -fno-sanitize=fuzzer-no-link -fno-sanitize-coverage=inline-8bit-counters,pc-table)
endif()
if(HBMSTRESS_FUZZ_ENGINE STREQUAL "libfuzzer")
    # Counters of edges alone.  That compares are seen as well, as -fsanitize=fuzzer-no-link has it, makes an input three
    # times as dear, and lists of ops have no magic numbers to guess.
    add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table)
    add_link_options(-fsanitize=fuzzer-no-link) # for programs that have no engine
endif()
if(HBMSTRESS_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()

include_directories("${CMAKE_SOURCE_DIR}")
