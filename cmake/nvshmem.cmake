# For programs written for NVSHMEM and for Intel SHMEM, as they are: targets with <nvshmem.h> and with <ishmem.h>, and the
# folder lib/tutti/nvshmem, which stands where programs look for NVSHMEM (NVSHMEM_HOME): include/, lib/ with the names
# that they link, and lib/cmake/nvshmem/. Links in it are relative, and lead to the same places in the build folder and
# where it is installed.
foreach(name nvshmem ishmem)
  add_library(tutti-${name} INTERFACE)
  target_link_libraries(tutti-${name} INTERFACE tutti-core)
  target_include_directories(tutti-${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/tutti/${name}>
                             $<INSTALL_INTERFACE:include/tutti/${name}>)
  target_link_options(tutti-${name} INTERFACE "SHELL:-Xlinker --no-as-needed") # the MPI, which starts the program
endforeach()

set(nvshmem ${CMAKE_BINARY_DIR}/lib/tutti/nvshmem)
file(MAKE_DIRECTORY ${nvshmem}/include ${nvshmem}/lib)
if(NOT EXISTS ${CMAKE_BINARY_DIR}/include)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include SYMBOLIC)
endif()
file(CREATE_LINK ../../../../include/tutti ${nvshmem}/include/tutti SYMBOLIC)
foreach(header nvshmem.h nvshmemx.h nvshmem_host.h nvshmemx_error.h device_host)
  file(CREATE_LINK tutti/nvshmem/${header} ${nvshmem}/include/${header} SYMBOLIC)
endforeach()
# libtutti.so loads the front end of the MPI from its own folder.
foreach(library .so -core.so -core.so.0 ${TUTTI_FRONTS})
  if(NOT library MATCHES "so")
    set(library -${library}.so)
  endif()
  file(CREATE_LINK ../../../libtutti${library} ${nvshmem}/lib/libtutti${library} SYMBOLIC)
endforeach()
# -lnvshmem and -lnvshmem_host are Tutti's libraries. Kernels need nothing but the headers; programs name a library for
# them all the same, and nvcc's linker wants it to hold an object.
foreach(library nvshmem nvshmem_host)
  file(WRITE ${nvshmem}/lib/lib${library}.so "/* GNU ld script */\nINPUT ( -ltutti -ltutti-core )\n")
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/nvshmem_device.c "extern const char tutti_nvshmem_device;\nconst char tutti_nvshmem_device = 0;\n")
add_library(tutti-nvshmem-device STATIC ${CMAKE_BINARY_DIR}/nvshmem_device.c)
set_target_properties(tutti-nvshmem-device PROPERTIES OUTPUT_NAME nvshmem_device ARCHIVE_OUTPUT_DIRECTORY ${nvshmem}/lib)
configure_file(cmake/NVSHMEMConfig.cmake.in ${nvshmem}/lib/cmake/nvshmem/NVSHMEMConfig.cmake @ONLY)
