#!/bin/bash
# tutti tune under one MPI on the host device: tune.sh TUTTI MPI [short]. short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}
export TUTTI_CHANNEL_MB=2
export TUTTI_RULES_FILE=$folder/rules
quick=("$tutti" tune -n 2 --mpi "$mpi" --rounds 2 --largest 32k) # the same work, however busy the machine is
entry=$("$tutti" info --rules | sed -nE 's/^ +\(.*, for (host, .*)\)$/\1/p')

if [ -z "$short" ]; then
    # What is not valid is refused before anything starts.
    expect 2 "--collective alreduce is not known: did you mean allreduce?" "$tutti" tune --collective alreduce
    expect 2 "data movers, messages, files, partitions and transfers of kernels have no rules in stream order" "$tutti" tune --order stream --collective message
    expect 2 "--order graph needs CUDA" "$tutti" tune --order graph
    expect 2 "-n 1 is not valid" "$tutti" tune -n 1
    expect 2 "--time 0 is not valid" "$tutti" tune --time 0
    expect 2 "--rounds 0 is not valid" "$tutti" tune --rounds 0
    expect 2 "--rounds 32 is not valid" "$tutti" tune --rounds 32
    expect 2 "--largest 1 is not valid" "$tutti" tune --largest 1
    expect 2 "did you mean openmpi?" "$tutti" tune --mpi opnmpi
    expect 2 "no MPI was found" env PATH=/not/there "$tutti" tune
    expect 2 "did you mean --dry-run?" "$tutti" tune --dryrun
    expect 2 "'more' is not understood" "$tutti" tune more
    expect 2 "leaves no device memory to measure" "$tutti" tune --device none
    expect 2 "/not/there/rules cannot be written: No such file or directory" "$tutti" tune --output /not/there/rules
    expect 2 "cannot be written" "$tutti" tune --output /proc/rules
    expect 2 "is no file" "$tutti" tune --output "$folder"
    expect 2 "--json /not/there/x" "$tutti" tune --json /not/there/x
    echo 'allreduce: *@ll' >"$folder/wrong"
    expect 2 "it does not begin with a line 'device: ...'; mend or remove it" "$tutti" tune --output "$folder/wrong"
    if [ "$(id -u)" -ne 0 ]; then
        mkdir "$folder/closed"
        chmod 500 "$folder/closed"
        expect 2 "cannot be written: Permission denied" "$tutti" tune --output "$folder/closed/rules"
    fi
    checks=$((checks + 1))
    [ ! -e "$TUTTI_RULES_FILE" ] || fail "a refusal left a file"
fi

# A dry run prints rules, in comments all the rest, and writes nothing.
said=$("${quick[@]}" --dry-run --collective allreduce,scan 2>"$folder/err")
status=$?
checks=$((checks + 2))
[ $status -eq 0 ] || fail "dry run: status $status: $said $(cat "$folder/err")"
[ ! -e "$TUTTI_RULES_FILE" ] || fail "a dry run wrote a file"
holds "$(cat "$folder/err")" '^tutti: measuring$' "what it does"
holds "$(cat "$folder/err")" '^tutti: opening$' "what it does"
holds "$said" '^# Tutti .* tune: blocking calls, 2 ranks, sum of float, 8 to 32K bytes$' "head"
for collective in allreduce scan; do
    for size in 8 32 128 512 2048 8192 32768; do
        holds "$said" "^# $collective +$size  [a-z0-9_]+ +($number|-)  [a-z0-9_]+ +($number|-) +($number|-)( |\$)" "$collective of $size bytes"
    done
done
lacks "$said" '^# reduce ' "only what was asked for"
holds "$said" '^# [0-9]+ sizes: ' "the sum"
printf '%s\n' "$said" >"$folder/printed"
holds "$(TUTTI_RULES_FILE=$folder/printed "$tutti" info --rules)" "^ +\($folder/printed, for host" "what is printed is a file of rules"
lacks "$(TUTTI_RULES_FILE=$folder/printed "$tutti" info)" "is ignored" "what is printed is a file of rules"
lacks "$said" '@tutti' "records of the ranks are not shown"

# The file: entries of other devices and of other collectives stay as they are; its mode too; there is no second file.
printf '# mine\ndevice: cuda, another\nallreduce: *@direct # why\n\ndevice:  %s # here\nreduce: 0-9@staged\nscan: 0-7@staged reduce: 9-12@direct\n' \
    "$entry" >"$TUTTI_RULES_FILE"
