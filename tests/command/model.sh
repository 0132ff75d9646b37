#!/bin/bash
# tutti model against its formulas, computed a second time in Python, and on files that are not right: model.sh TUTTI
. "$(dirname "$0")/check.sh"
tutti=$1
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
file() { printf '%s\n' "$2" >"$scratch/$1"; }
row='{"bytes": 1024, "algorithm": "multi_leader", "phases_us": {"kernel": 3.0, "copy out": 1.0, "copy in": 1.0}}'
file right '{"benchmark": "allreduce", "ranks": 4, "nodes": 2, "rows": ['"$row"']}'
file one-node '{"benchmark": "allreduce", "ranks": 4, "nodes": 1, "rows": ['"$row"']}'
file uneven '{"benchmark": "allreduce", "ranks": 5, "nodes": 2, "rows": ['"$row"']}'
file twice '{"benchmark": "allreduce", "ranks": 4, "nodes": 2, "rows": ['"$row, $row"']}'
file other '{"benchmark": "bcast", "ranks": 4, "nodes": 2, "rows": ['"$row"']}'
file empty '{"benchmark": "allreduce", "ranks": 4, "nodes": 2, "rows": []}'
file piped "$(sed 's/multi_leader/pipelined/' "$scratch/right")"
file single "$(sed 's/multi_leader/single_leader/' "$scratch/right")"
file bare '{"benchmark": "allreduce", "ranks": 4, "nodes": 2, "rows": [{"bytes": 8}]}'
file broken '{"benchmark": '
if "$tutti" model --phases "$scratch/right" 2>&1 | grep -q "without Jansson"; then
    echo "SKIPPED: this build has no JSON"
    exit 77
fi
expect 0 "best" "$tutti" model --phases "$scratch/right"
expect 2 "--phases is missing" "$tutti" model
expect 2 "there is no option --nodez: did you mean --nodes?" "$tutti" model --nodez 3
expect 2 "give their speed by --copies" "$tutti" model --phases "$scratch/one-node"
expect 0 "best" "$tutti" model --phases "$scratch/one-node" --copies 20
expect 2 "nodes must have equal numbers of ranks" "$tutti" model --phases "$scratch/uneven"
expect 2 "its sizes must increase" "$tutti" model --phases "$scratch/twice"
expect 2 "not a file of tutti bench allreduce --phases --json" "$tutti" model --phases "$scratch/other"
expect 2 "not a file of tutti bench allreduce --phases --json" "$tutti" model --phases "$scratch/empty"
expect 2 "not of pipelined" "$tutti" model --phases "$scratch/piped"
expect 2 "not of single_leader" "$tutti" model --phases "$scratch/single"
expect 2 "has no bytes or no phases" "$tutti" model --phases "$scratch/bare"
expect 2 "--phases $scratch/broken:" "$tutti" model --phases "$scratch/broken"
expect 2 "--phases /not/there:" "$tutti" model --phases /not/there
expect 2 "more than 100000 GPUs" "$tutti" model --phases "$scratch/right" --nodes 50001
expect 0 "100000" "$tutti" model --phases "$scratch/right" --nodes 50000
expect 2 "--nodes 0 is not valid" "$tutti" model --phases "$scratch/right" --nodes 0
expect 2 "--bandwidth fast is not valid" "$tutti" model --phases "$scratch/right" --bandwidth fast
expect 2 "--latency nan is not valid" "$tutti" model --phases "$scratch/right" --latency nan
expect 2 "--oversubscription 0.5 is not valid" "$tutti" model --phases "$scratch/right" --oversubscription 0.5
expect 2 "--piece 8 is not valid" "$tutti" model --phases "$scratch/right" --piece 8
expect 2 "--exchange ringg" "$tutti" model --phases "$scratch/right" --exchange ringg
expect 2 "its name must end in .png" "$tutti" model --phases "$scratch/right" --plot x.pdf
expect 2 "is one word too many" "$tutti" model "$scratch/right"
expect 0 "0 failed" python3 "$here/model.py" "$tutti" "${TUTTI_TEST_SEED:-20261127}" 40
# A golden value: 2 GPUs in a node, 2 nodes, 2 KiB by two leaders in one piece. fixed 0, kernel 3, copies 1 + 1; slices of
# 512 bytes at 1 GB/s: 2 (5 + 0.512), 1 KiB combined at 1 GB/s: 1.024.
expect 0 " 17.05 slices " "$tutti" model --phases "$scratch/right" --nodes 2 -m 2048 --bandwidth 1 --nics 2 --combine 1 --exchange slices
expect 2 "the copies of $scratch/right were measured" "$tutti" model --phases "$scratch/right" --links 2
expect 2 "it is not an exchange of Tutti" "$tutti" model --phases "$scratch/right" --exchange recursive_doubling --goal "$scratch/goal"
# Four leaders on two links copy 256 bytes out and in: .512 us each; fixed 0, kernel 3, recursive doubling 5 + .256 + .512.
expect 0 " 9.79 recursive_doubling " "$tutti" model --phases "$scratch/one-node" --copies 1 --links 2 --nodes 2 -m 1024 --bandwidth 1 --nics 4 \
    --combine 1 --exchange recursive_doubling
# The example of docs/model.md: its table, times that grow with the nodes, and several leaders never slower than one.
table=$scratch/table
python3 "$here/../../examples/model/kernel_based.py" "$tutti" >"$table" || echo "FAILED: kernel_based.py"
expect 0 "8          536870912  multi_leader        80.9       44.1  1.83     34.9       26.3" cat "$table"
expect 0 "14 rows" awk '!/^#/ { n++; if (NF != 7 && NF != 8) print "fields", $0 } END { print n " rows" }' "$table"
expect 0 "0 against order" awk '!/^#/ && $3 == "single_leader" { single = $5 + 0; if ($2 == bytes && single <= before) bad++; bytes = $2; before = single }
    !/^#/ && $3 == "multi_leader" && $5 + 0 > single { bad++ } END { print bad + 0 " against order" }' "$table"
while read -r gpus _ row measured predicted x _; do
    [[ $gpus == \#* || $x == 1.00 ]] && continue
    expect 0 "| $measured | $predicted | " grep -E "\\| $row \\| $measured \\|" "$here/../../docs/model.md"
done <"$table"
finish
