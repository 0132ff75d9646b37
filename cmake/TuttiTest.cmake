# How tests are declared. Every test is a process of its own, in its own process group, with a timeout; exit status 77
# means skipped. cmake -DTUTTI_TEST_LONG=2 (`make check-long`): all of what is drawn at random or is repeated, instead of
# a quarter of it; 6: three times as many.
# What took long by tests/costs/costs.txt is started first and has the label long; of the others, what may take long comes first
# (COST). Included once by the top CMakeLists.txt.
#
# Limits: about 15 times as long as the test takes on an idle machine, at least 30 s, so that one that stands still shows
# soon, and none fails on a loaded machine. TUTTI_LIMIT: of most tests; for three ranks half as much again, for four twice as
# much. Under a sanitizer four times as much, under the thread sanitizer eight times.
#
# tutti_unit_program(NAME SOURCES files... [LIBRARIES ...] [APART])
#   A cmocka program of one process over the MPI-free core. APART: all of its sources are compiled for it alone, with
#   options of its own.
#
# tutti_unit_test(NAME [SOURCES files... [LIBRARIES ...] [APART] | PROGRAM name] [ARGS ...] [ENV A=b ...] [TIMEOUT seconds]
#                 [LABELS ...])
#   Runs such a program. Label unit. TIMEOUT: TUTTI_LIMIT. Ranks that are threads or forks are ended, and named, just
#   before. TUTTI_HOST_STRICT=1 and TUTTI_DEVICE=host unless ENV says otherwise. Also run under the
#   sanitizers. SOURCES: shorthand for a tutti_unit_program of the same name.
#
# tutti_test_parts([MPI] files...)
#   Sources that many programs name among theirs, from then on: compiled once for all, or once for each MPI interface.
#
# tutti_mpi_program(NAME SOURCES files... [LANGUAGE Fortran] [LIBRARIES ...] [MPIS names...] [ALWAYS])
#   Builds a program once for each MPI interface that is here: target NAME.<mpi>. MPIS: as below. `make check` leaves out programs
#   of MPIs that are not the system's if no tutti_mpi_test of its own runs them; ALWAYS: not this one, whose rows are add_test's.
#
# tutti_mpi_test(NAME [SOURCES files... | PROGRAM name-or-command...] RANKS n [RANKS_MPICH n] [MANY n] [ARGS ...] [ENV A=b ...]
#                [TIMEOUT seconds] [LABELS ...] [MPIS names... | EVERYWHERE] [LANGUAGE Fortran] [LIBRARIES ...]
#                [NO_PRELOAD] [WILL_FAIL])
#   One test for each MPI, named NAME.<mpi>: the launcher starts RANKS ranks of the program with libtutti.so preloaded,
#   TUTTI_DEVICE=host and TUTTI_HOST_STRICT=1 unless ENV says otherwise (ENV comes last). Labels mpi and the MPI's name.
#   SOURCES: shorthand for a tutti_mpi_program of the same name. PROGRAM: one made by tutti_mpi_program, or a command
#   with its arguments. MPIS: which MPIs (default: the system's, TUTTI_MPI_SYSTEM); EVERYWHERE: all that are here, those
#   of scripts/mpis.sh too. RANKS_MPICH: ranks under MPICH and Intel MPI: keep it near the number of cores.
#   MANY: first argument: a number of random programs, rounds and the like, for `make check-long`. `make check` has a quarter of it.
#   Under MPIs that are not the system's a third of it.
#   In PROGRAM, ARGS and ENV, @MPI@ stands for the MPI's name and @FAMILY@ for its interface; PROGRAM @PYTHON@ script.py
#   runs the interpreter that has mpi4py and numpy, told to open that MPI.

