#!/bin/bash
# tutti info, with MPIs and without: info.sh TUTTI MPI...
. "$(dirname "$0")/check.sh"
tutti=$1
shift
export TUTTI_DEVICE=host TUTTI_HOST_GPUS=3
unset TUTTI_RULES

said=$("$tutti" info)
holds "$said" '^Tutti [0-9]+\.[0-9]+\.[0-9]+$' "version"
for mpi in "$@"; do
    case $mpi in
    openmpi) holds "$said" '^  Open MPI +[0-9][0-9.a-z]* +launcher /' "Open MPI and its version" ;;
    mpich) holds "$said" '^  MPICH +[0-9][0-9.a-z]* +launcher /' "MPICH and its version" ;;
    esac
    holds "$said" "served by libtutti-$mpi\.so$" "$mpi: its front end"
    holds "$said" "^  libtutti-$mpi\.so +/" "$mpi: where the front end is"
done
holds "$said" '^  host  in use' "device"
holds "$said" '^  cuda  not in use' "device that is not in use"
holds "$said" '^    GPU 2  .* [0-9a-f]{32}$' "third GPU and its UUID"
lacks "$said" '^    GPU 3 ' "no fourth GPU"
holds "$said" '^      GPU   1  yes own yes$' "who reaches whom"
holds "$said" '^  Ranges for Nsight \(TUTTI_NVTX\): (built in|left out: .*)$' "ranges"
holds "$said" 'Kernels on the host use: [a-z0-9]+$' "instruction set"
holds "$said" '^  TUTTI_HOST_GPUS +3 +0 +0 to 64$' "a setting: value, default, allowed"
holds "$said" '^  TUTTI_RULES +\(empty\)$' "no rules of the user"
# Every setting that the library reads is one of the list.
for name in $(grep -rhoE 'getenv\("TUTTI_[A-Z_]+"' "$(dirname "$0")/../../src" | grep -oE 'TUTTI_[A-Z_]+' | sort -u); do
    holds "$said" "^  $name " "$name is read"
done
holds "$said" '^  measured +none for this device' "no measured rules"
holds "$said" '^  defaults +allreduce: .*@' "default rules"
checks=$((checks + 1))
listed=$(grep -cE '^TUTTI_SETTING_' "$(dirname "$0")/../../include/tutti/settings.def")
shown=$(sed -n '/^Settings/,/^Rules/p' <<<"$said" | grep -cE '^  (TUTTI|SHMEM)_[A-Z_]+ ')
[ "$listed" -eq "$shown" ] || fail "$shown of $listed settings are shown"

# What is wrong is part of the answer, and no reason to refuse it.
said=$(TUTTI_WAIT=busy TUTTI_LOG=loud TUTTI_RULES='allreduce: *@x' "$tutti" info 2>/dev/null)
status=$?
checks=$((checks + 1))
[ $status -eq 0 ] || fail "status $status with wrong settings"
holds "$said" '^  TUTTI_WAIT=busy is not valid' "a wrong setting"
holds "$said" '^  TUTTI_LOG=loud is not valid' "a second one"
holds "$said" "no algorithm 'x'" "a wrong rule"
holds "$(TUTTI_DEVICE=none "$tutti" info)" '^  TUTTI_DEVICE=none: every call is passed on' "no device"

# Rules of a file: those of this device, where they come from, and what is wrong with it.
entry=$("$tutti" info | sed -nE 's/^ +\(\/dev\/null, for (.*)\)$/\1/p')
file=$(mktemp)
printf 'device: other\nscan: *@staged\ndevice: %s\nallreduce: 0-8k@ll\nscan: *@chain\n' "$entry" >"$file"
said=$(TUTTI_RULES_FILE=$file "$tutti" info)
holds "$said" '^  measured +allreduce: 0-8k@ll$' "measured rules"
holds "$said" '^ +scan: \*@chain$' "measured rules, second line"
lacks "$said" 'scan: \*@staged$' "rules of another device"
holds "$said" "^ +\($file, for host, " "where they come from"
echo nothing >"$file"
holds "$(TUTTI_RULES_FILE=$file "$tutti" info)" "^  $file: it does not begin with a line 'device: ...'; the file is ignored" "a wrong file"
rm "$file"

# Without any MPI.
said=$(PATH=/not/there "$tutti" info)
holds "$said" '^  none in PATH$' "no MPI"
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
