#!/bin/bash
# Wrong arguments and settings are refused before anything starts: status 2 (of tutti run 125 to 127), what was wrong, what would be right. refusals.sh TUTTI
. "$(dirname "$0")/check.sh"
tutti=$1
export TUTTI_DEVICE=host
unset TUTTI_RULES

# Of names near ones alone are told: one change for every three letters.
expect 2 "did you mean run?" "$tutti" rnu
expect 2 "did you mean tune?" "$tutti" tun
expect 2 "there is no option --foo: --help lists them" "$tutti" bench allreduce --foo
expect 2 "there is no option --pll: --help lists them" "$tutti" bench allreduce --pll
expect 2 "there is no option --sed: did you mean --seed?" "$tutti" bench allreduce --sed
expect 2 "there are run, info, bench, energy, tune, model and help" "$tutti" foo
expect 125 "TUTTI_FOO is not a setting: \`tutti info\` lists them" env TUTTI_FOO=1 "$tutti" run true
expect 125 "TUTTI_X is not a setting: \`tutti info\` lists them" env TUTTI_X=1 "$tutti" run true
expect 125 "TUTTI_WINDOW_BM is not a setting: did you mean TUTTI_WINDOW_MB?" env TUTTI_WINDOW_BM=1 "$tutti" run true
expect 2 "there are run, info, bench, energy, tune, model and help" "$tutti" something-else
expect 2 "Usage: tutti COMMAND" "$tutti"
expect 0 "Usage: tutti COMMAND" "$tutti" help
expect 0 "Usage: tutti run" "$tutti" help run
expect 0 "tutti " "$tutti" --version

# Exit statuses of tutti run as env and timeout have them: they are told from those of most programs.
expect 125 "no program was named" "$tutti" run -n 2
expect 127 "there is no program ./not-there" "$tutti" run -n 2 ./not-there
expect 127 "there is no program not-there" "$tutti" run -n 2 not-there
expect 125 "requires an argument" "$tutti" run -n
expect 126 "is not a program that can be executed" "$tutti" run -n 2 /etc/passwd
expect 125 "-n 0 is not valid: a number from 1 to" "$tutti" run -n 0 true
expect 125 "-n four is not valid" "$tutti" run -n four true
expect 125 "there is no option --devcie: did you mean --device?" "$tutti" run --devcie host true
expect 125 "there is no option --zzz: --help lists them" "$tutti" run --zzz true
expect 125 "did you mean openmpi?" "$tutti" run --mpi opnmpi true
expect 125 "there is no such launcher or folder" "$tutti" run --mpi /not/there true
expect 125 "no launcher of Open MPI, MPICH or Intel MPI" "$tutti" run --mpi /bin/true true
expect 125 "no launcher of Open MPI, MPICH or Intel MPI" "$tutti" run --mpi /etc true
expect 125 "a quote is not closed" "$tutti" run --mpi-args "--x 'y" true
expect 125 "no MPI was found" env PATH=/not/there "$tutti" run /bin/true

expect 125 "TUTTI_DEVICE=gpu is not valid: allowed is auto|cuda|host|none" env TUTTI_DEVICE=gpu "$tutti" run true
# A device that an option names is refused in the option's name.
for command in "bench allreduce" "bench pack" "bench pingpong" tune; do
    read -ra words <<<"$command"
    expect 2 "--device gpu is not known: there are auto, cuda, host, none" "$tutti" "${words[@]}" --device gpu
    expect 2 "--device hots is not known: did you mean host?" "$tutti" "${words[@]}" --device hots
done
expect 125 "--device gpu is not known: there are auto, cuda, host, none" "$tutti" run --device gpu true
expect 125 "TUTTI_WAIT=busy is not valid" env TUTTI_WAIT=busy "$tutti" run true
expect 125 "TUTTI_CHANNEL_MB=1025 is not valid: allowed is 0 to 1024" env TUTTI_CHANNEL_MB=1025 "$tutti" run true
expect 125 "TUTTI_DEVICES is not a setting: did you mean TUTTI_DEVICE?" env TUTTI_DEVICES=host "$tutti" run true
expect 125 "no algorithm 'oneshoot'" env TUTTI_RULES="allreduce: *@oneshoot" "$tutti" run true
expect 125 "no range of bytes '8k-'" env TUTTI_RULES="allreduce: 8k-@oneshot" "$tutti" run true
expect 2 "no collective 'alreduce'" env TUTTI_RULES="alreduce: *@oneshot" "$tutti" bench allreduce