set(TUTTI_PRELOAD ${CMAKE_BINARY_DIR}/lib/libtutti.so)
# Many tests at a time share the cores: no rank spins, unless its test says TUTTI_WAIT=auto.
set(TUTTI_TEST_LONG 1 CACHE STRING "1: a quarter of the random programs, sequences and rounds of tests. 2: all of them; 6: three times as many")
set(TUTTI_TEST_ENV TUTTI_DEVICE=host TUTTI_HOST_STRICT=1 TUTTI_RULES_FILE=/dev/null TUTTI_WAIT=yield TUTTI_TEST_LONG=${TUTTI_TEST_LONG})
find_program(TUTTI_TIMEOUT timeout REQUIRED)
find_library(TUTTI_CMOCKA cmocka)
mark_as_advanced(TUTTI_TIMEOUT TUTTI_CMOCKA)

# TUTTI_MPI_<name>_YIELD: what makes ranks of MPICH and Intel MPI that wait leave the core (tests/support/yield.c); empty for
# Open MPI, whose tests take no less of the processor with it.
# TUTTI_MPI_<name>_PRELOAD: the library, and that after it.
foreach(mpi IN LISTS TUTTI_MPIS)
  set(TUTTI_MPI_${mpi}_YIELD "")
  if(mpi MATCHES "^mpich|^mpiabi|^impi")
    set(TUTTI_MPI_${mpi}_YIELD ${CMAKE_BINARY_DIR}/tests/libtutti-yield.so)
  endif()
  string(JOIN ":" TUTTI_MPI_${mpi}_PRELOAD ${TUTTI_PRELOAD} ${TUTTI_MPI_${mpi}_YIELD})
endforeach()
if(BUILD_TESTING AND TUTTI_MPIS)
  add_library(tutti-yield SHARED ${PROJECT_SOURCE_DIR}/tests/support/yield.c)
  target_link_libraries(tutti-yield PRIVATE tutti-flags)
  set_target_properties(tutti-yield PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests C_VISIBILITY_PRESET default)
endif()

set(TUTTI_LIMIT 40)
set(TUTTI_LIMIT_PACK 60)
set(TUTTI_LIMIT_TIMES 1)
if(TUTTI_SANITIZE)
  set(TUTTI_LIMIT 160)
  set(TUTTI_LIMIT_PACK 240)
  set(TUTTI_LIMIT_TIMES 4)
endif()
if(TUTTI_SANITIZE STREQUAL "thread")
  set(TUTTI_LIMIT 320)
  set(TUTTI_LIMIT_PACK 480)
  set(TUTTI_LIMIT_TIMES 8)
endif()
# Where a test's own end has not come about: of CTest.
math(EXPR TUTTI_BACKSTOP "${TUTTI_LIMIT} + 15")
math(EXPR TUTTI_DEADLINE "${TUTTI_LIMIT} - 5") # of ranks that are threads or forks: TUTTI_TEST_DEADLINE
math(EXPR TUTTI_BACKSTOP_PACK "${TUTTI_LIMIT_PACK} + 15")

# A count of random programs and the like, and the time that they may take.
function(tutti_many number)
  if(TUTTI_TEST_LONG EQUAL 1)
    math(EXPR product "(${${number}} + 3) / 4")
  else()
    math(EXPR product "${${number}} * ${TUTTI_TEST_LONG} / 2")
  endif()
  set(${number} ${product} PARENT_SCOPE)
endfunction()
function(tutti_many_time seconds)
  math(EXPR product "${${seconds}} * ${TUTTI_TEST_LONG}")
  set(${seconds} ${product} PARENT_SCOPE)
endfunction()

# Rows of eight ranks as well, of the tests that tests/eight.txt names (make eight): on GPUs eight are rare, and their programs
# compute on two cores.
option(TUTTI_TEST_EIGHT "Tests of eight ranks as well: label eight" OFF)
if(TUTTI_TEST_EIGHT)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/eight.txt)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tests/eight.txt rows REGEX "^[a-z]")
  set(TUTTI_EIGHT_NAMES ${rows})
endif()

