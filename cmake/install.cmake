# What `make install` puts under the prefix: bin/tutti, lib/, include/tutti/, a pkg-config file, a CMake package.
# Everything in it finds its parts by its own place.
install(TARGETS tutti-core EXPORT tuttiTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(tutti-core PROPERTIES EXPORT_NAME tutti-core)
foreach(target tutti-preload tutti-openmpi tutti-mpich tutti-mpiabi)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
