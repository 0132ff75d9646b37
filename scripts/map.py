#!/usr/bin/env python3
"""Draws the rooms of src/ and who calls whom, by the symbols of the object files.
usage: map.py BUILD OBJECTS > docs/map.svg        OBJECTS: as for tests/laws/cycles.py"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "laws"))
import cycles  # noqa: E402

WIDE, HIGH, GAP, ROW = 128, 34, 26, 86


def levels_of(folders):
    """How far each room stands above the ground: one more than the highest that it calls."""
    found = {}

    def level(room):
        if room not in found:
            found[room] = 1 + max((level(to) for to in folders[room]), default=-1)
        return found[room]

    for room in folders:
        level(room)
    return found


def reduced(folders):
    """Edges that no longer way stands for."""
    reach = {}

    def below(room):
        if room not in reach:
            reach[room] = set(folders[room]).union(*(below(to) for to in folders[room]), set())
        return reach[room]

    for room in folders:
        below(room)
    return [(a, b) for a in sorted(folders) for b in sorted(folders[a]) if not any(b in reach[c] for c in folders[a])]


def main():
    build, listed = sys.argv[1:3]
    with open(listed, encoding="utf-8") as lines:
        objects = {path: cycles.name_of(build, path) for path in lines.read().splitlines()}
    objects = {path: name for path, name in objects.items() if name}
    graph = cycles.graph_of(*cycles.symbols("nm", objects))
    folders = cycles.folders_of(graph)
    level = levels_of(folders)
    rows = [sorted(room for room in folders if level[room] == n) for n in range(max(level.values()) + 1)]
    width = max(len(row) for row in rows) * (WIDE + GAP) + GAP
    place = {}
    for n, row in enumerate(rows):
        left = (width - len(row) * (WIDE + GAP) + GAP) // 2
        for i, room in enumerate(row):
            place[room] = (left + i * (WIDE + GAP), GAP + (len(rows) - 1 - n) * ROW)
    height = GAP * 2 + (len(rows) - 1) * ROW + HIGH
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">')
    print('<defs><marker id="to" markerWidth="7" markerHeight="7" refX="6" refY="3" orient="auto">'
          '<path d="M0,0 L6,3 L0,6" fill="none" stroke="#555"/></marker></defs>')
    print(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    for a, b in reduced(folders):
        (x, y), (u, v) = place[a], place[b]
        print(f'<line x1="{x + WIDE // 2}" y1="{y + HIGH}" x2="{u + WIDE // 2}" y2="{v}" stroke="#999" marker-end="url(#to)"/>')
    for room, (x, y) in sorted(place.items()):
        colour = "#dbe9ff" if room.startswith("mpi/") else "#eef3e2" if "/" not in room else "#f6ead8"
        print(f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="{colour}" stroke="#555"/>')
        print(f'<text x="{x + WIDE // 2}" y="{y + 22}" text-anchor="middle">{room}</text>')
    print("</svg>")


main()