# Rows of `make check-long` alone: `make check` need not build what they alone run. What a compiler finds in the source of a
# program shows with the system's MPIs.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/more.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/more.txt rows REGEX "^[a-z]")
list(TRANSFORM rows REPLACE " .*" "" OUTPUT_VARIABLE TUTTI_MORE_ROWS)

# Sources of loops over many bytes of contents: they take as long as the calls that move them.
function(tutti_test_loops)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O3)
endfunction()

function(tutti_test_parts)
  cmake_parse_arguments(P "MPI" "" "" ${ARGN})
  foreach(file IN LISTS P_UNPARSED_ARGUMENTS)
    get_filename_component(path ${file} ABSOLUTE)
    set_property(GLOBAL PROPERTY TUTTI_TEST_PART_${path} "${P_MPI}")
  endforeach()
endfunction()

# `sources` with objects in place of parts; `mpi`: the interface, or empty.
function(tutti_test_sources mpi sources result)
  set(all "")
  foreach(file IN LISTS sources)
    get_filename_component(path ${file} ABSOLUTE)
    get_property(is_part GLOBAL PROPERTY TUTTI_TEST_PART_${path} SET)
    if(NOT is_part)
      list(APPEND all ${file})
      continue()
    endif()
    get_property(of_mpi GLOBAL PROPERTY TUTTI_TEST_PART_${path})
    file(RELATIVE_PATH part ${PROJECT_SOURCE_DIR}/tests ${path})
    string(MAKE_C_IDENTIFIER "part_${part}" part)
    if(of_mpi)
      set(part ${part}.${mpi})
    endif()
    if(NOT TARGET ${part})
      add_library(${part} OBJECT ${path})
      target_link_libraries(${part} PRIVATE tutti-flags)
      target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
      if(path MATCHES "/tests/support/") # what is right is worked out there
        target_compile_options(${part} PRIVATE -O2)
      endif()
      if(of_mpi)
        target_compile_options(${part} PRIVATE ${TUTTI_MPI_${mpi}_COMPILE})
      endif()
    endif()
    list(APPEND all $<TARGET_OBJECTS:${part}>)
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

function(tutti_unit_program name)
  cmake_parse_arguments(T "APART" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT TUTTI_CMOCKA)
    return()
  endif()
  if(NOT T_APART)
    tutti_test_sources("" "${T_SOURCES}" T_SOURCES)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE tutti-core tutti-flags ${T_LIBRARIES} ${TUTTI_CMOCKA})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

function(tutti_unit_test name)
  cmake_parse_arguments(T "APART" "TIMEOUT;PROGRAM" "SOURCES;LIBRARIES;ARGS;ENV;LABELS" ${ARGN})
  if(NOT TUTTI_CMOCKA)
    message(STATUS "cmocka was not found: test ${name} is left out")
    return()
  endif()
  if(T_TIMEOUT)
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * ${TUTTI_LIMIT_TIMES}")
  else()
    set(T_TIMEOUT ${TUTTI_LIMIT})
  endif()
  if(NOT T_PROGRAM)
    set(apart "")
    if(T_APART)
      set(apart APART)
    endif()
    tutti_unit_program(${name} SOURCES ${T_SOURCES} LIBRARIES ${T_LIBRARIES} ${apart})
    set(T_PROGRAM ${name})
  endif()
  add_test(NAME ${name} COMMAND ${TUTTI_TIMEOUT} -k 5 ${T_TIMEOUT} $<TARGET_FILE:${T_PROGRAM}> ${T_ARGS})
  math(EXPR backstop "${T_TIMEOUT} + 15")
  math(EXPR deadline "${T_TIMEOUT} - 5")
  set_tests_properties(${name} PROPERTIES LABELS "unit;${T_LABELS}" TIMEOUT ${backstop} COST ${T_TIMEOUT} SKIP_RETURN_CODE 77
                       ENVIRONMENT "${TUTTI_TEST_ENV};TUTTI_TEST_DEADLINE=${deadline};${T_ENV}")
endfunction()

