#!/bin/bash
# tutti info, with MPIs and without: info.sh TUTTI MPI...
. "$(dirname "$0")/check.sh"
tutti=$1
shift
export TUTTI_DEVICE=host TUTTI_HOST_GPUS=3
unset TUTTI_RULES

# One screen: at most 30 lines of 100 columns, whatever is set.
fits() { # TEXT WHAT
    checks=$((checks + 2))
    [ "$(wc -l <<<"$1")" -le 30 ] || fail "$2: $(wc -l <<<"$1") lines: $1"
    [ "$(sed 's|/[^ ]*||g' <<<"$1" | wc -L)" -le 100 ] || fail "$2: a line of more than 100 columns: $1"
}
said=$("$tutti" info)
fits "$said" "the screen"
holds "$said" '^Tutti [0-9]+\.[0-9]+\.[0-9]+ ' "version"
for mpi in "$@"; do
    case $mpi in
    openmpi) holds "$said" 'Open MPI +[0-9][0-9.a-z]* +/[^ ]*$' "Open MPI and its version" ;;
    mpich) holds "$said" 'MPICH +[0-9][0-9.a-z]* +/[^ ]*$' "MPICH and its version" ;;
    esac
    holds "$said" "front ends in this build: .*$mpi" "$mpi: its front end"
done
holds "$said" "host  in use, 3 GPUs, each reaches every other's memory\$" "device"
holds "$said" '^ +GPU 0-2: simulated GPU' "GPUs"
holds "$said" 'cuda  not ' "device that is not in use"
holds "$said" '^Settings +TUTTI_DEVICE=host$' "a setting"
holds "$said" '^ +TUTTI_HOST_GPUS=3$' "a setting"
holds "$said" '^ +3 of [0-9]+ differ from their defaults$' "settings"
holds "$said" '^Rules +TUTTI_RULES: none$' "no rules of the user"
holds "$said" '^ +measured: none for this device' "no measured rules"
fits "$(TUTTI_HOST_STRICT=1 TUTTI_WAIT=busy TUTTI_LOG=loud TUTTI_HOST_BLOCKS=4 TUTTI_SEED=3 TUTTI_BLOCKS=3 TUTTI_LINGER_US=4 \
    TUTTI_RULES='allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged reduce: *@staged scan: *@staged reduce_scatter: *@staged' "$tutti" info 2>/dev/null)" "many settings"

# Each part in full.
said=$("$tutti" info --machine)
for mpi in "$@"; do
    holds "$said" "served by libtutti-$mpi\.so$" "$mpi: its front end"
    holds "$said" "^  libtutti-$mpi\.so +/" "$mpi: where the front end is"
done
holds "$said" '^  host  in use' "device"
holds "$said" '^  cuda  not in use' "device that is not in use"
holds "$said" '^    GPU 2  .* [0-9a-f]{32}$' "third GPU and its UUID"
lacks "$said" '^    GPU 3 ' "no fourth GPU"
holds "$said" '^      GPU   1  yes own yes$' "who reaches whom"
holds "$said" '^  Ranges for Nsight \(TUTTI_STATS=times\): (built in|left out: .*)$' "ranges"
holds "$said" 'Kernels on the host use: [a-z0-9]+$' "instruction set"
said=$("$tutti" info --settings)
holds "$said" '^  TUTTI_HOST_GPUS +3 +0 +0 to 64$' "a setting: value, default, allowed"
# Every setting that the library reads is one of the list.
for name in $(grep -rhoE 'getenv\("TUTTI_[A-Z_]+"' "$(dirname "$0")/../../src" | grep -oE 'TUTTI_[A-Z_]+' | sort -u); do
    holds "$said" "^  $name " "$name is read"
done
checks=$((checks + 3))
listed=$(grep -cE '^TUTTI_SETTING_(INT|WORD|TEXT)\(' "$(dirname "$0")/../../include/tutti/settings.def")
shown=$(grep -cE '^  (TUTTI|SHMEM)_[A-Z_]+ ' <<<"$said")
[ "$listed" -eq "$shown" ] || fail "$shown of $listed settings are shown"
[ "$(grep -cE '^      When to change it: .' <<<"$said")" -eq "$listed" ] || fail "not each setting says when to change it"
[ "$(sed -n '/^For tests and measurements/,$p' <<<"$said" | grep -cE '^  TUTTI_(HOST_|SEED|NODE_RANKS)')" -eq "$(grep -cE '^  TUTTI_(HOST_|SEED|NODE_RANKS)' <<<"$said")" ] ||
    fail "settings of tests are not apart"