chmod 640 "$TUTTI_RULES_FILE"
json=(--json "$folder/r.json")
"$tutti" info --json >/dev/null 2>&1 || json=()
said=$("${quick[@]}" --collective allreduce,scan "${json[@]}" 2>&1)
status=$?
file=$(cat "$TUTTI_RULES_FILE")
checks=$((checks + 5))
[ $status -eq 0 ] || fail "status $status: $said"
holds "$said" "^# written to $TUTTI_RULES_FILE$" "where the rules are"
[ "$(head -n 4 <<<"$file")" = $'# mine\ndevice: cuda, another\nallreduce: *@direct # why' ] || [ "$(head -n 3 <<<"$file")" = $'# mine\ndevice: cuda, another\nallreduce: *@direct # why' ] ||
    fail "the other device's entry: $file"
[ "$(grep -c '^device:' <<<"$file")" -eq 2 ] || fail "two entries: $file"
[ "$(stat -c %a "$TUTTI_RULES_FILE")" = 640 ] || fail "the file's mode"
[ "$(find "$folder" -maxdepth 1 -name 'rules*' | wc -l)" -eq 1 ] || fail "files are left: $(ls "$folder")"
holds "$file" "^device: host, " "this device's entry"
holds "$file" '^# tutti tune, [0-9-]+: 2 ranks, .*, blocking calls$' "what it was measured by"
holds "$file" '^reduce: 0-9@staged 9-12@direct$' "what was not measured stays"
lacks "$file" '^scan: 0-7@staged' "what was measured does not"
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["ranks"] == 2 and j["order"] == "host" and not j["interrupted"] and j["device"] == "host"
assert {p["collective"] for p in j["proof"]} == {"allreduce", "scan"}
file = open(sys.argv[2]).read().splitlines()
for r in j["rules"]:
    assert r.strip() in file or not r.split(":")[1].strip(), r
for p in j["proof"]:
    times = {t["algorithm"]: t["us"] for t in j["times"] if t["collective"] == p["collective"] and t["bytes"] == p["bytes"]}
    assert len(times) >= 4 and all(t > 0 for t in times.values()), p
    assert p["tuned"] in times and p["verdict"] in ("same", "kept", "lost", "unproven"), p
    if p["verdict"] == "same": assert p["tuned"] == p["default"]
    if p["verdict"] == "kept": assert p["tuned"] != p["default"] and p["ratio"] <= 1.2, p' "$folder/r.json" "$TUTTI_RULES_FILE" ||
        fail "the JSON of tune"
fi

# The round trip: programs take what the file says, and the defaults where it says nothing.
printf 'device: %s\nallreduce: 0-100@twoshot 101-1000@staged\n' "$entry" >"$folder/forced"
said=$(TUTTI_RULES_FILE=$folder/forced "$tutti" bench allreduce -n 2 --mpi "$mpi" -m 64,512,4k -i 3 -x 1 --ways none 2>&1)
holds "$said" '^64 .* twoshot' "a measured rule"
holds "$said" '^512 .* staged' "a second one"
lacks "$said" '^4096 .* (twoshot|staged)' "the default"
first=$(sed -nE 's/^scan: 0-[0-9km*]+@([a-z0-9_]+).*/\1/p' <<<"$file")
if [ -n "$first" ]; then
    said=$("$tutti" bench scan -n 2 --mpi "$mpi" -m 8,8 -i 3 -x 1 --ways none 2>&1)
    holds "$said" "^8 .* $first( |\$)" "the tuned rule for 8 bytes of scan"
fi

if [ -z "$short" ]; then
    # Calls in stream order have rules of their own, beside the others.
    said=$("${quick[@]}" --collective reduce_scatter --order stream 2>&1)
    holds "$said" '^# Tutti .* tune: calls in stream order, 2 ranks' "stream order: head"
    holds "$said" '^# reduce_scatter +8192 ' "stream order: a size"
    checks=$((checks + 1))
    [ "$(grep -E '^(allreduce|scan):' "$TUTTI_RULES_FILE")" = "$(grep -E '^(allreduce|scan):' <<<"$file")" ] ||
        fail "rules of blocking calls have changed: $(cat "$TUTTI_RULES_FILE")"
    lacks "$(cat "$TUTTI_RULES_FILE")" '^[a-z_]+_enqueue:.*@(oneshot|twoshot|direct|staged|leader)( |$)' "algorithms in stream order alone"
