# The module tutti_shmem: src/shmem/fortran/*.in, of which the calls are made once for each type. A library of its own,
# which knows no MPI. Included where there is a Fortran compiler.
set(fortran_in ${PROJECT_SOURCE_DIR}/src/shmem/fortran)
file(GLOB fortran_parts CONFIGURE_DEPENDS ${fortran_in}/*.f90.in)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fortran_parts})
# Name, type, kind, bytes, what adds atomically, the operators of reductions, the parts with calls of the type.
set(order max+min+sum+prod)
set(whole ${order}+and+or+xor)
set(rows
    "int16,integer(c_int16_t),c_int16_t,2,,${whole},moves+reduce+scans+waits+stream"
    "int32,integer(c_int32_t),c_int32_t,4,AMO_ADD,${whole},moves+atomics+atomics_bits+reduce+scans+waits+stream"
    "int64,integer(c_int64_t),c_int64_t,8,AMO_ADD,${whole},moves+atomics+atomics_bits+reduce+scans+waits+stream"
    "real32,real(c_float),c_float,4,AMO_ADD_FLOAT,${order},moves+atomics+reduce+scans+stream"
    "real64,real(c_double),c_double,8,AMO_ADD_FLOAT,${order},moves+atomics+reduce+scans+stream"
    "complexf,complex(c_float_complex),c_float_complex,8,,sum+prod,moves+reduce+scans+stream"
    "complexd,complex(c_double_complex),c_double_complex,16,,sum+prod,moves+reduce+scans+stream")
set(CALLS "")

# fortran_add(PART): its calls for the type NAME. What is generic: each procedure NAME_type, and each ctx_NAME_type, is one of
# tshmem_NAME.
macro(fortran_add part)
  file(READ ${fortran_in}/${part}.f90.in text)
  string(CONFIGURE "${text}" text @ONLY)
  string(REGEX MATCHALL "    (function|subroutine) [a-z0-9_]+_${NAME}\\(" procedures "${text}")
  foreach(procedure IN LISTS procedures)
    string(REGEX REPLACE ".* (.*)_${NAME}.*" "\\1" procedure "${procedure}")
    string(REGEX REPLACE "^ctx_" "" generic ${procedure})
    list(APPEND generics ${generic})
    list(APPEND generic_${generic} ${procedure}_${NAME})
  endforeach()
  string(APPEND CALLS "${text}\n")
endmacro()

foreach(row IN LISTS rows)
  string(REPLACE "," ";" row "${row}")
  foreach(column NAME TYPE KIND BYTES ADD operators parts)
    list(POP_FRONT row ${column})
  endforeach()
  string(TOUPPER ${NAME} ID)
  string(REPLACE "+" ";" operators "${operators}")
  string(REPLACE "+" ";" parts "${parts}")
  foreach(part IN LISTS parts)
    if(part STREQUAL reduce)
      foreach(OP IN LISTS operators)
        string(TOUPPER OP_${OP} OP_ID)
        fortran_add(reduce)
      endforeach()
    else()
      fortran_add(${part})
      if(EXISTS ${fortran_in}/${part}_ctx.f90.in)
        fortran_add(${part}_ctx)
      endif()
    endif()
    if(EXISTS ${fortran_in}/stream_${part}.f90.in) # the same in the order of a stream
      fortran_add(stream_${part})
    endif()
  endforeach()
endforeach()
file(READ ${fortran_in}/interfaces_stream.f90.in STREAM_INTERFACES)
file(READ ${fortran_in}/interfaces_ctx.f90.in CTX_INTERFACES)
file(READ ${fortran_in}/contexts.f90.in CONTEXTS)
list(REMOVE_DUPLICATES generics)
set(PUBLIC "")
set(GENERIC "")
foreach(name IN LISTS generics)
  list(JOIN generic_${name} "\n        module procedure " procedures)
  string(APPEND PUBLIC "    public :: tshmem_${name}\n")
  string(APPEND GENERIC "    interface tshmem_${name}\n        module procedure ${procedures}\n    end interface\n")
endforeach()
set(TUTTI_FORTRAN_MODULES ${CMAKE_BINARY_DIR}/fortran)
configure_file(${fortran_in}/tutti_shmem.f90.in ${TUTTI_FORTRAN_MODULES}/tutti_shmem.f90 @ONLY)

add_library(tutti-fortran STATIC ${TUTTI_FORTRAN_MODULES}/tutti_shmem.f90)
set_target_properties(tutti-fortran PROPERTIES Fortran_MODULE_DIRECTORY ${TUTTI_FORTRAN_MODULES}
                      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_link_libraries(tutti-fortran PUBLIC tutti-core)
target_include_directories(tutti-fortran INTERFACE $<BUILD_INTERFACE:${TUTTI_FORTRAN_MODULES}>
                           $<INSTALL_INTERFACE:include/tutti/fortran>)
target_link_options(tutti-fortran INTERFACE -Wl,--no-as-needed) # the program may name no MPI, which starts it
# The source too: modules of one compiler are of no use to another.
set(TUTTI_FORTRAN_FILES ${TUTTI_FORTRAN_MODULES}/tutti_shmem.f90 ${TUTTI_FORTRAN_MODULES}/tutti_shmem.mod)
