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
if(HBMSTRESS_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()

include_directories("${CMAKE_SOURCE_DIR}")

# The installed libhbm.a must also link where nobody optimises across files.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-ffat-lto-objects)
endif()
