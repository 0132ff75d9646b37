# TUTTI_PYTHON3: the interpreter of tests and tools itself. What `python3` names may be a script that looks for one (pyenv), which
# costs twice as much of the processor as the start of the interpreter.
find_program(TUTTI_PYTHON3 python3)
mark_as_advanced(TUTTI_PYTHON3)
if(TUTTI_PYTHON3)
  execute_process(COMMAND ${TUTTI_PYTHON3} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE itself
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(itself AND EXISTS "${itself}")
    set(TUTTI_PYTHON3 "${itself}" CACHE FILEPATH "Python 3" FORCE)
  endif()
endif()
