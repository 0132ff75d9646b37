# Manual pages and the completion for bash, made from the command's help and the public headers by what was just built.
if(NOT TARGET tutti-command)
  return() # under a sanitizer there is no command
endif()
set(scripts ${PROJECT_SOURCE_DIR}/scripts)
set(completion ${CMAKE_BINARY_DIR}/share/bash-completion/completions/tutti)
add_custom_command(OUTPUT ${completion}
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/share/bash-completion/completions
                   COMMAND sh -c "${scripts}/completion.sh $<TARGET_FILE:tutti-command> >${completion}"
                   DEPENDS tutti-command ${scripts}/completion.sh VERBATIM)
add_custom_target(tutti-completion ALL DEPENDS ${completion})
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

find_program(TUTTI_SCDOC scdoc)
mark_as_advanced(TUTTI_SCDOC)
if(NOT TUTTI_SCDOC)
  message(STATUS "scdoc was not found: manual pages are left out")
  return()
endif()
file(GLOB man_sources CONFIGURE_DEPENDS ${scripts}/man/*.awk ${PROJECT_SOURCE_DIR}/include/tutti/mpix*)
set(man ${CMAKE_BINARY_DIR}/share/man)
add_custom_command(OUTPUT ${man}.made
                   COMMAND ${scripts}/man.sh $<TARGET_FILE:tutti-command> ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} ${man}
                   COMMAND ${CMAKE_COMMAND} -E touch ${man}.made
                   DEPENDS tutti-command ${scripts}/man.sh ${man_sources}
                           ${PROJECT_SOURCE_DIR}/include/tutti/shmem.h VERBATIM)
add_custom_target(tutti-man ALL DEPENDS ${man}.made)
install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