fi

# Data movers: every algorithm and the MPI at every size of which all blocks fit; the other rules stay.
before=$(grep -vE '^(#|bcast:|alltoall:)' "$TUTTI_RULES_FILE")
said=$("${quick[@]}" --collective bcast,alltoall "${json[@]}" 2>&1)
status=$?
checks=$((checks + 2))
[ $status -eq 0 ] || fail "movers: status $status: $said"
holds "$said" '^# Tutti .* tune: blocking calls, 2 ranks, blocks of 8 to 32K bytes$' "movers: head"
for mover in bcast alltoall; do
    for size in 8 512 8192; do
        holds "$said" "^# $mover +$size  [a-z0-9_]+ +($number|-)  [a-z0-9_]+ +($number|-) +($number|-)( |\$)" "$mover of $size bytes"
    done
done
[ "$(grep -vE '^(#|bcast:|alltoall:)' "$TUTTI_RULES_FILE")" = "$before" ] || fail "movers: the other rules have changed"
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert {p["collective"] for p in j["proof"]} == {"bcast", "alltoall"}
for p in j["proof"]:
    times = {t["algorithm"]: t["us"] for t in j["times"] if t["bytes"] == p["bytes"] and t["collective"] == p["collective"]}
    assert "mpi" in times and (p["bytes"] < 8192 or "fetch" in times) and all(t > 0 for t in times.values()), (p, times)
    assert p["default"] in times and p["tuned"] in times, (p, times)' "$folder/r.json" || fail "the JSON of movers"
fi
printf 'device: %s\nbcast: 0-1k@mpi *@fetch\n' "$entry" >"$folder/forced"
said=$(TUTTI_RULES_FILE=$folder/forced "$tutti" bench bcast --mpi "$mpi" -m 512,64k -i 4 -x 1 --ways none 2>&1)
holds "$said" '^512 .* mpi: ' "a measured rule for a mover"
holds "$said" '^65536 .* fetched' "a second one"

# Messages: every way at every size, from the least on that goes past the MPI; the other rules stay.
before=$(grep -vE '^(#|message:)' "$TUTTI_RULES_FILE")
said=$("${quick[@]}" --collective message "${json[@]}" 2>&1)
status=$?
checks=$((checks + 2))
[ $status -eq 0 ] || fail "messages: status $status: $said"
holds "$said" '^# Tutti .* tune: blocking calls, 2 ranks, messages up to 32K bytes$' "messages: head"
for size in 512 2048 8192 32768; do
    holds "$said" "^# message +$size  (staged|direct) +($number|-)  (staged|packed|direct) +($number|-) +($number|-)( |\$)" "messages of $size bytes"
done
lacks "$said" '^# message +(8|32|128) ' "messages that never go past the MPI"
if ! grep -qE '^# message .*(lost|not proven): ' <<<"$said"; then # otherwise the defaults may be all that is left
    holds "$(cat "$TUTTI_RULES_FILE")" '^message: 0-[0-9km*]+@(staged|packed|direct)' "rules for messages"
fi
[ "$(grep -vE '^(#|message:)' "$TUTTI_RULES_FILE")" = "$before" ] || fail "messages: the other rules have changed"
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert len(j["rules"]) == 1 and j["rules"][0].startswith("message:"), j["rules"]
file = open(sys.argv[2]).read().splitlines()
assert j["rules"][0].strip() in file or j["rules"][0].strip() == "message:", (j["rules"], file)
kept = any(p["verdict"] in ("same", "kept") for p in j["proof"])
assert ("@" in j["rules"][0]) == kept, (j["rules"], j["proof"])
for p in j["proof"]:
    times = {t["algorithm"]: t["us"] for t in j["times"] if t["bytes"] == p["bytes"]}
    assert p["collective"] == "message" and p["default"] == ("staged" if p["bytes"] <= 4096 else "direct"), p
    assert set(times) == {"staged", "packed", "direct"} and all(t > 0 for t in times.values()), times
    assert p["tuned"] in times and p["verdict"] in ("same", "kept", "lost", "unproven"), p' "$folder/r.json" "$TUTTI_RULES_FILE" ||
        fail "the JSON of messages"
