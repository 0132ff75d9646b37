# Fortran and Python.
# ---- other languages ----
foreach(name sums_mpi sums_f08)
  tutti_mpi_program(mpi-${name} SOURCES languages/device_memory.f90 languages/${name}.f90 LANGUAGE Fortran LIBRARIES mpi-support
                    MPIS ${TUTTI_MPI_SYSTEM})
  tutti_mpi_test(mpi-${name} PROGRAM mpi-${name} RANKS 2 ENV ${stats})
endforeach()
tutti_mpi_program(mpi-allocated SOURCES languages/allocated.f90 LANGUAGE Fortran MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_test(mpi-allocated PROGRAM mpi-allocated RANKS 2 ENV TUTTI_HOST_STRICT=0)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  foreach(name sums_mpi sums_f08 allocated)
    if(TARGET mpi-${name}.${mpi})
      # `use mpi` of some MPIs has no interfaces for choice buffers.
      target_compile_options(mpi-${name}.${mpi} PRIVATE -fallow-argument-mismatch)
      set_target_properties(mpi-${name}.${mpi} PROPERTIES
                            Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.${mpi}.mod)
    endif()
  endforeach()
endforeach()
tutti_mpi_test(mpi-mpi4py PROGRAM @PYTHON@ ${CMAKE_CURRENT_SOURCE_DIR}/languages/sums.py RANKS 2 EVERYWHERE
               ENV TUTTI_TEST_CORE=$<TARGET_FILE:tutti-core>)
