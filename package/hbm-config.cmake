# find_package(hbm) has hbm::hbm, which is libhbm.so, and hbm::hbm_static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/hbm-targets.cmake")