# The interfaces for which programs must be built so that the MPIs named can run them.
function(tutti_mpi_builders mpis result)
  set(builders "")
  foreach(mpi IN LISTS mpis)
    if(mpi IN_LIST TUTTI_MPIS)
      list(APPEND builders ${TUTTI_MPI_${mpi}_BUILT_BY})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES builders)
  set(${result} ${builders} PARENT_SCOPE)
endfunction()

function(tutti_mpi_program name)
  cmake_parse_arguments(T "ALWAYS" "LANGUAGE" "SOURCES;LIBRARIES;MPIS" ${ARGN})
  if(NOT T_MPIS)
    set(T_MPIS ${TUTTI_MPIS})
  endif()
  set_property(GLOBAL PROPERTY TUTTI_MPI_PROGRAM_${name} TRUE)
  tutti_mpi_builders("${T_MPIS}" builders)
  foreach(mpi IN LISTS builders)
    set(prefix TUTTI_MPI_${mpi}_)
    if(T_LANGUAGE STREQUAL "Fortran")
      if(NOT ${prefix}FC_LINK OR NOT CMAKE_Fortran_COMPILER)
        continue()
      endif()
      set(prefix TUTTI_MPI_${mpi}_FC_)
    endif()
    tutti_test_sources(${mpi} "${T_SOURCES}" sources)
    add_executable(${name}.${mpi} ${sources})
    set_target_properties(${name}.${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                          Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.${mpi}.mod)
    target_compile_options(${name}.${mpi} PRIVATE ${${prefix}COMPILE})
    if(NOT T_LANGUAGE STREQUAL "Fortran")
      target_link_libraries(${name}.${mpi} PRIVATE tutti-flags)
      target_include_directories(${name}.${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    endif()
    target_link_libraries(${name}.${mpi} PRIVATE ${T_LIBRARIES} ${${prefix}LINK})
    if(TUTTI_TEST_LONG LESS 2 AND NOT T_ALWAYS AND NOT mpi IN_LIST TUTTI_MPI_SYSTEM)
      set_target_properties(${name}.${mpi} PROPERTIES EXCLUDE_FROM_ALL TRUE) # until a row needs it
    endif()
  endforeach()
endfunction()

function(tutti_mpi_test name)
  cmake_parse_arguments(T "EVERYWHERE;NO_PRELOAD;WILL_FAIL" "RANKS;RANKS_MPICH;MANY;TIMEOUT;LANGUAGE"
                        "SOURCES;PROGRAM;ARGS;ENV;LABELS;MPIS;LIBRARIES" ${ARGN})
  if(NOT T_RANKS)
    message(FATAL_ERROR "tutti_mpi_test(${name}): RANKS is missing")
  endif()
  if(NOT T_RANKS_MPICH)
    set(T_RANKS_MPICH ${T_RANKS})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT ${TUTTI_LIMIT})
  endif()
  if(T_MANY)
    tutti_many(T_MANY)
    tutti_many_time(T_TIMEOUT)
  endif()
  if(T_EVERYWHERE)
    set(T_MPIS ${TUTTI_MPIS})
  elseif(NOT T_MPIS)
    set(T_MPIS ${TUTTI_MPI_SYSTEM})
  endif()
  if(T_SOURCES)
    tutti_mpi_program(${name} SOURCES ${T_SOURCES} LANGUAGE ${T_LANGUAGE} LIBRARIES ${T_LIBRARIES} MPIS ${T_MPIS})
    set(T_PROGRAM ${name})
  endif()
  foreach(mpi IN LISTS T_MPIS)
    if(NOT mpi IN_LIST TUTTI_MPIS)
      continue()
    endif()
    list(GET T_PROGRAM 0 first)
    get_property(ours GLOBAL PROPERTY TUTTI_MPI_PROGRAM_${first})
    set(target ${first}.${TUTTI_MPI_${mpi}_BUILT_BY})
    set(command ${T_PROGRAM})
    if(TARGET ${target})
      if(NOT ${name}.${mpi} IN_LIST TUTTI_MORE_ROWS)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL FALSE)
      endif()
      list(POP_FRONT command)
      list(PREPEND command $<TARGET_FILE:${target}>)
    elseif(ours)
      continue() # not built for this MPI: no Fortran there
    endif()
    if(first STREQUAL "@PYTHON@" AND NOT TUTTI_MPI_${mpi}_PYTHON)
      continue()
    endif()
    set(ranks ${T_RANKS})
    if(NOT TUTTI_MPI_${mpi}_FAMILY STREQUAL "openmpi")
      set(ranks ${T_RANKS_MPICH})
    endif()
    set(inner ${TUTTI_TEST_ENV} ${T_ENV})
    set(preload ${TUTTI_MPI_${mpi}_PRELOAD})
    if(T_NO_PRELOAD)
      set(preload ${TUTTI_MPI_${mpi}_YIELD})
    endif()
    if(preload)
      list(PREPEND inner LD_PRELOAD=${preload})
    endif()
    if(first STREQUAL "@PYTHON@")
      list(PREPEND inner ${TUTTI_MPI_${mpi}_PYTHON_ENV})
    endif()
    set(many ${T_MANY})
    if(many AND NOT mpi IN_LIST TUTTI_MPI_SYSTEM)
      math(EXPR many "(${many} + 2) / 3")
    endif()
    set(words ${inner} ${command} ${many} ${T_ARGS})
    list(TRANSFORM words REPLACE "@MPI@" "${mpi}")
    list(TRANSFORM words REPLACE "@FAMILY@" "${TUTTI_MPI_${mpi}_FAMILY}")
    list(TRANSFORM words REPLACE "@PYTHON@" "${TUTTI_MPI_${mpi}_PYTHON}")
    # Where there are more processes than cores each of many ranks waits for the others' turns.
    set(timeout ${T_TIMEOUT})
    if(ranks GREATER 2)
      math(EXPR timeout "${T_TIMEOUT} * ${ranks} / 2")
    endif()
    add_test(NAME ${name}.${mpi} COMMAND ${TUTTI_TIMEOUT} -k 5 ${timeout} ${TUTTI_MPI_${mpi}_RUN}
             ${TUTTI_MPI_${mpi}_FLAGS} -n ${ranks} env ${words})
    # Shares of the slots of ctest, four a core (scripts/check.sh). Ranks yield, and half of a short test is its start and
    # end; some compute or spin all the time.
    math(EXPR cores "(${ranks} + 1) / 2")
    if(T_LABELS MATCHES "programs|sequences|matrix|large" OR "${T_ENV}" MATCHES "TUTTI_WAIT=(auto|spin)")
      set(cores ${ranks})
    endif()
    math(EXPR backstop "${timeout} + 15")
    set_tests_properties(${name}.${mpi} PROPERTIES LABELS "mpi;${mpi};${T_LABELS}" TIMEOUT ${backstop} SKIP_RETURN_CODE 77
                         COST ${timeout} PROCESSORS ${cores} ENVIRONMENT "${TUTTI_MPI_${mpi}_ENV}")
    if(T_WILL_FAIL)
      set_tests_properties(${name}.${mpi} PROPERTIES WILL_FAIL TRUE)
    endif()
  endforeach()
  set(eight 0)
  foreach(names IN LISTS TUTTI_EIGHT_NAMES) # one by one: CMake's expressions have few parentheses
    if(name MATCHES "^(${names})$")
      set(eight 1)
    endif()
  endforeach()
  if(eight AND T_RANKS LESS 8 AND "openmpi" IN_LIST T_MPIS)
    tutti_mpi_test(${name}-eight PROGRAM ${T_PROGRAM} RANKS 8 TIMEOUT ${T_TIMEOUT} ARGS ${T_MANY} ${T_ARGS} ENV ${T_ENV}
                   LABELS eight MPIS openmpi)
  endif()
endfunction()
