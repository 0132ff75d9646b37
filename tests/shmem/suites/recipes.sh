# How each suite is made: a function suite_NAME of the folder NAME, run in a copy of it.
#   each [FLAG...] -- SOURCE...   every source is a program
#   build COMMAND...              a step of the suite's own build system
#   program NAME FILE             a program that a step has made
# shellcheck shell=bash disable=SC2034,SC2046,SC2154

# made FILE...: programs that build steps have made. Files that are not executables are left out.
made() {
    local file
    for file; do
        [ -f "$file" ] && [ -x "$file" ] && [ "$(head -c 2 "$file")" != '#!' ] && program "$file" "$PWD/$file"
    done
}

# Sandia's tests: autotools.
suite_tests_sos() {
    [ -x configure ] || build ./autogen.sh
    [ -f Makefile ] || build ./configure CC=oshcc CXX=oshc++ CFLAGS=-w CXXFLAGS=-w --disable-fortran \
        --enable-profiling
    build make -k
    local folder name
    for folder in unit shmemx apps spec-example performance/shmem_perf_suite performance/tests; do
        for name in $(make -s -C "test/$folder" -f - names <<<$'include Makefile\nnames:\n\t@echo $(bin_PROGRAMS) $(check_PROGRAMS)'); do
            echo "$folder/$name"
        done | sort -u | while read -r name; do program "$name" "$PWD/test/$name"; done
    done
}

suite_openshmem_examples() { each -fopenmp -- c/*.c c/experimental/*.c c++/*.cxx; }
suite_sc14_tutorial() { each -- $(find . -path '*intro/*' -name '*.c' -printf '%P\n' | sort) \
    hands-on/openshmem-examples/C/*.c hands-on/openshmem-examples/C/experimental/*.c hands-on/openshmem-examples/C++/*.cxx; }
suite_tests_uh() { each -- feature_tests/C/*.c performance_tests/*/*.c; }

# One program with all tests: autotools. What it runs is in programs.txt. opal_progress is of the Open MPI that may be installed
# beside the MPI of oshcc; the program would call it without its MPI_Init.
suite_tests_mellanox() {
    cd verifier || return
    [ -x configure ] || build ./autogen.sh
    [ -f Makefile ] || build ./configure CC=oshcc CFLAGS=-w --enable-active-sets ac_cv_lib_open_pal_opal_progress=no
    build make
    local task
    for task in basic data sync atomic lock coll reduce strided nbi misc mix; do
        program "$task" "$PWD/oshmem_test"
    done
}

# CMake.
suite_shmemvv() {
    [ -f build/Makefile ] || build cmake -S . -B build -DCMAKE_C_COMPILER=oshcc -DCMAKE_C_FLAGS=-w
    build make -k -C build
    local source name
    while read -r source; do
        name=$(basename "$source" .c)
        program "$(basename "$(dirname "$source")")/$name" "$PWD/build/bin/$(basename "$(dirname "$source")")/$name"
    done < <(find src/unit -name '*.c' | sort)
}

# Make, each in its folder.
suite_prk() {
    printf 'SHMEMCC=oshcc -w\n' >common/make.defs
    local folder
    for folder in Stencil Synch_p2p Transpose; do
        sed -n 's/^ *PROGRAM *= *//p' "SHMEM/$folder/Makefile" | while read -r name; do
            build make -C "SHMEM/$folder" DEFAULT_OPT_FLAGS=-O2 "$name"
            program "$name" "$PWD/SHMEM/$folder/$name"
        done
    done
}

# Its Makefile asks for -std=c99, where the C library hides struct timespec.
suite_isx() {
    build make -C SHMEM CFLAGS='-std=gnu99 -w'
    local scaling
    for scaling in strong weak weak_iso; do program "isx.$scaling" "$PWD/SHMEM/bin/isx.$scaling"; done
}

