# `docs` writes docs/settings.md from the list; a test fails where the file is stale.
add_executable(tutti-settings-doc EXCLUDE_FROM_ALL scripts/settings_doc.c)
target_link_libraries(tutti-settings-doc PRIVATE tutti-flags)
set_target_properties(tutti-settings-doc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/docs)
add_custom_target(docs COMMAND sh -c "$<TARGET_FILE:tutti-settings-doc> >${PROJECT_SOURCE_DIR}/docs/settings.md"
                  DEPENDS tutti-settings-doc VERBATIM)
if(NOT TUTTI_SANITIZE)
  set_target_properties(tutti-settings-doc PROPERTIES EXCLUDE_FROM_ALL FALSE)
  add_test(NAME docs.settings COMMAND sh -c
           "$<TARGET_FILE:tutti-settings-doc> | diff -u ${PROJECT_SOURCE_DIR}/docs/settings.md - || { echo 'docs/settings.md is stale: run make docs'; exit 1; }")
  set_tests_properties(docs.settings PROPERTIES LABELS law TIMEOUT 30)
endif()
