# Finds the MPIs that are here. Each gets a name, and:
#   TUTTI_MPIS                     names of those found, of: openmpi mpich openmpi5 mpich5 mpiabi impi impiabi
#   TUTTI_MPI_<name>_COMPILE       flags for C programs
#   TUTTI_MPI_<name>_LINK          what they are linked with
#   TUTTI_MPI_<name>_FC_COMPILE, TUTTI_MPI_<name>_FC_LINK   the same for Fortran; unset: no Fortran
#   TUTTI_MPI_<name>_RUN           launcher
#   TUTTI_MPI_<name>_ENV           environment in which a launcher puts several ranks on few cores, as any user
#   TUTTI_MPI_<name>_FAMILY        openmpi, mpich or mpiabi: the interface that programs are compiled for
#   TUTTI_MPI_<name>_BUILT_BY      name of the MPI whose programs it runs: itself, or one of the same binary interface
#   TUTTI_MPI_<name>_LIBRARY       its C library, where it lies beside the launcher; otherwise unset
#   TUTTI_MPI_<name>_PYTHON, TUTTI_MPI_<name>_PYTHON_ENV   interpreter with mpi4py and numpy, and how to tell it its MPI
#   TUTTI_MPI_SYSTEM               the subset of TUTTI_MPIS that the system has installed
# openmpi and mpich are the system's; the others come from scripts/mpis.sh.
set(TUTTI_MPI_FOLDER ${CMAKE_BINARY_DIR}/mpis CACHE PATH "Where scripts/mpis.sh put MPIs of its own")
set(TUTTI_MPIS "")
set(TUTTI_MPI_SYSTEM "")

# Flags of a compiler wrapper, without the compiler's own name.
function(tutti_wrapper_flags wrapper compile link)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE line RESULT_VARIABLE status ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${compile} "" PARENT_SCOPE)
  set(${link} "" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words)
  set(c "")
  set(l "")
  foreach(word IN LISTS words)
    if(word MATCHES "^-(I|D|pthread)")
      list(APPEND c ${word})
    elseif(word MATCHES "^-(L|l|Wl)" OR NOT word MATCHES "^-")
      list(APPEND l ${word})
    endif()
  endforeach()
  # "-Wl,-rpath -Wl,DIR" is one option in two words; CMake would drop a repeated first word.
  list(JOIN l " " l)
  string(REPLACE "-Wl,-rpath -Wl,/" "-Wl,-rpath,/" l "${l}")
  separate_arguments(l UNIX_COMMAND "${l}")
  set(${compile} "${c}" PARENT_SCOPE)
  set(${link} "${l}" PARENT_SCOPE)
endfunction()

# `wrapper_of`: compiler wrapper for C; `fortran`: for Fortran, or empty; further words: the environment.
macro(tutti_mpi_add name family built_by wrapper fortran launcher)
  tutti_wrapper_flags("${wrapper}" TUTTI_MPI_${name}_COMPILE TUTTI_MPI_${name}_LINK)
  set(TUTTI_MPI_${name}_FC_LINK "")
  if(NOT "${fortran}" STREQUAL "")
    tutti_wrapper_flags("${fortran}" TUTTI_MPI_${name}_FC_COMPILE TUTTI_MPI_${name}_FC_LINK)
  endif()
  set(TUTTI_MPI_${name}_FAMILY ${family})
  set(TUTTI_MPI_${name}_BUILT_BY ${built_by})
  set(TUTTI_MPI_${name}_RUN ${launcher})
  set(TUTTI_MPI_${name}_ENV ${ARGN})
  list(APPEND TUTTI_MPIS ${name})
endmacro()

# Starts of MPIs that look for nothing that tests do not need: hwloc would ask for block devices, PCI devices, displays and OpenCL in
# every process, and PMIx would keep its data in files of shared memory. Both are two fifths of the processor's time of a start.
set(TUTTI_MPI_START_ENV HWLOC_PLUGINS_PATH=/nonexistent HWLOC_COMPONENTS=-linuxio PMIX_MCA_gds=hash)
# Of Open MPI what messages within a node need: what it opens besides, to learn that this machine has no network for it, takes
# a second of each start.
set(openmpi_env OMPI_MCA_pml=ob1 OMPI_MCA_btl=^ofi,openib,uct ${TUTTI_MPI_START_ENV}
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1)
set(mpich_env MPIEXEC_ALLOW_ROOT=1 HYDRA_LAUNCHER=fork ${TUTTI_MPI_START_ENV})

