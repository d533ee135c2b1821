# Run by cpack when the files of all packages lie ready: adds what Debian wants in /usr/share/doc/PACKAGE, takes out of static
# libraries what no link needs, and gives every file the date of SOURCE_DATE_EPOCH.
set(sources "${CMAKE_CURRENT_LIST_DIR}/../..")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

# gzip names neither the file nor its date in what it writes.
function(write_compressed path text)
    file(WRITE "${path}" "${text}")
    execute_process(COMMAND gzip -9n "${path}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(package IN LISTS CPACK_COMPONENTS_ALL)
    set(documents "${CPACK_TEMPORARY_DIRECTORY}/${package}/usr/share/doc/${package}")
    write_compressed("${documents}/changelog.Debian"
"hbmstress (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packages of version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
    if(EXISTS "${sources}/CHANGELOG.md")
        file(READ "${sources}/CHANGELOG.md" changes)
        write_compressed("${documents}/changelog" "${changes}")
    endif()
    file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/copyright" "${documents}/copyright")
endforeach()

file(GLOB_RECURSE archives "${CPACK_TEMPORARY_DIRECTORY}/*.a")
foreach(archive IN LISTS archives)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives --remove-section=.comment
        --remove-section=.note --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
        --strip-symbol=__gnu_lto_slim --strip-symbol=__gnu_lto_v1 "${archive}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Which compiler it was is of no use to a program.
file(GLOB programs "${CPACK_TEMPORARY_DIRECTORY}/*/usr/bin/*" "${CPACK_TEMPORARY_DIRECTORY}/*/usr/lib/*/*.so.*")
foreach(program IN LISTS programs)
    execute_process(COMMAND strip --remove-section=.comment "${program}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Modes do not depend on the umask of whoever builds.
execute_process(COMMAND chmod -R u=rwX,go=rX "${CPACK_TEMPORARY_DIRECTORY}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}" -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
