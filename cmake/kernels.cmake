# The kernels in C: one object library an instruction set, all in tutti-core; the processor's widest is chosen at run time.
set(TUTTI_KERNEL_ISAS base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND TUTTI_KERNEL_ISAS avx2 avx512)
  set(TUTTI_KERNEL_FLAGS_avx2 -march=x86-64-v3)
  set(TUTTI_KERNEL_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernels/dispatch.c PROPERTIES COMPILE_DEFINITIONS TUTTI_KERNELS_X86)
endif()
foreach(isa ${TUTTI_KERNEL_ISAS})
  add_library(tutti-kernels-${isa} OBJECT ${PROJECT_SOURCE_DIR}/src/kernels/kernels_c.c)
  target_link_libraries(tutti-kernels-${isa} PRIVATE tutti-flags)
  target_compile_definitions(tutti-kernels-${isa} PRIVATE TUTTI_ISA=${isa})
  target_compile_options(tutti-kernels-${isa} PRIVATE -O3 -ffp-contract=off ${TUTTI_KERNEL_FLAGS_${isa}})
  target_sources(tutti-core PRIVATE $<TARGET_OBJECTS:tutti-kernels-${isa}>)
endforeach()
target_sources(tutti-core PRIVATE ${PROJECT_SOURCE_DIR}/src/kernels/dispatch.c ${PROJECT_SOURCE_DIR}/src/kernels/pack_c.c
               ${PROJECT_SOURCE_DIR}/src/kernels/shmem_c.c ${PROJECT_SOURCE_DIR}/src/kernels/lane_c.c
               ${PROJECT_SOURCE_DIR}/src/kernels/meet_c.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernels/shmem_c.c ${PROJECT_SOURCE_DIR}/src/kernels/meet_c.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
