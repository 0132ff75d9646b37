# What `make install` puts under the prefix: bin/tutti, lib/, include/tutti/, a pkg-config file, a CMake package.
# Everything finds its parts from its own place, so that the folder may be moved. The command and the front ends are
# installed by tools/ and src/mpi/.
include(CMakePackageConfigHelpers)
set(TUTTI_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
set_target_properties(tutti-core PROPERTIES EXPORT_NAME tutti-core)
install(TARGETS tutti-core EXPORT tuttiTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tutti-openshmem EXPORT tuttiTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tutti-nvshmem tutti-ishmem EXPORT tuttiTargets)
install(DIRECTORY include/tutti DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT tuttiTargets NAMESPACE tutti:: DESTINATION ${TUTTI_PACKAGE_FOLDER})
configure_package_config_file(cmake/tuttiConfig.cmake.in ${CMAKE_BINARY_DIR}/package/tuttiConfig.cmake
                              INSTALL_DESTINATION ${TUTTI_PACKAGE_FOLDER} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/tutti/nvshmem DESTINATION ${CMAKE_INSTALL_LIBDIR}/tutti)
set(packages tutti tutti-openshmem tutti-nvshmem tutti-ishmem)
if(TARGET tutti-fortran)
  install(TARGETS tutti-fortran EXPORT tuttiTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${TUTTI_FORTRAN_FILES} DESTINATION include/tutti/fortran)
  list(APPEND packages tutti-fortran)
endif()
foreach(package IN LISTS packages)
  configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/package/tuttiConfig.cmake ${CMAKE_BINARY_DIR}/package/tuttiConfigVersion.cmake
        DESTINATION ${TUTTI_PACKAGE_FOLDER})
install(FILES LICENSE README.md DESTINATION share/doc/tutti)
install(FILES python/tutti_energy.py DESTINATION share/tutti/python)
