# `docs` writes docs/settings.md and docs/statistics.md from the lists; a test fails where a file is stale.
add_custom_target(docs)
foreach(page settings statistics)
  add_executable(tutti-${page}-doc EXCLUDE_FROM_ALL scripts/${page}_doc.c)
  target_link_libraries(tutti-${page}-doc PRIVATE tutti-flags)
  target_include_directories(tutti-${page}-doc PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(tutti-${page}-doc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/docs)
  add_custom_target(docs-${page} COMMAND sh -c "$<TARGET_FILE:tutti-${page}-doc> >${PROJECT_SOURCE_DIR}/docs/${page}.md"
                    DEPENDS tutti-${page}-doc VERBATIM)
  add_dependencies(docs docs-${page})
  if(NOT TUTTI_SANITIZE)
    set_target_properties(tutti-${page}-doc PROPERTIES EXCLUDE_FROM_ALL FALSE)
    add_test(NAME docs.${page} COMMAND sh -c
             "$<TARGET_FILE:tutti-${page}-doc> | diff -u ${PROJECT_SOURCE_DIR}/docs/${page}.md - || { echo 'docs/${page}.md is stale: run make docs'; exit 1; }")
    set_tests_properties(docs.${page} PROPERTIES LABELS law TIMEOUT 30)
  endif()
endforeach()
