#!/bin/bash
# install.sh CMAKE BUILD SOURCE-OF-THIS-TEST [MPI-PROGRAM]
set -eu
cmake=$1 build=$2 source=$3 program=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1

"$cmake" --install "$build" --prefix "$folder/first" >"$folder/log" || fail "cmake --install: $(tail -n 3 "$folder/log")"
# Nothing may depend on where it was put first, nor on the build folder.
mv "$folder/first" "$folder/moved"
prefix="$folder/moved"
for file in bin/tutti lib/libtutti.so lib/libtutti-core.so include/tutti/tutti.h include/tutti/settings.def lib/pkgconfig/tutti.pc \
    lib/cmake/tutti/tuttiConfig.cmake share/bash-completion/completions/tutti; do
    [ -e "$prefix/$file" ] || fail "$file is missing"
done
if [ -d "$build/share/man" ]; then # made where scdoc is
    for page in man1/tutti.1 man1/tutti-run.1 man3/MPIX_Allreduce_enqueue.3 man7/tshmem.7; do
        [ -s "$prefix/share/man/$page" ] || fail "the page $page is missing"
    done
fi
if grep -rlF "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"; then fail "the files above name the build folder"; fi
for file in "$prefix"/bin/tutti "$prefix"/lib/*.so; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$build"; then fail "$file looks for libraries in the build folder"; fi
    if ldd "$file" | grep -F "$build"; then fail "$file finds libraries in the build folder"; fi
done
cd /

# By pkg-config.
flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs tutti) || fail "pkg-config does not know tutti"
eval "cc -Wall -Werror -o '$folder/by-pkg-config' '$source/user/user.c' $flags" || fail "cannot compile with $flags"
"$folder/by-pkg-config" || fail "the program made by pkg-config fails"

# By CMake.
"$cmake" -S "$source/user" -B "$folder/user" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log" 2>&1 ||
    fail "find_package: $(cat "$folder/log")"
"$cmake" --build "$folder/user" >"$folder/log" 2>&1 || fail "cannot build by find_package: $(cat "$folder/log")"
"$folder/user/user" || fail "the program made by find_package fails"
readelf -d "$folder/user/hello" | grep -q libtutti-openshmem || fail "tutti::tutti-openshmem links no libtutti-openshmem"

# The command, from another folder, and a program under it.
"$prefix/bin/tutti" info >"$folder/log" 2>&1 || fail "tutti info: $(cat "$folder/log")"
if [ -n "$program" ]; then
    # Programs that ask when they are compiled whether the MPI takes device memory.
    printf '#include <mpi.h>\n#include <mpi-ext.h>\n#if !MPIX_CUDA_AWARE_SUPPORT\n#error no\n#endif\n' >"$folder/asks.c"
    eval "cc -Wall -Wextra -pedantic -Werror -fsyntax-only '-I$prefix/include/tutti/aware' '$folder/asks.c' ${INSTALL_COMPILE:-}" || fail "aware/mpi-ext.h"
    TUTTI_STATS=1 "$prefix/bin/tutti" run -n 2 "$program" 2>"$folder/log" || fail "tutti run: $(cat "$folder/log")"
    grep -q MPI_Allreduce "$folder/log" || fail "TUTTI_STATS=1 says nothing of MPI_Allreduce: $(cat "$folder/log")"
    # OpenSHMEM programs as they are, in C and by the module of Fortran.
    shmem=$source/../shmem
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    flags=$(pkg-config --cflags --libs tutti-openshmem) || fail "pkg-config does not know tutti-openshmem"
    eval "cc -o '$folder/openshmem' '$shmem/openshmem.c' $flags ${INSTALL_COMPILE:-} ${INSTALL_LINK:-}" ||
        fail "cannot compile with $flags"
    "$prefix/bin/tutti" run -n 2 "$folder/openshmem" >"$folder/log" 2>&1 || fail "OpenSHMEM: $(cat "$folder/log")"
    "$source/openshmem.sh" "$prefix" "$folder" "$source"
    # Programs written for NVSHMEM and Intel SHMEM: by pkg-config; with lib/tutti/nvshmem in NVSHMEM's place, linked with no MPI;
    # and by find_package(NVSHMEM).
    flags=$(pkg-config --cflags --libs tutti-nvshmem) || fail "pkg-config does not know tutti-nvshmem"
    eval "cc -o '$folder/nvshmem' '$shmem/shims/nvshmem.c' $flags ${INSTALL_COMPILE:-} ${INSTALL_LINK:-}" || fail "cannot compile with $flags"
    LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/tutti" run -n 2 "$folder/nvshmem" >"$folder/log" 2>&1 || fail "NVSHMEM: $(cat "$folder/log")"
    home=$prefix/lib/tutti/nvshmem
    [ -z "$(find "$home" -xtype l)" ] || fail "links of $home lead nowhere: $(find "$home" -xtype l)"
    cc -o "$folder/alone" "$shmem/shims/nvshmem_kernels.c" "-I$home/include" "-L$home/lib" -lnvshmem_host -lnvshmem_device ||
        fail "cannot compile with NVSHMEM_HOME=$home"
    LD_LIBRARY_PATH=$home/lib "$prefix/bin/tutti" run -n 2 "$folder/alone" >"$folder/log" 2>&1 || fail "NVSHMEM_HOME: $(cat "$folder/log")"
    if ! { "$cmake" -S "$source/nvshmem" -B "$folder/by-nvshmem" -DNVSHMEM_PREFIX="$home" &&
        "$cmake" --build "$folder/by-nvshmem"; } >"$folder/log" 2>&1; then
        fail "find_package(NVSHMEM): $(cat "$folder/log")"
    fi
    "$prefix/bin/tutti" run -n 2 "$folder/by-nvshmem/program" >"$folder/log" 2>&1 || fail "find_package(NVSHMEM): $(cat "$folder/log")"
    if command -v c++ >/dev/null; then
        flags=$(pkg-config --cflags --libs tutti-ishmem) || fail "pkg-config does not know tutti-ishmem"
        eval "c++ -o '$folder/ishmem' '$shmem/shims/ishmem.cc' $flags -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX ${INSTALL_COMPILE:-} ${INSTALL_LINK:-}" ||
            fail "cannot compile with $flags"
        LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/tutti" run -n 2 "$folder/ishmem" >"$folder/log" 2>&1 || fail "Intel SHMEM: $(cat "$folder/log")"
    fi
    if [ -n "${INSTALL_FC:-}" ] && [ -n "${INSTALL_FC_LINK:-}" ]; then
        flags=$(pkg-config --cflags --libs tutti-fortran) || fail "pkg-config does not know tutti-fortran"
        command="$INSTALL_FC -o fortran '$shmem/kit_fortran.f90' '$shmem/fortran.f90' $flags ${INSTALL_FC_COMPILE:-} $INSTALL_FC_LINK"
        (cd "$folder" && eval "$command") || fail "cannot compile: $command"
        "$prefix/bin/tutti" run -n 2 "$folder/fortran" >"$folder/log" 2>&1 || fail "Fortran: $(cat "$folder/log")"
    fi
    # The folders that stand in an MPI's place lead to libtutti.so and to the MPI.
    for link in "$prefix"/lib/tutti/*/libtutti-mpi.so; do
        [ -e "$link" ] || fail "$link leads nowhere"
        stands=$(find "$(dirname "$link")" -maxdepth 1 -name 'libmpi*.so.*' | sort | head -n 1)
        ldd "$stands" | grep -q "libtutti.so => $prefix/lib/" || fail "$stands does not find libtutti.so"
    done
    # LD_PRELOAD ends names at blanks: said (125, the command fails itself), instead of a run without the library.
    mv "$prefix" "$folder/with blank"
    status=0
    "$folder/with blank/bin/tutti" run -n 2 "$program" >"$folder/log" 2>&1 || status=$?
    if [ $status -ne 125 ] || ! grep -q "LD_PRELOAD cannot name" "$folder/log"; then
        fail "a folder with a blank: $(cat "$folder/log")"
    fi
fi
