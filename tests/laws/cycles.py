#!/usr/bin/env python3
"""Dependencies go down only: no cycle between the folders of src/, and none of more than three files in one, by the
symbols of the object files.
usage: cycles.py BUILD OBJECTS LIMITS
OBJECTS lists the library's object files in the build folder BUILD, one a line; LIMITS the cycles that still are (see
cycles.limits). Prints every breach with the edge whose end leaves the least. Status 1 if there is one, 77 without nm."""
import os
import re
import shutil
import subprocess
import sys

MOST = 3  # files that belong together so closely that one cannot be without the others


def name_of(build, path):
    """coll/rules.c of CMakeFiles/tutti-core.dir/src/coll/rules.c.o; None for what is not made from src/."""
    path = re.sub(r"(^|/)CMakeFiles/[^/]+\.dir/", r"\1", os.path.relpath(path, build))
    return path[len("src/"):-len(".o")] if path.startswith("src/") and path.endswith(".o") else None


def symbols(nm, objects):
    """What each source defines and uses. One that is built several times counts once, with all that they have."""
    defined, used = {}, {}
    told = subprocess.run([nm, "-A", "-g", "-P", *objects], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit("nm cannot read the object files: " + told.stderr.strip())
    for line in told.stdout.splitlines():
        path, _, rest = line.rpartition(": ")
        symbol, kind = rest.split()[:2]
        (used if kind in "Uwv" else defined).setdefault(objects[path], set()).add(symbol)
    return defined, used


def graph_of(defined, used):
    """from -> to -> symbols"""
    where = {}
    for name, those in defined.items():
        for symbol in those:
            where.setdefault(symbol, set()).add(name)
    graph = {name: {} for name in defined.keys() | used.keys()}
    for name, those in used.items():
        for symbol in sorted(those - defined.get(name, set())):
            for to in where.get(symbol, ()):
                graph[name].setdefault(to, []).append(symbol)
    return graph


def folders_of(graph):
    """from -> to -> "file -> file: symbols" """
    folders = {}
    for a in sorted(graph):
        for b in sorted(graph[a]):
            x, y = os.path.dirname(a), os.path.dirname(b)
            folders.setdefault(x, {})
            folders.setdefault(y, {})
            if x != y:
                folders[x].setdefault(y, []).append(f"{a} -> {b}: {' '.join(graph[a][b])}")
    return folders


def cycles(graph, without=None):
    """Sets of nodes that reach each other (Tarjan, without recursion), the largest first."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in graph:
        work = [] if root in index else [(root, None)]
        while work:
            node, left = work.pop()
            if left is None:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
                left = iter([to for to in graph[node] if to in graph and (node, to) != without])
            for to in left:
                if to not in index:
                    work += [(node, left), (to, None)]
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                if low[node] == index[node]:
                    at = stack.index(node)
                    one, stack = stack[at:], stack[:at]
                    on.difference_update(one)
                    if len(one) > 1:
                        found.append(sorted(one))
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
    return sorted(found, key=len, reverse=True)


def closing(graph, cycle):
    """The edge without which the least is left of the cycle; of several that of the fewest symbols."""
    part = {a: {b: graph[a][b] for b in graph[a] if b in cycle} for a in cycle}
    edges = [(a, b) for a in part for b in part[a]]
    left = {edge: max((len(c) for c in cycles(part, edge)), default=0) for edge in edges}
    return min(edges, key=lambda edge: (left[edge], len(part[edge[0]][edge[1]]), edge))


def read_limits(path):
    limits = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                limits[words[0]] = int(words[1])
    return limits


def limit_of(limits, cycle):
    """The folder whose limit covers all of the cycle, or None."""
    within = [f for f in limits if all(name == f or name.startswith(f + "/") for name in cycle)]
    return min(within, key=len, default=None)


def main():
    build, listed, limits = sys.argv[1], sys.argv[2], read_limits(sys.argv[3])
    nm = shutil.which(os.environ.get("NM", "nm"))
    if not nm:
        print("skipped: there is no nm")
        return 77
    with open(listed, encoding="utf-8") as lines:
        objects = {path: name_of(build, path) for path in lines.read().splitlines()}
    objects = {path: name for path, name in objects.items() if name}
    missing = [path for path in objects if not os.path.exists(path)]
    if missing or not objects:
        sys.exit(f"not built: {(missing or [listed])[0]}")

    graph = graph_of(*symbols(nm, objects))
    folders = folders_of(graph)
    breaches, largest, rings = 0, dict.fromkeys(limits, 0), set()
    for cycle in cycles(graph):
        folder = limit_of(limits, cycle)
        most = max(limits.get(folder, MOST), MOST)
        if folder:
            largest[folder] = max(largest[folder], len(cycle))
        if len(cycle) > most:
            a, b = closing(graph, cycle)
            print(f"a cycle of {len(cycle)} files, where {most} may be: {' '.join(cycle)}")
            print(f"    closed by {a} -> {b}: {' '.join(graph[a][b])}")
            breaches += 1
    for cycle in cycles(folders):
        folder = limit_of(limits, cycle)
        if folder:
            rings.add(folder)
            continue
        a, b = closing(folders, cycle)
        print(f"a cycle of folders: {' '.join(cycle)}")
        print("\n".join("    closed by " + edge for edge in folders[a][b]))
        breaches += 1
    for folder, most in limits.items():
        if max(largest[folder], MOST) < most:
            print(f"{folder}: the largest cycle of this build has {largest[folder]} files: the limit of {most} can go down")
        elif most <= MOST and folder not in rings:
            print(f"{folder}: there is no cycle of folders in this build: the limit can go")
    if not breaches:
        print(f"{len(graph)} files: no cycle but those of {os.path.basename(sys.argv[3])}")
    return breaches > 0


if __name__ == "__main__":
    sys.exit(main())
