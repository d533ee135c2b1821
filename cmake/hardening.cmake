# Programs that resist what a target or a file makes of them, and that are the same bytes wherever they were built:
# ci/check-hardening looks at the result.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)

# Without it CMake compiles for an executable at any address and links one at a fixed address.
check_pie_supported(LANGUAGES C)

function(hbmstress_compile_if_known flag)
    string(MAKE_C_IDENTIFIER "HBMSTRESS_HAS${flag}" has_flag)
    check_c_compiler_flag(${flag} ${has_flag})
    if(${has_flag})
        add_compile_options(${flag})
    endif()
endfunction()

# Messages name files from the root of the tree, also where ccache makes paths relative to the build.
file(RELATIVE_PATH from_build "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
hbmstress_compile_if_known("-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
hbmstress_compile_if_known("-fmacro-prefix-map=${from_build}=")

# Sanitizers have checks of their own, which see more.  Counters of lines are read next to the files that they name, and
# findings of a fuzzer are looked up in them: they keep whole paths.
if(NOT HBMSTRESS_SANITIZE AND NOT HBMSTRESS_FUZZ_ENGINE AND NOT HBMSTRESS_COVERAGE)
    hbmstress_compile_if_known(-fstack-protector-strong)
    hbmstress_compile_if_known(-fstack-clash-protection)
    hbmstress_compile_if_known("-fdebug-prefix-map=${CMAKE_SOURCE_DIR}/=")
    hbmstress_compile_if_known("-fdebug-prefix-map=${CMAKE_SOURCE_DIR}=.")
    hbmstress_compile_if_known("-fdebug-prefix-map=${CMAKE_BINARY_DIR}=.") # the last one that fits counts
    # Checked copies need an optimiser.  Builds of type Debug and None say themselves how they are optimised.
    set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
    add_compile_options("$<${optimised}:-U_FORTIFY_SOURCE>" "$<${optimised}:-D_FORTIFY_SOURCE=3>")
endif()

# Addresses of functions are found at the start, and nobody writes over them later.
foreach(flag IN ITEMS -Wl,-z,relro -Wl,-z,now)
    string(MAKE_C_IDENTIFIER "HBMSTRESS_LINKS${flag}" links_flag)
    check_linker_flag(C ${flag} ${links_flag})
    if(${links_flag})
        add_link_options(${flag})
    endif()
endforeach()
