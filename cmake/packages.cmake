# Libraries from outside.  A missing one stops the configuration with the Debian package that has it.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
    message(FATAL_ERROR "pkg-config is missing: apt-get install pkg-config (or run ci/setup)")
endif()

# Defines PkgConfig::<prefix>.
function(hbmstress_require prefix module debian_package)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${prefix}_FOUND)
        message(FATAL_ERROR "${module} is missing: apt-get install ${debian_package} (or run ci/setup)")
    endif()
endfunction()

hbmstress_require(JANSSON jansson libjansson-dev)
hbmstress_require(NETTLE nettle nettle-dev)
hbmstress_require(INIH inih libinih-dev)
hbmstress_require(DW libdw libdw-dev)
hbmstress_require(ZLIB zlib zlib1g-dev)
hbmstress_require(ZSTD libzstd libzstd-dev)
if(HBMSTRESS_TESTS)
    hbmstress_require(CHECK check check)
    hbmstress_require(Z3 z3 libz3-dev)
endif()
