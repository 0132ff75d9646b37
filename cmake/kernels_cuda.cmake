# The kernels for CUDA: some compressed fat binaries (src/kernels/images.inc), embedded by src/kernels/fatbin.S, in an object library
# tutti-kernels-cuda that exists only where nvcc does (src/kernels/fatbin.h says how they are found). No CUDA language is
# enabled: nvcc is called as a program (TUTTI_NVCC names another one). Included by cuda.cmake.
find_program(TUTTI_NVCC nvcc PATHS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin)
if(NOT TUTTI_NVCC)
  return()
endif()
# Machine code for all GPUs that nvcc knows and this library is made for, so that none compiles at its first call; PTX for
# later ones. That of newer GPUs is made of the same PTX, which saves half of the time: the kernels use nothing newer.
execute_process(COMMAND ${TUTTI_NVCC} --list-gpu-code OUTPUT_VARIABLE nvcc_codes ERROR_QUIET)
set(newer sm_90)
foreach(code sm_100 sm_120)
  if(nvcc_codes MATCHES "(^|[^a-z0-9_])${code}([^a-z0-9_]|$)")
    string(APPEND newer ",${code}")
  endif()
endforeach()
set(TUTTI_CUDA_CODE -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[${newer},compute_90]
    CACHE STRING "What nvcc makes: machine code for these GPUs, PTX for later ones")
option(TUTTI_CUDA_OPTIMIZE "Optimise the CUDA kernels. OFF: for tests without a GPU, in little time, for one GPU" ON)

set(kernel_flags -std=c++17 -O3 -fmad=false -Werror all-warnings)
set(kernel_code ${TUTTI_CUDA_CODE})
if(NOT TUTTI_CUDA_OPTIMIZE)
  set(kernel_code -gencode arch=compute_90,code=sm_90)
endif()
execute_process(COMMAND ${TUTTI_NVCC} --help OUTPUT_VARIABLE nvcc_help ERROR_QUIET)
if(NOT TUTTI_CUDA_OPTIMIZE AND nvcc_help MATCHES "--Ofast-compile")
  list(APPEND kernel_flags --Ofast-compile=max)
elseif(NOT TUTTI_CUDA_OPTIMIZE)
  list(APPEND kernel_flags -Xptxas -O0)
endif()
# The driver unpacks an image when a program first needs one of its kernels, and holds back all copies and launches of the
# process meanwhile: 1.5 to 2 ms for a MiB. So the images of the first messages and movers, which are small, stay as they
# are. Sums of the usual types are packed in a way that takes twice the room and a third of the time.
set(uncompressed moves pack_few pack_stay pack)
set(fast sums_1 sums_2)
if(nvcc_help MATCHES "--compress-mode")
  set(compressed_flags --compress-mode=size)
  set(fast_flags --compress-mode=speed -Xfatbin -compress-all)
  set(uncompressed_flags --compress-mode=none)
else()
  set(compressed_flags -Xfatbin -compress-all)
  set(fast_flags ${compressed_flags})