# OSU's of 2016 and of 2024: configured through oshcc.
osu() {
    touch aclocal.m4 && sleep 1 && find . -name Makefile.in -exec touch {} + -o -name configure -exec touch {} +
    [ -f Makefile ] || build ./configure CC=oshcc CXX=oshc++ CFLAGS=-w
    build make -k -C "$1"
    local source
    for source in "$1"/osu_oshm_*.c; do
        program "$(basename "$source" .c)" "$PWD/${source%.c}"
    done
}
suite_osu_5_3() { osu openshmem; }
suite_osu_7_4() { osu c/openshmem; }

suite_ompi_examples() { each -- $(cd "$copy" && ls examples/*oshmem*.c examples/*oshmem*.cc); }
suite_specification() { each -fopenmp -- example_code/*.c; }
suite_osss_ucx() { each -- example/*.c; }
suite_ofiwg_tutorial() { each -- examples/*.c; }
suite_ornl_tutorial() {
    each -- *.c
    each -DC_OPENSHMEM_PRACTICAL cio.c filter.c dosharpen.c utilities.c -- sharpen/sharpen.c
}
# HAVE_SHORT: for C atomics of short, which no standard has; in C++ reductions, with which two pSync take turns.
suite_tests_cray() {
    each -DNEEDS_FINALIZE -DHAVE_LONG_LONG -DHAVE_LONG_DOUBLE -- sma1/*.c
    each -DNEEDS_FINALIZE -DHAVE_SHORT -DHAVE_LONG_LONG -DHAVE_LONG_DOUBLE -- sma2/*.cpp
}
suite_shmemx_cray_tests() { each -- teams/usage/*.c; }
suite_osa_testcodes() { each -- *.c bugs/*.c; }
suite_heat() { each -DOSH sharedblk.c -- src/shmem_heat2d.c; }
suite_andela() { each -- test_examples/*.c; }
suite_rmaracebench() { each -- $(find SHMEM -name '*.c' | sort); }

suite_gups_shmem() {
    build make
    program gups "$PWD/gups"
}

suite_npb() {
    cd C || return
    cp config/make.def.template config/make.def
    local pes
    for pes in 2 4; do
        build make is CLASS=S NPROCS=$pes
    done
    for pes in 2 4; do program is.S.$pes "$PWD/bin/is.S.$pes"; done
}

# Bale's libraries and applications: autotools, several packages.
suite_bale() {
    cd src/bale_classic || return
    [ -x libgetput/configure ] || build ./bootstrap.sh
    CC=oshcc build ./make_bale -s
    made $(find build_*/bin -type f 2>/dev/null | sort)
}

# A binding: PYTHON has cffi, numpy and setuptools. Its tests, one program for each file, and its demonstrations.
# It asks macros which library it is on, and takes an unknown one for OpenSHMEM 1.4: the two are Sandia's, which has 1.5.
suite_shmem4py() {
    local python
    python=$(command -v "${PYTHON:-python3}")
    CFLAGS='-w -DSHMEM_DEF_H -DSHMEM_FUNCTION_ATTRIBUTES=' build "$python" setup.py build build_ext --inplace
    local source
    for source in test/test_*.py demo/[a-z]*.py demo/api/*.py; do
        program "${source%.py}" "$(ls "$PWD"/src/shmem4py/*.so >/dev/null 2>&1 && echo "$python")"
    done
}

suite_circustent() {
    [ -f build/Makefile ] || build cmake -S . -B build -DCMAKE_C_COMPILER=oshcc -DCMAKE_CXX_COMPILER=oshc++ -DENABLE_OPENSHMEM=ON
    build make -k -C build
    local name
    for name in RAND_ADD RAND_CAS STRIDE1_ADD STRIDE1_CAS STRIDEN_ADD STRIDEN_CAS PTRCHASE_ADD SG_ADD SG_CAS CENTRAL_ADD \
        CENTRAL_CAS SCATTER_ADD SCATTER_CAS GATHER_ADD GATHER_CAS; do
        program "$name" "$PWD/build/src/CircusTent/circustent"
    done
}

suite_shmembench() {
    build make
    local source
    for source in src/benchmarks/*/*.c; do
        program "$(basename "$source" .c)" "$PWD/build/bin/shmembench"
    done
}
