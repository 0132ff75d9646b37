#!/bin/bash
# Whatever is wrong is refused before anything starts: status 2, what was wrong, what would be right. refusals.sh TUTTI
. "$(dirname "$0")/check.sh"
tutti=$1
export TUTTI_DEVICE=host
unset TUTTI_RULES

expect 2 "did you mean run?" "$tutti" rnu
expect 2 "there are run, info, bench, tune and help" "$tutti" something-else
expect 2 "Usage: tutti COMMAND" "$tutti"
expect 0 "Usage: tutti COMMAND" "$tutti" help
expect 0 "Usage: tutti run" "$tutti" help run
expect 0 "tutti " "$tutti" --version

expect 2 "no program was named" "$tutti" run -n 2
expect 2 "there is no program ./not-there" "$tutti" run -n 2 ./not-there
expect 2 "is not a program that can be executed" "$tutti" run -n 2 /etc/passwd
expect 2 "-n 0 is not valid: a number from 1 to" "$tutti" run -n 0 true
expect 2 "-n four is not valid" "$tutti" run -n four true
expect 2 "there is no option --devcie: did you mean --device?" "$tutti" run --devcie host true
expect 2 "there is no option --zzz: --help lists them" "$tutti" run --zzz true
expect 2 "did you mean openmpi?" "$tutti" run --mpi opnmpi true
expect 2 "there is no such launcher or folder" "$tutti" run --mpi /not/there true
expect 2 "no launcher of Open MPI, MPICH or Intel MPI" "$tutti" run --mpi /bin/true true
expect 2 "no launcher of Open MPI, MPICH or Intel MPI" "$tutti" run --mpi /etc true
expect 2 "a quote is not closed" "$tutti" run --mpi-args "--x 'y" true
expect 2 "no MPI was found" env PATH=/not/there "$tutti" run /bin/true

expect 2 "TUTTI_DEVICE=gpu is not valid: allowed is auto|cuda|host|none" "$tutti" run --device gpu true
expect 2 "TUTTI_WAIT=busy is not valid" env TUTTI_WAIT=busy "$tutti" run true
expect 2 "TUTTI_CHANNEL_MB=1025 is not valid: allowed is 0 to 1024" env TUTTI_CHANNEL_MB=1025 "$tutti" run true
expect 2 "TUTTI_DEVICES is not a setting: did you mean TUTTI_DEVICE?" env TUTTI_DEVICES=host "$tutti" run true
expect 2 "no algorithm 'oneshoot'" env TUTTI_RULES="allreduce: *@oneshoot" "$tutti" run true
expect 2 "no range of bytes '8k-'" env TUTTI_RULES="allreduce: 8k-@oneshot" "$tutti" run true
expect 2 "no collective 'alreduce'" env TUTTI_RULES="alreduce: *@oneshot" "$tutti" bench allreduce

expect 2 "did you mean allreduce?" "$tutti" bench alreduce
expect 2 "there are allreduce, reduce, reduce_scatter, reduce_scatter_block, scan, exscan, overhead" "$tutti" bench gather-all
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
expect 2 "--plot /not/there/x cannot be written" "$tutti" bench allreduce --plot /not/there/x
expect 2 "leaves no device memory to measure" "$tutti" bench allreduce --device none
expect 2 "'more' is not understood" "$tutti" bench allreduce more
expect 2 "--limit x is not valid" "$tutti" bench overhead --limit x
expect 2 "there is no option --op" "$tutti" bench overhead --op sum
expect 2 "info takes no argument" "$tutti" info all
finish