endif()
set(kernel_room ${PROJECT_SOURCE_DIR}/src/kernels)
file(GLOB kernel_sources CONFIGURE_DEPENDS ${kernel_room}/*.inc ${kernel_room}/threads/*.inc ${kernel_room}/*.def)
list(FILTER kernel_sources EXCLUDE REGEX "/(pack[_.][^/]*|kernels/pairs.inc|(shmem|lane|meet)[^/]*.inc)$") # they are no part of kernels.cu
set(device_headers ${PROJECT_SOURCE_DIR}/include/tutti/device)
list(APPEND kernel_sources ${kernel_room}/kernels.cu ${kernel_room}/env_cuda.h ${kernel_room}/args.h ${kernel_room}/elements.h
     ${kernel_room}/families.h ${kernel_room}/fatbin.h ${device_headers}/env.h ${device_headers}/env_cuda.h
     ${device_headers}/operators.h ${PROJECT_SOURCE_DIR}/src/core/types.h
     ${PROJECT_SOURCE_DIR}/include/tutti/types.def ${PROJECT_SOURCE_DIR}/include/tutti/ops.def
     ${PROJECT_SOURCE_DIR}/include/tutti/status.def)
file(GLOB pack_sources CONFIGURE_DEPENDS ${kernel_room}/pack*.inc ${kernel_room}/threads/pack*.inc)
list(APPEND pack_sources ${kernel_room}/pack.cu ${kernel_room}/pack_cuda.h ${kernel_room}/pack_args.h)
set(fatbin_room ${PROJECT_BINARY_DIR}/fatbin)
file(MAKE_DIRECTORY ${fatbin_room})
set(TUTTI_CUDA_FATBINS "" CACHE STRING "Folder fatbin of another build of these sources: its kernels are copied, not compiled")
# fatbin_add(NAME WHAT SOURCE DEPENDS... FLAGS...): NAME.fatbin
function(fatbin_add name what source)
  cmake_parse_arguments(add "" "" "DEPENDS;FLAGS" ${ARGN})
  if(TUTTI_CUDA_FATBINS AND EXISTS ${TUTTI_CUDA_FATBINS}/${name}.fatbin) # what is not there is compiled
    add_custom_command(
      OUTPUT ${fatbin_room}/${name}.fatbin
      COMMAND ${CMAKE_COMMAND} -E copy ${TUTTI_CUDA_FATBINS}/${name}.fatbin ${fatbin_room}/${name}.fatbin
      DEPENDS ${TUTTI_CUDA_FATBINS}/${name}.fatbin
      COMMENT "Copying the CUDA ${what}"
      VERBATIM)
    return()
  endif()
  set(compression ${compressed_flags})
  if(name IN_LIST uncompressed)
    set(compression ${uncompressed_flags})
  elseif(name IN_LIST fast)
    set(compression ${fast_flags})
  endif()
  add_custom_command(
    OUTPUT ${fatbin_room}/${name}.fatbin
    COMMAND ${CMAKE_COMMAND} -E time ${TUTTI_NVCC} ${kernel_flags} ${compression} ${kernel_code} ${add_FLAGS}
            -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -fatbin -o ${fatbin_room}/${name}.fatbin ${source}
    DEPENDS ${source} ${add_DEPENDS}
    COMMENT "Compiling the CUDA ${what}"
    VERBATIM)
endfunction()

set(fatbins)
foreach(part LARGE LEAD PACKETS PLAIN SUMS) # of fatbin.h, the longest compilations first
  string(TOLOWER ${part} name)
  foreach(group 0 1 2 3 5 4) # of images.inc
    fatbin_add(${name}_${group} "kernels of types ${group}, ${name}" ${kernel_room}/kernels.cu DEPENDS ${kernel_sources}
               FLAGS -DTUTTI_PART=${part} -DTUTTI_IMAGE=${group})
    list(APPEND fatbins ${fatbin_room}/${name}_${group}.fatbin)
  endforeach()
endforeach()
# The kernels that move data: by themselves, since they know no types.
fatbin_add(moves "kernels that move data" ${kernel_room}/moves.cu DEPENDS ${kernel_sources} ${kernel_room}/moves.cu)
list(APPEND fatbins ${fatbin_room}/moves.fatbin)
# The packing kernel: by itself, since it knows no types; in three images, since first messages need two of them.
fatbin_add(pack_few "kernel that packs few messages" ${kernel_room}/pack.cu DEPENDS ${pack_sources} FLAGS -DTUTTI_PACK_IMAGE=0)
fatbin_add(pack_stay "kernel that packs and stays" ${kernel_room}/pack.cu DEPENDS ${pack_sources} FLAGS -DTUTTI_PACK_IMAGE=1)
fatbin_add(pack "kernels that pack many messages" ${kernel_room}/pack.cu DEPENDS ${pack_sources} FLAGS -DTUTTI_PACK_IMAGE=2)
# The lane kernel, of messages in stream order.
fatbin_add(lane "lane kernel" ${kernel_room}/lane.cu DEPENDS ${kernel_room}/lane.inc ${kernel_room}/lane_post.inc ${kernel_room}/lane_packets.inc ${kernel_room}/lane_direct.inc ${kernel_room}/lane_match.inc ${kernel_room}/lane_moved.inc ${kernel_room}/lane_group.inc ${kernel_room}/lane_args.h ${kernel_room}/args.h
           ${device_headers}/env.h ${device_headers}/env_cuda.h ${device_headers}/copy.h)
set_source_files_properties(${kernel_room}/lane_fatbin.S PROPERTIES OBJECT_DEPENDS "${fatbin_room}/lane.fatbin")
# The kernel in which ranks meet, of partitioned collectives.
fatbin_add(meet "kernel of partitioned collectives" ${kernel_room}/meet.cu DEPENDS ${kernel_room}/meet.inc ${kernel_room}/meet_args.h
           ${device_headers}/meet.h ${device_headers}/ops.h ${device_headers}/operators.h ${device_headers}/env.h
           ${device_headers}/env_cuda.h ${PROJECT_SOURCE_DIR}/include/tutti/prequest.h)
set_source_files_properties(${kernel_room}/meet_fatbin.S PROPERTIES OBJECT_DEPENDS "${fatbin_room}/meet.fatbin")
# Those of the global address space: the calls of <tutti/device.h>.
file(GLOB shmem_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tutti/shmem*.h ${PROJECT_SOURCE_DIR}/include/tutti/device/*.h)
list(APPEND shmem_sources ${kernel_room}/shmem.inc ${kernel_room}/shmem_spread.inc ${kernel_room}/shmem_args.h ${PROJECT_SOURCE_DIR}/include/tutti/device.h
     ${PROJECT_SOURCE_DIR}/include/tutti/shmem.def)
# Comes last, and is long: two GPUs' code at a time.
fatbin_add(shmem "kernels of the global address space" ${kernel_room}/shmem.cu DEPENDS ${shmem_sources} FLAGS -t 2)
set_source_files_properties(${kernel_room}/shmem_fatbin.S PROPERTIES OBJECT_DEPENDS "${fatbin_room}/shmem.fatbin")
set_source_files_properties(${kernel_room}/pack_fatbin.S PROPERTIES
                            OBJECT_DEPENDS "${fatbin_room}/pack_few.fatbin;${fatbin_room}/pack_stay.fatbin;${fatbin_room}/pack.fatbin")
set_source_files_properties(${kernel_room}/fatbin.S PROPERTIES OBJECT_DEPENDS "${fatbins}")
add_library(tutti-kernels-cuda OBJECT ${kernel_room}/fatbin.S ${kernel_room}/fatbin.c ${kernel_room}/families.c
            ${kernel_room}/pack_fatbin.S ${kernel_room}/pack_fatbin.c ${kernel_room}/shmem_fatbin.S
            ${kernel_room}/shmem_fatbin.c ${kernel_room}/lane_fatbin.S ${kernel_room}/lane_fatbin.c
            ${kernel_room}/meet_fatbin.S ${kernel_room}/meet_fatbin.c)
target_include_directories(tutti-kernels-cuda PRIVATE ${fatbin_room} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tutti-kernels-cuda PRIVATE -I${fatbin_room}) # .incbin looks here
target_link_libraries(tutti-kernels-cuda PRIVATE tutti-flags)
if(NOT TUTTI_CUDA_OPTIMIZE)
  set_source_files_properties(${kernel_room}/fatbin.c PROPERTIES COMPILE_DEFINITIONS TUTTI_KERNELS_UNOPTIMIZED)
endif()
target_sources(tutti-core PRIVATE $<TARGET_OBJECTS:tutti-kernels-cuda>)
