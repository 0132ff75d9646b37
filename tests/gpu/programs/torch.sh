# PyTorch tensors by mpi4py: torch_messages.py, once in memory of expandable segments, once in that of cudaMalloc. It copies
# by hand beside each call. Without a GPU, arrays in memory of the simulated GPU stand for tensors.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(torch)
torch_rows() { printf '%s\n' torch-segments torch-plain; }
torch_can() {
    if [ "$gpus" -gt 0 ]; then
        python_ready 'torch, mpi4py'
    else
        if [ "$1" != torch-segments ]; then need_gpus 1 '' || return; fi
        [ -x "$build/mpis/python/bin/python3" ] && python=$build/mpis/python/bin/python3
        python_ready 'numpy, mpi4py'
    fi
}
torch_ready() { :; }
torch_prepare() { :; } # it lies in the project

torch_run() {
    local segments=True kind=torch most=1024
    [ "$1" = torch-plain ] && segments=False
    if [ "$gpus" -eq 0 ]; then
        kind=simulated most=4
    fi
    launch "$1" 150 "$ranks" tutti "${python_variables[@]}" "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:$segments" \
        OMP_NUM_THREADS=4 -- "$python" "$here/torch_messages.py" $kind $most || return 1
    says=$(sed -n 's/^messages: //p' "$log")
    # Ranks that the launcher did not bring together would each be alone.
    [[ $says == *"on $ranks ranks"* ]] || { reason="it printed no figures of $ranks ranks" && return 1; }
    staged_or_not "$sends|MPI_Allreduce"
    return 0
}