fi
printf 'device: %s\nmessage: 0-20k@packed 20k-40k@staged\n' "$entry" >"$folder/forced"
said=$(TUTTI_RULES_FILE=$folder/forced "$tutti" bench pingpong --mpi "$mpi" -m 16k,32k,64k -i 8 -x 1 --ways none 2>&1)
holds "$said" '^8 every 16 +16384 .* packed for the receiver' "a measured rule for messages"
holds "$said" '^8 every 16 +32768 .* mpi: ' "a second one"
holds "$said" '^8 every 16 +65536 .* fetched by the receiver' "the default of messages"
# Files, in a folder. The other rules stay, and no file is left.
before=$(grep -vE '^(#|file_(write|read):)' "$TUTTI_RULES_FILE")
said=$("${quick[@]}" --largest 32k --collective file_write,file_read --folder "$folder" 2>&1)
status=$?
checks=$((checks + 3))
[ $status -eq 0 ] || fail "files: status $status: $said"
for call in write read; do
    for size in 2048 8192 32768; do
        holds "$said" "^# file_$call +$size  (whole|kernel|pieces|even) +($number|-)  (whole|kernel|pieces|even) +($number|-) +($number|-)( |\$)" "file_$call of $size bytes"
    done
    if ! grep -qE "^# file_$call .*(lost|not proven): " <<<"$said"; then
        holds "$(cat "$TUTTI_RULES_FILE")" "^file_$call: .*@(whole|kernel|pieces|even)" "rules for file_$call"
    fi
done
[ "$(grep -vE '^(#|file_(write|read):)' "$TUTTI_RULES_FILE")" = "$before" ] || fail "files: the other rules have changed"
[ -z "$(find "$folder" -name 'tutti-tune-*')" ] || fail "files: the file is still there"
lacks "$("$tutti" info 2>&1)" "is ignored" "rules for files"
holds "$("$tutti" tune -n 2 --mpi "$mpi" --rounds 1 --largest 4k --collective file_read --folder "$folder/none" --dry-run 2>&1)" \
    'no rules for files: .* cannot be opened' "a folder that is not there"
# Partitions that kernels mark, by both ways and by all three. Each is proved, and the library takes the rules.
before=$(grep -vE '^(#|partitioned(_meet)?:)' "$TUTTI_RULES_FILE")
said=$("${quick[@]}" --largest 128k --collective partitioned,partitioned_meet "${json[@]}" 2>&1)
status=$?
checks=$((checks + 4))
[ $status -eq 0 ] || fail "partitions: status $status: $said"
for size in 8 2048 32768 131072; do
    holds "$said" "^# partitioned +$size  kernel +($number|-)  (kernel|engine) +($number|-) +($number|-)( |\$)" "partitions of $size bytes"
    holds "$said" "^# partitioned_meet +$size  (kernel|engine) +($number|-)  (never|kernel|engine) +($number|-) +($number|-)( |\$)" "sums of $size bytes"
done
for section in partitioned partitioned_meet; do
    if ! grep -qE "^# $section .*(lost|not proven): " <<<"$said"; then
        holds "$(cat "$TUTTI_RULES_FILE")" "^$section: .*@(never|kernel|engine)" "rules for $section"
    fi
done
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
ways = {(t["collective"], t["algorithm"]) for t in json.load(open(sys.argv[1]))["times"]}
for way in "kernel", "engine":
    assert ("partitioned", way) in ways and ("partitioned_meet", way) in ways, ways
assert ("partitioned_meet", "never") in ways, ways' "$folder/r.json" || fail "partitions: not all ways were measured"
fi
[ "$(grep -vE '^(#|partitioned(_meet)?:)' "$TUTTI_RULES_FILE")" = "$before" ] || fail "partitions: the other rules have changed"
lacks "$("$tutti" info 2>&1)" "is ignored" "rules for partitions"
# Puts and gets of kernels: a kernel of the host device is one thread. The library takes the rules.
before=$(grep -vE '^(#|shmem_(put|get)_1:)' "$TUTTI_RULES_FILE")
said=$("${quick[@]}" --collective shmem 2>&1)
status=$?
checks=$((checks + 2))
[ $status -eq 0 ] || fail "puts and gets: status $status: $said"
for call in put get; do
    for size in 8 32768; do
        holds "$said" "^# shmem_${call}_1 +$size  direct +($number|-)  (direct|copy_engine) +($number|-) +($number|-)( |\$)" "$call of $size bytes"
    done
    if ! grep -qE "^# shmem_${call}_1 .*(lost|not proven): " <<<"$said"; then # otherwise the default may be all that is left
        holds "$(cat "$TUTTI_RULES_FILE")" "^shmem_${call}_1: 0-[0-9km*]+@(direct|copy_engine)" "rules for $call"
    fi
