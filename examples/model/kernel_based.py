#!/usr/bin/env python3
"""The times of the article on kernel-based reductions beside the predictions of tutti model: kernel_based.py TUTTI

docs/model.md#an-example states the sources. Times are in ms. recursive: the article's algorithm, as predicted. x: measured in
units of it. own: the same with the best exchange of Tutti. pipelined: Tutti's, in pieces of 4 MiB."""
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
# Bytes, nodes, and the article's single-leader and multi-leader times in us. One node: the same kernel makes both.
SYSTEMS = [
    ("aces", "4 GPUs in a node, NDR 400 Gbit/s", ["--bandwidth", "50"],
     [(512 * MIB, 1, 9500, 9500), (512 * MIB, 2, 122400, 80900), (512 * MIB, 4, 192600, 121500)]),
    ("stampede3", "8 tiles of 4 GPUs in a node, Omni-Path 100 Gbit/s", ["--bandwidth", "12.5"],
     [(64 * MIB, 4, 36600, 21000), (1024 * MIB, 1, 31800, 31800), (1024 * MIB, 2, 314400, 232500),
      (1024 * MIB, 4, 486600, 323500)]),
]
# PCIe 5.0 of each of the 4 GPUs: 50 GB/s. The article does not cut messages into pieces.
COMMON = ["--nics", "1", "--latency", "2", "--copies", "50", "--links", "4", "--combine", "14.5", "--piece", "1g"]


def predict(tutti, system, network, nodes, size, exchange):
    words = [tutti, "model", "--phases", os.path.join(here, system + ".json"), "--nodes", str(nodes), "-m", str(size)]
    words += COMMON + network + (["--exchange", exchange] if exchange else [])
    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        subprocess.run(words + ["--json", out.name], check=True, stdout=subprocess.DEVNULL)
        answer = json.load(out)
    return answer["gpus_per_node"], answer["rows"][0]["predicted"]


def main(tutti):
    print(f"{'# GPUs':<8}{'Bytes':>12}  {'row':<14}{'measured':>10}{'recursive':>11}{'x':>6}{'own':>9}{'pipelined':>11}")
    for system, what, network, points in SYSTEMS:
        print(f"# {system}: {what}")
        for size, nodes, single, multi in points:
            gpus, likely = predict(tutti, system, network, nodes, size, "recursive_doubling")
            own = predict(tutti, system, network, nodes, size, None)[1]
            cut = predict(tutti, system, network + ["--piece", "4m"], nodes, size, None)[1]["pipelined"]["us"]
            cut = f"{cut / 1e3:.1f}" if nodes > 1 else "-"
            for row, measured in (("single_leader", single), ("multi_leader", multi)):
                us = likely[row]["us"]
                print(f"{gpus * nodes:<8}{size:>12}  {row:<14}{measured / 1e3:>10.1f}{us / 1e3:>11.1f}{measured / us:>6.2f}"
                      f"{own[row]['us'] / 1e3:>9.1f}{cut:>11}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
