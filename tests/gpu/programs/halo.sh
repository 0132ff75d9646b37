# A typed halo exchange in C: halo.c. It copies the faces by hand beside each exchange. Without a GPU its field lies in memory of
# the simulated GPU.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(halo)
halo_rows() { echo halo; }
halo_can() { :; }

halo_ready() {
    local options=(-DHALO_CUDA "-I$cuda/include" "-L$cuda/lib64" -lcudart) file=halo-cuda
    if [ "$gpus" -eq 0 ] && [ -z "${PREPARE:-}" ]; then options=() file=halo-host; fi
    halo=$made/$file
    [ "$halo" -nt "$here/halo.c" ] && return
    if ! command -v "${mpicc:-mpicc}" >/dev/null && [ -x "${sources:+$sources/halo/halo}" ]; then
        halo=$sources/halo/halo
        return
    fi
    need_build "${mpicc:-mpicc}" || return
    "$mpicc" -std=c11 -O2 -Wall "$here/halo.c" "${options[@]}" -o "$halo" >"$logs/halo.make.log" 2>&1 && return
    reason="it could not be built: $logs/halo.make.log"
    return 1
}
halo_prepare() { mkdir -p "$1/halo" && cp "$halo" "$1/halo/halo" && strip "$1/halo/halo"; }

halo_run() {
    launch "$1" 100 "$ranks" tutti "LD_LIBRARY_PATH=$(library_path "$halo")" -- "$halo" $((gpus > 0 ? 20 : 3))
    local status=$?
    says=$(sed -n 's/^halo: //p' "$log" | paste -sd ';' | sed 's/;/; /g')
    [ $status -eq 0 ] || return 1
    staged_or_not "$sends"
    return 0
}