done
lacks "$said" '^# shmem_(put|get)_(32|128|1024) ' "groups that the host device has not"
[ "$(grep -vE '^(#|shmem_(put|get)_1:)' "$TUTTI_RULES_FILE")" = "$before" ] || fail "puts and gets: the other rules have changed"
lacks "$("$tutti" info 2>&1)" "is ignored" "rules for puts and gets"
printf 'device: %s\nshmem_put_1: 0-20k@direct *@copy_engine\n' "$entry" >"$folder/forced"
said=$(TUTTI_RULES_FILE=$folder/forced "$tutti" bench shmem -n 2 --mpi "$mpi" --figures groups --ways tutti,cutover -m 8,32k -i 1 --seconds 0.0005 2>&1)
holds "$said" "^# Figure .* cutover " "the library has taken a cutover out of the file"
said=$(TUTTI_SHMEM_RING=off "$tutti" tune -n 2 --mpi "$mpi" --rounds 1 --largest 64 --collective shmem --dry-run 2>&1)
holds "$said" '^# no rules for puts and gets of kernels: there is no ring' "no ring"

if [ -z "$short" ]; then
    said=$(TUTTI_RULES='message: *@staged message_far: *@staged' "${quick[@]}" --dry-run --collective message,scan 2>&1)
    holds "$said" '^# no rules for messages: between these ranks the MPI carries them all$' "messages are the MPI's"
    lacks "$said" '^# message ' "messages are the MPI's"
    holds "$said" '^# scan +8 ' "the rest is measured"
    said=$("$tutti" tune -n 3 --mpi "$mpi" --rounds 2 --largest 16k --collective message --dry-run 2>&1)
    holds "$said" '^# message +16384  direct ' "a rank without a partner"
    said=$(TUTTI_NODE_RANKS=1 "$tutti" tune -n 2 --mpi "$mpi" --rounds 2 --largest 32k --collective message,message_far --dry-run 2>&1)
    holds "$said" '^# no rules for messages: between these ranks the MPI carries them all$' "every rank a node of its own"
    holds "$said" "^# message_far +32768  staged +($number|-)  (staged|pipelined) " "messages to other nodes"
    said=$("$tutti" tune -n 2 --mpi "$mpi" --rounds 1 --largest 16k --collective scan,message_far --dry-run 2>&1)
    holds "$said" '^# no rules for messages to other nodes: ' "one node"
fi

[ -z "$short" ] || finish
# Ctrl-C: what has been measured is kept.
started() { # starts a long run, waits until it measures
    : >"$folder/err"
    "$tutti" tune -n 2 --mpi "$mpi" --time 200 --largest 1m --output "$folder/early" >"$folder/out" 2>"$folder/err" &
    run=$!
    until grep -q measuring "$folder/err" || ! kill -0 $run 2>/dev/null; do
        sleep 0.1
    done
}
started
kill -INT $run
wait $run
status=$?
said=$(cat "$folder/out" "$folder/err")
checks=$((checks + 1))
[ $status -eq 0 ] || fail "interrupted: status $status: $said"
holds "$said" 'what has been measured is kept' "the answer to Ctrl-C"
holds "$said" '^# interrupted after [0-9]+ s' "interrupted"
holds "$said" '^# allreduce +8 ' "interrupted: the first size"
holds "$(cat "$folder/early")" '^# tutti tune, .*, interrupted$' "the file of an interrupted run"

# A second one ends it without a file. (It may have ended by itself before: then once more.)
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -f "$folder/early"
    started
    for ((i = 0; i < 3000; i++)); do
        kill -INT $run 2>/dev/null || break
        sleep 0.01
    done
    wait $run
    status=$?
    [ $status -ne 0 ] && break
done
checks=$((checks + 2))
[ $status -ne 0 ] || fail "a second Ctrl-C does not end it"
[ ! -e "$folder/early" ] || fail "a second Ctrl-C left a file"
holds "$(cat "$folder/err")" 'no rules were written' "the answer to a second Ctrl-C"
finish
