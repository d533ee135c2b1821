# Included by the builds of fuzz/build.sh alone: libraries of others are taken as archives.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
