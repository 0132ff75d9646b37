# The calls in kernels, on a GPU: programs that are linked with the CUDA runtime alone, so that they can be carried to a machine
# with a GPU. They are built where TUTTI_GPU_TESTS asks for tests on GPUs, and by target shmem-cuda.
find_library(TUTTI_CUDART cudart_static HINTS ${TUTTI_CUDA_INCLUDE}/../lib64 ${TUTTI_CUDA_INCLUDE}/../lib
             /usr/local/cuda/lib64 PATH_SUFFIXES stubs)
mark_as_advanced(TUTTI_CUDART)
if(NOT TUTTI_CUDART)
  message(STATUS "libcudart_static was not found: tests of kernels' calls on GPUs are left out")
  return()
endif()
set(TUTTI_CUDA_TEST_CODE -gencode arch=compute_90,code=[sm_90,compute_90]
    CACHE STRING "What nvcc makes of the tests' kernels: machine code for these GPUs, PTX for later ones")
file(GLOB cuda_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tutti/*.h ${PROJECT_SOURCE_DIR}/include/tutti/device/*.h
     ${PROJECT_SOURCE_DIR}/include/tutti/*.def *.h *.inc)
add_custom_target(shmem-cuda)

# shmem_cuda_object(NAME SOURCE flags...): NAME.o. A minute or more each for those of the random programs, some GB of memory.
function(shmem_cuda_object name source)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.o
    COMMAND ${TUTTI_NVCC} -std=c++17 -O2 -fmad=false -Werror all-warnings ${TUTTI_CUDA_TEST_CODE} ${ARGN}
            -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/tests
            -c -o ${CMAKE_CURRENT_BINARY_DIR}/${name}.o ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} ${cuda_headers}
    COMMENT "Compiling ${source} for CUDA: ${name}"
    VERBATIM)
endfunction()

# shmem_cuda_test(NAME SOURCES files... [OBJECTS names...] [DEFINE names...] [ARGS ...] [TIMEOUT seconds])
function(shmem_cuda_test name)
  cmake_parse_arguments(C "" "TIMEOUT" "SOURCES;OBJECTS;DEFINE;ARGS" ${ARGN})
  list(TRANSFORM C_OBJECTS APPEND .o)
  list(TRANSFORM C_OBJECTS PREPEND ${CMAKE_CURRENT_BINARY_DIR}/)
  add_executable(${name} ${C_SOURCES} ${C_OBJECTS})
  target_link_libraries(${name} PRIVATE tutti-flags ${TUTTI_CUDART} rt stdc++)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(${name} SYSTEM PRIVATE ${TUTTI_CUDA_INCLUDE})
  target_compile_definitions(${name} PRIVATE ${C_DEFINE})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  add_dependencies(shmem-cuda ${name})
  if(NOT TUTTI_GPU_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  math(EXPR backstop "${C_TIMEOUT} + 15")
  add_test(NAME gpu-${name} COMMAND ${TUTTI_TIMEOUT} -k 5 ${C_TIMEOUT} $<TARGET_FILE:${name}> ${C_ARGS})
  set_tests_properties(gpu-${name} PROPERTIES LABELS gpu TIMEOUT ${backstop} SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endfunction()

set(common cuda_pes.c draw/draw.c draw/collectives.c explain.c heap.c model.c ${support}/check.c ${support}/oracle.c ${support}/numbers.c)
# The ring's host side, out of the library.
set(serve cuda_serve.c ${support}/cuda_device.c)
foreach(file ring/ring ring/server shmem/proxy/proxy shmem/proxy/near_device core/log core/status core/settings core/nearest core/size)
  list(APPEND serve ${PROJECT_SOURCE_DIR}/src/${file}.c)
endforeach()
shmem_cuda_object(cuda_serve cuda_serve.cu)
shmem_cuda_object(cuda_rows rows.c -x cu)
set(images cuda_rows)
foreach(image RANGE 15)
  shmem_cuda_object(cuda_image_${image} cuda_image.cu -DIMAGE=${image})
  list(APPEND images cuda_image_${image})
endforeach()
shmem_cuda_test(shmem-cuda-programs SOURCES cuda_programs.c ${serve} ${common} OBJECTS ${images} cuda_serve TIMEOUT 120)

set(images cuda_rows)
foreach(image RANGE 4)
  shmem_cuda_object(cuda_grid_${image} cuda_grid.cu -DGRID_IMAGE=${image})
  list(APPEND images cuda_grid_${image})
endforeach()
shmem_cuda_test(shmem-cuda-grid SOURCES cuda_grid.c grid_cases.c ${serve} ${common} OBJECTS ${images} cuda_serve TIMEOUT 120)

# What a build without release or acquire does wrong, the test must see.
foreach(kind ORDERED UNRELEASED UNACQUIRED RING)
  string(TOLOWER ${kind} name)
  shmem_cuda_object(cuda_${name} cuda_ordered.cu -DORDER_${kind})
  shmem_cuda_test(shmem-cuda-${name} SOURCES cuda_ordered.c ${serve} ${common} OBJECTS cuda_rows cuda_${name} cuda_serve
                  DEFINE ORDER_${kind} TIMEOUT 60)
endforeach()

# The ring by itself. Long runs: TUTTI_TEST_MESSAGES.
shmem_cuda_object(cuda_messages cuda_messages.cu)
shmem_cuda_test(shmem-cuda-messages SOURCES cuda_messages.c ring_host.c ${common} ${PROJECT_SOURCE_DIR}/src/ring/ring.c
                OBJECTS cuda_rows cuda_messages TIMEOUT 120)

shmem_cuda_object(cuda_errors cuda_errors.cu)
shmem_cuda_test(shmem-cuda-errors SOURCES cuda_errors.c ${common} OBJECTS cuda_rows cuda_errors TIMEOUT 60)
shmem_cuda_test(shmem-cuda-nvrtc SOURCES cuda_nvrtc.c ${support}/check.c ARGS ${PROJECT_SOURCE_DIR}/include TIMEOUT 240)