said=$("$tutti" info --rules)
holds "$said" '^  TUTTI_RULES +\(empty\)$' "no rules of the user"
holds "$said" '^  measured +none for this device' "no measured rules"
holds "$said" '^  defaults +allreduce: .*@' "default rules"
holds "$said" 'shmem_stream: 0-4m@channel .*shmem_move: 0-2m@channel .*aware: ' "rules of every device"
holds "$said" '^  oneshot +[a-z]' "algorithms"
for name in split_direct landed packed two_rounds swap joined binomial; do
    holds "$said" "^  $name +[a-z]" "the name $name"
done

# An old setting that is a rule now names the rule that does the same.
for pair in "MESSAGES=mpi|message: *@staged message_far: *@staged" "MESSAGE_LEAST=16384|message: 0-16383@staged message_far: 0-16383@staged" "AWARE_LEAST=0|aware: *@device" \
    "AWARE_LEAST=4096|aware: 0-4095@host *@device" "SHMEM_STREAM_BYTES=0|shmem_stream: 0-4m@channel 0-0@block *@blocks shmem_move: 0-2m@channel 0-0@block *@blocks" \
    "SHMEM_CHANNEL_BYTES=0|shmem_stream: 0-8k@block *@blocks shmem_move: 0-8k@block *@blocks" "SHMEM_CHANNEL_BYTES=8|shmem_stream: 0-8@channel 0-8k@block *@blocks" \
    "SHMEM_STREAM_BYTES=x|shmem_stream: 0-4m@channel 0-N@block *@blocks shmem_move: 0-2m@channel 0-N@block *@blocks"; do
    rule=${pair#*|}
    expect 125 "tutti: TUTTI_${pair%%=*} is a rule now, not a setting: write TUTTI_RULES=\"$rule\"" env "TUTTI_${pair%%|*}" "$tutti" run true
    [[ $rule == *N@* ]] || expect 0 "$rule" env TUTTI_RULES="$rule" "$tutti" info --rules
done
expect 125 "tutti: TUTTI_PHASES is gone: write TUTTI_STATS=times" env TUTTI_PHASES=1 "$tutti" run true

# What is wrong is part of the answer, and no reason to refuse it.
said=$(TUTTI_WAIT=busy TUTTI_LOG=loud TUTTI_RULES='allreduce: *@x' "$tutti" info 2>/dev/null)
status=$?
checks=$((checks + 1))
[ $status -eq 0 ] || fail "status $status with wrong settings"
holds "$said" 'NOT VALID: TUTTI_WAIT=busy is not valid' "a wrong setting"
holds "$said" 'NOT VALID: TUTTI_LOG=loud is not valid' "a second one"
holds "$said" "no algorithm 'x'" "a wrong rule"
holds "$(TUTTI_DEVICE=none "$tutti" info)" '^State +TUTTI_DEVICE=none: every call is passed on' "no device"

# Rules of a file: those of this device, where they come from, and what is wrong with it.
entry=$("$tutti" info --rules | sed -nE 's/^ +\(\/dev\/null, for (.*)\)$/\1/p')
file=$(mktemp)
printf 'device: other\nscan: *@staged\ndevice: %s\nallreduce: 0-8k@ll\nscan: *@chain\n' "$entry" >"$file"
said=$(TUTTI_RULES_FILE=$file "$tutti" info --rules)
holds "$said" '^  measured +allreduce: 0-8k@ll$' "measured rules"
holds "$said" '^ +scan: \*@chain$' "measured rules, second line"
lacks "$said" 'scan: \*@staged$' "rules of another device"
holds "$said" "^ +\($file, for host, " "where they come from"
echo nothing >"$file"
holds "$(TUTTI_RULES_FILE=$file "$tutti" info --settings)" "^  $file: it does not begin with a line 'device: ...'; the file is ignored" "a wrong file"
rm "$file"

# Without any MPI.
said=$(PATH=/not/there "$tutti" info)
holds "$said" '^MPIs +none in PATH$' "no MPI"
holds "$said" 'no MPI was found in PATH' "no MPI"

said=$("$tutti" info --json 2>&1)
if [ $? -eq 2 ]; then
    holds "$said" 'Jansson' "JSON is left out with a word"
else
    holds "$said" '"version": "[0-9.]+"' "JSON"
    holds "$said" '"name": "TUTTI_DEVICE"' "JSON"
    if command -v python3 >/dev/null; then
        checks=$((checks + 1))
        python3 -c 'import json, sys
j = json.load(sys.stdin)
host = [d for d in j["devices"] if d["name"] == "host"][0]
assert host["in_use"] and host["available"] and len(host["gpus"]) == 3, host
assert len(set(g["uuid"] for g in host["gpus"])) == 3
assert all(g["reaches"] == [True] * 3 for g in host["gpus"])
assert [m["name"] for m in j["mpis"] if m["name"] in sys.argv[1:]].sort() == list(sys.argv[1:]).sort()
assert j["settings"] and j["rules"]["defaults"]' "$@" <<<"$said" || fail "the JSON of info"
    fi
fi
finish
