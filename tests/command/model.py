#!/usr/bin/env python3
"""tutti model against docs/model.md, computed a second time: model.py TUTTI SEED COUNT."""
import json
import math
import random
import subprocess
import sys
import tempfile

tutti, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
INSIDE = ["kernel", "copies", "leader"]
FIXED = ["entry", "arrival", "mapping", "launch", "notice", "mpi"]


def line(points, at):
    if at <= points[0][0] or len(points) == 1:
        return points[0][1]
    pairs = list(zip(points, points[1:]))
    low, high = next((p for p in pairs if at <= p[1][0]), pairs[-1])
    slope = (high[1] - low[1]) / (high[0] - low[0])
    return max(0.0, low[1] + slope * (at - low[0]))


def exchange(name, net, nodes, leaders, part):
    if nodes == 1:
        return 0.0
    nic = net["bandwidth"] * 1000
    rate = min(nic * net["nics"] / leaders, nic * min(net["rails"], net["nics"])) / net["oversubscription"]
    host, many = net["combine"] * 1000, nodes - 1
    burst = net["latency"] + net["overhead"] * (many - 1)
    if name == "all_at_once":
        return burst + many * part / rate + nodes * part / host
    if name == "doubling":
        return math.ceil(math.log2(nodes)) * net["latency"] + many * part / rate + nodes * part / host
    if name == "recursive_doubling":
        return math.ceil(math.log2(nodes)) * (net["latency"] + part / rate + 2 * part / host)
    half = burst + many * part / nodes / rate
    if name == "slices":
        return 2 * half + part / host
    return half + part / host + many * (net["latency"] + part / nodes / rate)


def call(row, how, net, file, nodes, size, piece_part, copies, links):
    gpus = file["ranks"] // file["nodes"]
    leaders = 1 if row == "single_leader" else gpus
    measured_leaders = gpus

    def curve(names, unit):
        return [(r["bytes"] / unit, sum(r["phases_us"].get(n, 0) for n in names)) for r in file["rows"]]

    pieces = -(-size // (piece_part * leaders))
    piece = size / pieces
    part = piece / leaders
    inner = line(curve(INSIDE, 1), piece) + line(curve(["hand-out"], 1), piece)
    outer = 0.0
    if nodes > 1:
        outer = exchange(how, net, nodes, leaders, part)
        if file["nodes"] == 1:
            outer += 2 * part / (copies * 1000) * max(1, leaders / (links or leaders))
        else:
            for name in ("copy out", "copy in"):
                outer += line(curve([name], measured_leaders), part)
    fixed = line(curve(FIXED, 1), size)
    if row == "pipelined":
        return fixed + inner + outer + (pieces - 1) * max(inner, outer)
    return fixed + pieces * (inner + outer)


def one():
    nodes = draw.choice([1, 2, 4])
    gpus = draw.choice([1, 2, 4, 8])
    names = INSIDE + FIXED + ["hand-out", "copy out", "copy in", "leaders"]
    sizes = sorted(draw.sample(range(8, 1 << 26), draw.randint(1, 9)))
    algorithm = "multi_leader"
    rows = [{"bytes": b, "algorithm": algorithm, "phases_us": {n: draw.uniform(0, 5) + b / draw.uniform(1e3, 1e5) for n in names}}
            for b in sizes]
    file = {"benchmark": "allreduce", "ranks": nodes * gpus, "nodes": nodes, "rows": rows}
    net = {"latency": draw.uniform(0, 50), "overhead": draw.uniform(0, 3), "bandwidth": draw.uniform(0.1, 100),
           "nics": draw.randint(1, 8), "rails": draw.randint(1, 8), "oversubscription": draw.uniform(1, 4),
           "combine": draw.uniform(1, 50)}
    where = [draw.choice([1, 2, 3, 7, 64, 1000, 100000 // gpus]) for _ in range(2)]
    asked = [draw.randint(1, 1 << 28) for _ in range(3)]
    piece = draw.choice([1024, 65536, 4 << 20])
    how = draw.choice(["all_at_once", "doubling", "slices", "ring", "recursive_doubling", None])
    copies = draw.uniform(1, 60)
    links = draw.choice([None, 1, 2, 4]) if nodes == 1 else None
    with tempfile.NamedTemporaryFile("w", suffix=".json") as phases, tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        json.dump(file, phases)
        phases.flush()
        words = [tutti, "model", "--phases", phases.name, "--nodes", ",".join(map(str, where)), "-m", ",".join(map(str, asked)),
                 "--piece", str(piece), "--json", out.name] + [f"--{k}={v!r}" for k, v in net.items()]
        words += ["--exchange", how] if how else []
        words += [f"--copies={copies!r}"] if nodes == 1 else []
        words += ["--links", str(links)] if links else []
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        answers = json.load(out)["rows"]
    assert len(answers) == len(where) * len(asked), len(answers)
    for k, answer in enumerate(answers):
        n, size = where[k // len(asked)], asked[k % len(asked)]
        assert (answer["nodes"], answer["bytes"]) == (n, size), answer
        best = {}
        for row, told in answer["predicted"].items():
            expected = min(call(row, e, net, file, n, size, piece, copies, links) for e in ([how] if how else ["all_at_once", "doubling", "slices", "ring"]))
            best[row] = expected
            assert abs(told["us"] - expected) <= 1e-9 * expected, (row, told, expected, n, size)
        assert math.isclose(best[answer["best"]], min(best.values()), rel_tol=1e-12), (answer, best)
        assert len(best) == 3


for _ in range(count):
    one()
print(f"model: {count} files, seed {seed}: 0 failed")