# The system's. Where a distribution can have both side by side it names them apart; `mpicc` alone may be either.
function(tutti_mpi_is_openmpi wrapper result)
  execute_process(COMMAND ${wrapper} -showme:version RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_program(TUTTI_MPICC_OPENMPI mpicc.openmpi)
find_program(TUTTI_MPICC_MPICH mpicc.mpich)
find_program(TUTTI_MPICC mpicc)
mark_as_advanced(TUTTI_MPICC_OPENMPI TUTTI_MPICC_MPICH TUTTI_MPICC)
set(openmpi_cc ${TUTTI_MPICC_OPENMPI})
set(mpich_cc ${TUTTI_MPICC_MPICH})
if(TUTTI_MPICC AND NOT openmpi_cc AND NOT mpich_cc)
  tutti_mpi_is_openmpi(${TUTTI_MPICC} generic_is_openmpi)
  if(generic_is_openmpi)
    set(openmpi_cc ${TUTTI_MPICC})
  else()
    set(mpich_cc ${TUTTI_MPICC})
  endif()
endif()
foreach(name openmpi mpich)
  if(${name}_cc)
    get_filename_component(bin ${${name}_cc} DIRECTORY)
    get_filename_component(last ${${name}_cc} NAME)
    string(REPLACE mpicc mpirun run ${last})
    string(REPLACE mpicc mpifort fort ${last})
    if(NOT EXISTS ${bin}/${fort})
      set(fort "")
    else()
      set(fort ${bin}/${fort})
    endif()
    if(EXISTS ${bin}/${run})
      tutti_mpi_add(${name} ${name} ${name} ${${name}_cc} "${fort}" ${bin}/${run} ${${name}_env})
      list(APPEND TUTTI_MPI_SYSTEM ${name})
    endif()
  endif()
endforeach()

# Those of scripts/mpis.sh. A folder counts once its `ready` file says that it is complete.
if(EXISTS ${TUTTI_MPI_FOLDER}/openmpi/ready)
  tutti_mpi_add(openmpi5 openmpi openmpi5 ${TUTTI_MPI_FOLDER}/openmpi/bin/mpicc "" ${TUTTI_MPI_FOLDER}/openmpi/bin/mpirun
                ${openmpi_env} LD_LIBRARY_PATH=${TUTTI_MPI_FOLDER}/openmpi/lib)
endif()
if(EXISTS ${TUTTI_MPI_FOLDER}/mpich/ready)
  tutti_mpi_add(mpich5 mpich mpich5 ${TUTTI_MPI_FOLDER}/mpich/bin/mpicc "" ${TUTTI_MPI_FOLDER}/mpich/bin/mpirun
                ${mpich_env} LD_LIBRARY_PATH=${TUTTI_MPI_FOLDER}/mpich/lib)
  tutti_mpi_add(mpiabi mpiabi mpiabi ${TUTTI_MPI_FOLDER}/mpich/bin/mpicc_abi "" ${TUTTI_MPI_FOLDER}/mpich/bin/mpirun
                ${mpich_env} LD_LIBRARY_PATH=${TUTTI_MPI_FOLDER}/mpich/lib)
  if(EXISTS ${TUTTI_MPI_FOLDER}/impi/ready)
    set(impi_env ${mpich_env} I_MPI_ROOT=${TUTTI_MPI_FOLDER}/impi I_MPI_HYDRA_BOOTSTRAP=fork I_MPI_FABRICS=shm
        I_MPI_THREAD_YIELD=2 I_MPI_PIN=0 LD_LIBRARY_PATH=${TUTTI_MPI_FOLDER}/impi/lib)
    # Otherwise its launcher may take the ranks for those of several machines, by chance of how long its path is.
    set(TUTTI_MPI_impi_FLAGS -ppn 64)
    set(TUTTI_MPI_impiabi_FLAGS -ppn 64)
    tutti_mpi_add(impi mpich mpich5 ${TUTTI_MPI_FOLDER}/mpich/bin/mpicc "" ${TUTTI_MPI_FOLDER}/impi/bin/mpirun ${impi_env})
    tutti_mpi_add(impiabi mpiabi mpiabi ${TUTTI_MPI_FOLDER}/mpich/bin/mpicc_abi "" ${TUTTI_MPI_FOLDER}/impi/bin/mpirun
                  ${impi_env})
  endif()
endif()

foreach(name IN LISTS TUTTI_MPIS)
  get_filename_component(prefix ${TUTTI_MPI_${name}_RUN} DIRECTORY)
  get_filename_component(prefix ${prefix} DIRECTORY)
  set(openmpi_files libmpi.so.40)
  set(mpich_files libmpich.so.12 libmpi.so.12)
  set(mpiabi_files libmpi_abi.so.1)
  foreach(place ${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${prefix}/lib ${prefix}/lib64)
    foreach(file IN LISTS ${TUTTI_MPI_${name}_FAMILY}_files)
      if(NOT TUTTI_MPI_${name}_LIBRARY AND EXISTS ${place}/${file})
        set(TUTTI_MPI_${name}_LIBRARY ${place}/${file})
      endif()
    endforeach()
  endforeach()
endforeach()

# mpi4py opens its MPI at run time: one environment serves all that have Open MPI's or MPICH's interface.
# It asks for libmpi.so.12; Debian's MPICH is called libmpich.so.12, so it gets that name too.
if(EXISTS ${TUTTI_MPI_FOLDER}/python/ready)
  foreach(name openmpi mpich openmpi5 mpich5 impi)
    if(NOT name IN_LIST TUTTI_MPIS)
      continue()
    endif()
    set(family ${TUTTI_MPI_${name}_FAMILY})
    set(library "")
    if(name IN_LIST TUTTI_MPI_SYSTEM)
      get_filename_component(prefix ${TUTTI_MPI_${name}_RUN} DIRECTORY)
      get_filename_component(prefix ${prefix} DIRECTORY)
      set(places ${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${prefix}/lib ${prefix}/lib64)
    else()
      get_filename_component(prefix ${TUTTI_MPI_${name}_RUN} DIRECTORY)
      set(places ${prefix}/../lib)
    endif()
    foreach(place IN LISTS places)
      foreach(file libmpi.so.40 libmpi.so.12 libmpich.so.12)
        if(NOT library AND EXISTS ${place}/${file} AND
           ((family STREQUAL "openmpi" AND file MATCHES "40$") OR (family STREQUAL "mpich" AND file MATCHES "12$")))
          get_filename_component(library ${place}/${file} ABSOLUTE)
        endif()
      endforeach()
    endforeach()
    if(library)
      set(TUTTI_MPI_${name}_PYTHON ${TUTTI_MPI_FOLDER}/python/bin/python3)
      set(TUTTI_MPI_${name}_PYTHON_ENV MPI4PY_MPIABI=${family} MPI4PY_LIBMPI=${library})
      if(library MATCHES "libmpich.so.12$")
        file(MAKE_DIRECTORY ${TUTTI_MPI_FOLDER}/python/alias)
        file(CREATE_LINK ${library} ${TUTTI_MPI_FOLDER}/python/alias/libmpi.so.12 SYMBOLIC)
        set(TUTTI_MPI_${name}_PYTHON_ENV MPI4PY_MPIABI=mpich LD_LIBRARY_PATH=${TUTTI_MPI_FOLDER}/python/alias
            MPI4PY_LIBMPI=${TUTTI_MPI_FOLDER}/python/alias/libmpi.so.12)
      endif()
    endif()
  endforeach()
endif()

# Header of MPI 5's standard interface, from which the front end for it is built.
set(TUTTI_MPI_ABI_INCLUDE "" CACHE PATH "Folder of mpi_abi.h")
if(NOT TUTTI_MPI_ABI_INCLUDE AND EXISTS ${TUTTI_MPI_FOLDER}/mpich/ready)
  set(TUTTI_MPI_ABI_INCLUDE ${TUTTI_MPI_FOLDER}/mpich/include CACHE PATH "Folder of mpi_abi.h" FORCE)
endif()

list(JOIN TUTTI_MPIS ", " words)
message(STATUS "MPIs found: ${words}")
if(NOT TUTTI_MPI_ABI_INCLUDE)
  message(STATUS "mpi_abi.h was not found: the front end for MPI 5's standard interface is left out")
endif()
