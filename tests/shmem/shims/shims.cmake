# Programs written for NVSHMEM and Intel SHMEM: run on the host device, and the names of both libraries. Included by
# tests/shmem/CMakeLists.txt, which knows TUTTI_CXX, TUTTI_PYTHON3 and the MPIs that programs are built with (builders).
set(shims ${CMAKE_CURRENT_LIST_DIR})
tutti_mpi_program(mpi-shmem-nvshmem SOURCES shims/nvshmem.c LIBRARIES tutti-nvshmem MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_test(mpi-shmem-nvshmem PROGRAM mpi-shmem-nvshmem RANKS 3 RANKS_MPICH 2)
tutti_mpi_test(mpi-shmem-nvshmem-device PROGRAM mpi-shmem-nvshmem RANKS 2 ENV TUTTI_SHMEM_HEAP=device)
tutti_mpi_test(mpi-shmem-nvshmem-nodes PROGRAM mpi-shmem-nvshmem RANKS 2 MPIS openmpi ENV TUTTI_NODE_RANKS=1)
set_source_files_properties(shims/nvshmem_kernels.c PROPERTIES COMPILE_OPTIONS -O0) # seconds to compile otherwise
tutti_mpi_program(mpi-shmem-nvshmem-kernels SOURCES shims/nvshmem_kernels.c LIBRARIES tutti-nvshmem MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_test(mpi-shmem-nvshmem-kernels PROGRAM mpi-shmem-nvshmem-kernels RANKS 2)
# One that is not linked with an MPI: the library of the one that started it is loaded.
add_executable(shmem-nvshmem-alone shims/nvshmem_kernels.c)
target_link_libraries(shmem-nvshmem-alone PRIVATE tutti-nvshmem)
tutti_mpi_test(mpi-shmem-nvshmem-alone PROGRAM $<TARGET_FILE:shmem-nvshmem-alone> RANKS 2 NO_PRELOAD)
# Where the state of kernels goes.
tutti_mpi_program(mpi-shmem-module SOURCES shims/module.c ${kit} LIBRARIES tutti-core MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_test(mpi-shmem-module PROGRAM mpi-shmem-module RANKS 2 ENV TUTTI_SHMEM_HEAP=device TUTTI_HOST_GPUS=2)

if(NOT TUTTI_CXX)
  return()
endif()
file(GLOB shim_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tutti/*shmem/*.h ${PROJECT_SOURCE_DIR}/include/tutti/device/*.h)
# shim_program(NAME SOURCE LIBRARY FLAG...): a program of C++ for each MPI, NAME-cc.MPI.run.
function(shim_program name source library)
  foreach(mpi IN LISTS builders)
    set(flags ${TUTTI_MPI_${mpi}_COMPILE})
    list(FILTER flags INCLUDE REGEX "^-[ID]")
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${name}-cc.${mpi}.run)
    add_custom_command(OUTPUT ${program} DEPENDS ${shims}/${source} tutti-core ${headers} ${shim_headers}
                       COMMAND ${TUTTI_CXX} -Wall -Wextra -Werror ${ARGN} -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
                               -I${PROJECT_SOURCE_DIR}/include/tutti/${library} ${flags} -I${PROJECT_SOURCE_DIR}/include ${shims}/${source}
                               -o ${program} -Wl,--no-as-needed $<TARGET_FILE:tutti-core> ${TUTTI_MPI_${mpi}_LINK}
                               -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
                       COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name}.${mpi} ALL DEPENDS ${program})
  endforeach()
endfunction()
shim_program(mpi-shmem-ishmem ishmem.cc ishmem)
shim_program(mpi-shmem-nvshmem-tile tile.cc nvshmem -std=c++17)
tutti_mpi_test(mpi-shmem-nvshmem-tile PROGRAM ${CMAKE_CURRENT_BINARY_DIR}/mpi-shmem-nvshmem-tile-cc.@MPI@.run RANKS 2)
tutti_mpi_test(mpi-shmem-nvshmem-tile-nodes PROGRAM ${CMAKE_CURRENT_BINARY_DIR}/mpi-shmem-nvshmem-tile-cc.@MPI@.run RANKS 2
               ENV TUTTI_NODE_RANKS=1 TUTTI_ASYNC_PROGRESS=1 TUTTI_TEST_ROUNDS=10 TIMEOUT 40)
# The same for a GPU, by nvcc: target mpi-shmem-nvshmem-tile-cuda.MPI, run by tests/gpu.
if(TUTTI_HAVE_CUDA AND TUTTI_CUDART AND TUTTI_MPI_SYSTEM) # no MPI under a sanitizer
  list(GET TUTTI_MPI_SYSTEM 0 mpi) # one MPI does
  set(flags ${TUTTI_MPI_${mpi}_COMPILE})
  list(FILTER flags INCLUDE REGEX "^-[ID]")
  set(object ${CMAKE_CURRENT_BINARY_DIR}/tile.cuda.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${shims}/tile.cc ${shims}/check_pe.h ${headers} ${shim_headers}
                     COMMAND ${TUTTI_NVCC} -x cu -std=c++17 -O2 -Werror all-warnings ${TUTTI_CUDA_TEST_CODE} -DOMPI_SKIP_MPICXX
                             -DMPICH_SKIP_MPICXX -I${PROJECT_SOURCE_DIR}/include/tutti/nvshmem -I${PROJECT_SOURCE_DIR}/include ${flags}
                             -c -o ${object} ${shims}/tile.cc
                     COMMENT "Compiling tile.cc for CUDA" VERBATIM)
  set(target mpi-shmem-nvshmem-tile-cuda.${mpi})
  add_executable(${target} ${object})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${target} PRIVATE tutti-core tutti-flags ${TUTTI_CUDART} ${TUTTI_MPI_${mpi}_LINK} rt stdc++)
  set_property(GLOBAL PROPERTY TUTTI_MPI_PROGRAM_mpi-shmem-nvshmem-tile-cuda TRUE)
  if(NOT TUTTI_GPU_TESTS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endif()
tutti_mpi_test(mpi-shmem-ishmem PROGRAM ${CMAKE_CURRENT_BINARY_DIR}/mpi-shmem-ishmem-cc.@MPI@.run RANKS 3 RANKS_MPICH 2)
tutti_mpi_test(mpi-shmem-ishmem-device PROGRAM ${CMAKE_CURRENT_BINARY_DIR}/mpi-shmem-ishmem-cc.@MPI@.run RANKS 2
               ENV TUTTI_SHMEM_HEAP=device)

# All names, compiled and not run: by a compiler for the host, where kernels are those of the host device, and by nvcc.
if(NOT TUTTI_PYTHON3)
  return()
endif()
# shim_names(TEST LIBRARY "LEFT-OUT ..." COMPILER FLAGS...)
function(shim_names test library left_out)
  list(FILTER left_out EXCLUDE REGEX "^$")
  list(TRANSFORM left_out PREPEND ${shims}/)
  list(TRANSFORM left_out APPEND .left_out)
  list(JOIN left_out " " left_out)
  add_test(NAME shmem-names-${test} COMMAND ${TUTTI_PYTHON3} -B ${shims}/names.py ${shims}/${library}.names "${left_out}"
           "${library}.h ${library}x.h" ${ARGN} -I${PROJECT_SOURCE_DIR}/include/tutti/${library} -I${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(shmem-names-${test} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
check_include_file(cuda_runtime.h TUTTI_HAVE_CUDA_RUNTIME_H)
set(without "")
if(NOT TUTTI_HAVE_CUDA_RUNTIME_H)
  set(without no_cuda)
endif()
set(warnings -fmax-errors=0 -Wall -Wextra -Werror -fsyntax-only)
shim_names(nvshmem nvshmem "nvshmem;${without}" ${TUTTI_CXX} -std=c++17 ${warnings} -DTSHMEM_KERNELS)
shim_names(nvshmem-host nvshmem "nvshmem;kernels;${without}" ${TUTTI_CXX} -std=c++11 ${warnings})
shim_names(ishmem ishmem ishmem ${TUTTI_CXX} -std=c++17 ${warnings})
find_program(TUTTI_NVCC nvcc HINTS /usr/local/cuda/bin)
if(TUTTI_NVCC)
  shim_names(nvshmem-nvcc nvshmem nvshmem ${TUTTI_NVCC} -std=c++17 -arch=compute_90 -ptx)
  add_test(NAME shmem-registers COMMAND ${shims}/registers.sh ${shims}/registers.cu ${CMAKE_CURRENT_BINARY_DIR}/registers ${TUTTI_NVCC}
           -std=c++17 -I${PROJECT_SOURCE_DIR}/include/tutti/nvshmem -I${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(shmem-registers PROPERTIES LABELS unit TIMEOUT 180)
endif()
