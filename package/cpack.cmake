# Three Debian packages, one for each install component: hbmstress, libhbm0 and libhbm-dev.  `cpack -G DEB` makes them of any
# build; ci/package makes them of a clean one.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hbmstress)
set(CPACK_PACKAGE_VERSION "${HBMSTRESS_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL hbmstress libhbm0 libhbm-dev)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_LIST_DIR}/deb/date.cmake")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/deb/documents.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/deb/repack.cmake")

# The address belongs to nobody, because names under .invalid cannot exist (RFC 2606).
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "hbmstress developers <hbmstress@hbmstress.invalid>")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # of libhbm0: who links it needs this version or a later one
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_HBMSTRESS_PACKAGE_NAME hbmstress)
set(CPACK_DEBIAN_HBMSTRESS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_HBMSTRESS_PACKAGE_RECOMMENDS man-db)
set(CPACK_DEBIAN_HBMSTRESS_PACKAGE_SUGGESTS "libhbm-dev, gcc | c-compiler, make, cmake, pkg-config, bash-completion")
set(CPACK_DEBIAN_HBMSTRESS_DESCRIPTION [[
stress tester that proves or refutes out-of-memory errors
hbmstress drives an allocator of device memory (HBM) through hostile
workloads, device faults and thread interleavings. It then proves each
out-of-memory justified, or shows the moves that would have made room.
A finding is a short list of operations that replays exactly.

It also explains logs and traces of jobs that ran out of memory.

This package has the programs, jobs to run, examples, pages, and what a
plug-in for an allocator of your own needs: headers and a static library.]])

set(CPACK_DEBIAN_LIBHBM0_PACKAGE_NAME libhbm0)
set(CPACK_DEBIAN_LIBHBM0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBHBM0_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/deb/triggers")
set(CPACK_DEBIAN_LIBHBM0_DESCRIPTION [[
allocator of device memory that moves and evicts - shared library
libhbm places buffers in the high-bandwidth memory (HBM) of an accelerator.
Before it reports that memory is exhausted, it moves blocks together and
evicts what may be evicted.

This package has what a program linked to it needs at run time.]])

set(CPACK_DEBIAN_LIBHBM-DEV_PACKAGE_NAME libhbm-dev)
set(CPACK_DEBIAN_LIBHBM-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBHBM-DEV_PACKAGE_DEPENDS "libhbm0 (= ${HBMSTRESS_VERSION}-1)")
set(CPACK_DEBIAN_LIBHBM-DEV_DESCRIPTION [[
allocator of device memory that moves and evicts - development files
libhbm places buffers in the high-bandwidth memory (HBM) of an accelerator.
Before it reports that memory is exhausted, it moves blocks together and
evicts what may be evicted.

This package has the headers, the static library, and what pkg-config and
CMake need to find them.]])

include(CPack)