expect 2 "did you mean allreduce?" "$tutti" bench alreduce
expect 2 "there are allreduce, reduce, reduce_scatter, reduce_scatter_block, scan, exscan, latency, bw, bibw, mbw_mr, bcast, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall, alltoallv, neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, file_write, file_read, put, get, accumulate, pack, halo, pingpong, shmem, never-slower, partitioned, overhead, host" "$tutti" bench xylophone
expect 2 "did you mean reduce_scatter?" "$tutti" bench reduce-scatter
expect 2 "--order graph needs CUDA" "$tutti" bench allreduce --order graph
expect 2 "--order gaph is not known: did you mean graph?" "$tutti" bench allreduce --order gaph
expect 2 "tutti bench scan has no root" "$tutti" bench scan --root 1
expect 2 "with -n 2 the last rank is 1" "$tutti" bench reduce --root 2
expect 2 "--ways nkkl is not known: did you mean nccl?" "$tutti" bench allreduce --ways staged,nkkl
expect 2 "did you mean max?" "$tutti" bench allreduce --ops sum,mx
expect 2 "none of the operators of --ops is legal" "$tutti" bench allreduce --ops band --types float,double
expect 2 "are not a whole number of double_int" "$tutti" bench allreduce --ops minloc --types double_int -m 24
expect 2 "leave out --ops and --types" "$tutti" bench allreduce --phases --ops all
expect 2 "leave out --order" "$tutti" bench allreduce --phases --order stream
expect 2 "--seconds 0 is not valid" "$tutti" bench allreduce --seconds 0
expect 2 "'8x' is not a size" "$tutti" bench allreduce -m 8,8x
expect 2 "Usage: tutti bench" "$tutti" bench
expect 2 "sizes double from MIN, so it cannot be 0" "$tutti" bench allreduce -m 0:8
expect 2 "the first size is larger than the last" "$tutti" bench allreduce -m 16:8
expect 2 "'1q' is not a size" "$tutti" bench allreduce -m 8:1q
expect 2 "'-8' is not a size" "$tutti" bench allreduce -m -8:64
expect 2 "is not a whole number of double (8 bytes each)" "$tutti" bench allreduce --type double -m 4:64
expect 2 "more than 2147483647 elements of int8" "$tutti" bench allreduce --type int8 -m 8:4g
expect 2 "-i 0 is not valid" "$tutti" bench allreduce -i 0
expect 2 "-x -1 is not valid" "$tutti" bench allreduce -x -1
expect 2 "did you mean sum?" "$tutti" bench allreduce --op summ
expect 2 "there are sum, prod, min, max" "$tutti" bench allreduce --op average-of-all
expect 2 "did you mean float?" "$tutti" bench allreduce --type flaot
expect 2 "--op band is not legal on float: legal are sum, prod, min, max" "$tutti" bench allreduce --op band
expect 2 "--op replace is not legal on float" "$tutti" bench allreduce --op replace
expect 2 "did you mean twoshot?" "$tutti" bench allreduce --algorithm twoshoot
expect 2 "--json /not/there/x cannot be written" "$tutti" bench allreduce --json /not/there/x
expect 2 "--plot /not/there/x.png cannot be written" "$tutti" bench allreduce --plot /not/there/x.png
for plot in x.foo x png /tmp/x.d/png .pngx; do
    expect 2 "--plot $plot: pictures are PNG alone: its name must end in .png" "$tutti" bench allreduce --plot $plot
done
expect 2 "must end in .png" "$tutti" bench pack --plot x.foo
expect 2 "must end in .png" "$tutti" bench halo --plot x.foo
checks=$((checks + 1))
[ ! -e x.foo ] || fail "a refusal made a file"
expect 2 "leaves no device memory to measure" "$tutti" bench allreduce --device none
expect 2 "'more' is not understood" "$tutti" bench allreduce more
expect 2 "--limit x is not valid" "$tutti" bench overhead --limit x
expect 2 "--calls isend_2k is not known" "$tutti" bench host --calls isend_2k
expect 2 "there is no option --op" "$tutti" bench overhead --op sum
expect 2 "info takes no argument" "$tutti" info all
finish
