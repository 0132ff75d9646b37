# Ranges for Nsight: NVTX 3 is headers alone, which come with the CUDA toolkit. Without them the library makes none.
find_path(TUTTI_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS ${TUTTI_CUDA_INCLUDE} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
          PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
mark_as_advanced(TUTTI_NVTX_INCLUDE)
if(TUTTI_NVTX_INCLUDE)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/core/phases.c APPEND PROPERTY COMPILE_DEFINITIONS TUTTI_HAVE_NVTX=1)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/core/phases.c APPEND PROPERTY COMPILE_OPTIONS -isystem ${TUTTI_NVTX_INCLUDE})
else()
  message(STATUS "nvtx3/nvToolsExt.h was not found: ranges for Nsight (TUTTI_STATS=times) are left out")
endif()
