#!/bin/bash
# openshmem.sh PREFIX FOLDER SOURCE: OpenSHMEM programs by the installed wrappers, as configure scripts, Makefiles and users call
# them. PREFIX holds an installation, FOLDER is for what is made, SOURCE is the folder of this test.
set -eu
prefix=$1 folder=$2/osh source=$3
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "install: $*" >&2
    exit 1
}
run() { # PES PROGRAM: its output
    "$prefix/bin/oshrun" -n "$1" "./$2" >"$2.log" 2>&1 || fail "oshrun -n $1 $2: $(cat "$2.log")"
    cat "$2.log"
}
for name in oshcc oshc++ oshCC oshcxx oshrun; do
    [ -x "$prefix/bin/$name" ] || fail "bin/$name is missing"
done
for name in shmem shmemx pshmem pshmemx; do
    for path in tutti/openshmem/$name.h tutti/openshmem/mpp/$name.h; do
        [ -e "$prefix/include/$path" ] || fail "include/$path is missing"
    done
done
compilers=()
for wrapper in mpicc.openmpi mpicc.mpich; do
    command -v $wrapper >/dev/null && compilers+=("$wrapper")
done
PATH=$prefix/bin:$PATH

# Hello and ring in the two styles, in one step and in two, under each MPI of the system.
for compiler in "${compilers[@]:-}"; do # none: what oshcc finds by itself
    export OSHCC_MPICC=$compiler
    oshcc -Wall -Wextra -Werror -o hello "$source/user/hello.c" || fail "oshcc ($compiler) cannot make hello.c"
    run 2 hello | grep -c "^hello of 2 from OpenSHMEM 1\.[5-9]" | grep -qx 2 || fail "hello under $compiler: $(cat hello.log)"
    oshcc -c -O2 -Werror "$source/user/ring.c" || fail "oshcc -c ($compiler) cannot compile ring.c"
    oshcc ring.o -o ring -lm || fail "oshcc ($compiler) cannot link ring.o"
    run 3 ring | grep -qx "ring of 3: right" || fail "ring under $compiler: $(cat ring.log)"
done
unset OSHCC_MPICC
oshrun -np 2 --quiet ./hello >log 2>&1 || fail "oshrun -np 2 --quiet: $(cat log)"
oshrun --show -n 2 --mca btl_base_verbose 0 -x NOTHING ./hello >log 2>&1 || fail "oshrun --show: $(cat log)"
grep -q -- "--mca btl_base_verbose 0 -x NOTHING" log || fail "options of the launcher are lost: $(cat log)"
status=0
oshrun -n 2 >log 2>&1 || status=$?
[ $status -eq 125 ] || fail "oshrun without a program ends with $status: $(cat log)"

# C++ where there is a compiler.
if command -v "$(oshc++ --showme:command)" >/dev/null && command -v c++ >/dev/null; then
    sed 's/long ring_word;/long ring_word;\nstatic_assert(sizeof(shmem_ctx_t) > 0, "");/' "$source/user/ring.c" >ring.cc
    oshc++ -std=c++17 -Wall -Werror ring.cc -o ringcc || fail "oshc++ cannot make ring.cc"
    run 2 ringcc | grep -qx "ring of 2: right" || fail "ring in C++: $(cat ringcc.log)"
fi

# What a configure script asks.
oshcc --version | grep -qi "gcc\|clang\|cc" || fail "oshcc --version: $(oshcc --version)"
oshcc -show -c x.c | grep -q -- "-I$prefix/include/tutti/openshmem" || fail "oshcc -show: $(oshcc -show -c x.c)"
oshcc --showme:link | grep -q -- "-ltutti-openshmem.* -lm" || fail "oshcc --showme:link: $(oshcc --showme:link)"
for function in shmem_init start_pes shmem_put64 shmem_long_put shmem_int_sum_to_all pshmem_barrier_all; do
    printf 'char %s();\nint main(void) { return %s(); }\n' $function $function >conftest.c
    oshcc -o conftest conftest.c >log 2>&1 || fail "a configure script finds no $function: $(cat log)"
done
for header in shmem.h shmemx.h pshmem.h mpp/shmem.h mpp/shmemx.h; do
    printf '#include <%s>\nint main(void) { return 0; }\n' $header >conftest.c
    oshcc -E -o conftest.i conftest.c >log 2>&1 || fail "a configure script finds no $header: $(cat log)"
    grep -q "^# .*$prefix/include/tutti/openshmem/" conftest.i || fail "<$header> is another library's"
done
echo 'int main(void) { return 0; }' | oshcc -x c -c -o empty.o - || fail "oshcc does not compile its standard input"
oshcc -o nothing conftest.c
if readelf -d nothing | grep NEEDED | grep -c . | grep -qx 0; then fail "what oshcc links needs no library"; fi
status=0
OSHCC_MPICC=no-such-compiler oshcc -c conftest.c 2>log || status=$?
if [ $status -eq 0 ] || ! grep -q "OSHCC_MPICC" log; then fail "oshcc without a compiler: $(cat log)"; fi

# A tool for profiling as a library of its own, in front of a program that was linked before.
oshcc -shared -fPIC -Wall -Werror -o libtool.so "$source/user/tool.c" || fail "oshcc cannot make the tool"
sed 's/@//' <<'PROGRAM' >traced.sh
#!/bin/sh
LD_PRELOAD="$LD_PRELOAD ./libtool.so" exec ./ring
PROGRAM
chmod +x traced.sh
oshrun --quiet -n 2 ./traced.sh >log 2>&1 || fail "a program with a tool: $(cat log)"
grep -qx "tool: 2 puts of longs" log || fail "the tool saw nothing: $(cat log)"
