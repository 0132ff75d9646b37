#!/usr/bin/env python3
"""The rooms of src/ and who calls whom, by the symbols of the object files, in Graphviz's language; an edge where no
longer way stands for it.
usage: map.py BUILD OBJECTS | dot -Tsvg > docs/map.svg        OBJECTS: as for tests/laws/cycles.py"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "laws"))
import cycles  # noqa: E402


def below(folders, room, found):
    """All that `room` calls, and what those call."""
    if room not in found:
        found[room] = set(folders[room]).union(*(below(folders, to, found) for to in folders[room]), set())
    return found[room]


def main():
    build, listed = sys.argv[1:3]
    with open(listed, encoding="utf-8") as lines:
        objects = {path: cycles.name_of(build, path) for path in lines.read().splitlines()}
    objects = {path: name for path, name in objects.items() if name}
    folders = cycles.folders_of(cycles.graph_of(*cycles.symbols("nm", objects)))
    found = {}
    print('digraph rooms {\n    node [shape=box style="rounded,filled" fontname="sans-serif" fontsize=11 height=0.3]')
    print('    edge [color="#777777" arrowsize=0.6]\n    nodesep=0.25 ranksep=0.35')
    for room in sorted(folders):
        colour = "#dbe9ff" if room.startswith("mpi/") else "#f6ead8" if "/" in room else "#eef3e2"
        print(f'    "{room}" [fillcolor="{colour}"]')
        for to in sorted(folders[room]):
            if not any(to in below(folders, other, found) for other in folders[room]):
                print(f'    "{room}" -> "{to}"')
    print("}")


main()
