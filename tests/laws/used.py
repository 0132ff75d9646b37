#!/usr/bin/env python3
"""What one source of the library uses alone is its own: a function or object with external linkage is used by another source of
the library, of a test or of a tool, or is exported, by the symbols of the object files.
usage: used.py BUILD OBJECTS SOURCE
OBJECTS lists the library's object files in the build folder BUILD, one a line; BUILD's compile_commands.json names all others. A
source in the folder SOURCE that this build leaves out may use what it names. Exported are names with TUTTI_API or default
visibility, the MPI's and OpenSHMEM's. Names that have a dot are the compiler's, weak ones come with headers. Prints every breach; status 1
where there is one, 77 without nm."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import cycles

STANDARDS = r"P?MPIX?_|p?mpix?_|p?shmem_|p(_my_pe|_num_pes|start_pes|shmalloc|shfree|shrealloc|shmemalign)$"
ROOMS = ("src", "include", "tests", "tools", "bench", "examples", "scripts")


def compiled(build):
    """Object -> source, of all that the build compiles."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        rows = json.load(text)
    where = {}
    for row in rows:
        words = shlex.split(row["command"])
        output = os.path.join(row["directory"], words[words.index("-o") + 1])
        where[os.path.normpath(output)] = os.path.normpath(os.path.join(row["directory"], row["file"]))
    return where


def symbols(nm, objects):
    """object -> names that it defines, but for weak ones; all names that some object takes from another"""
    told = subprocess.run([nm, "-A", "-g", "-P", *objects], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit("nm cannot read the object files: " + told.stderr.strip())
    defined, used = {}, set()
    for line in told.stdout.splitlines():
        path, _, rest = line.rpartition(": ")
        symbol, kind = rest.split()[:2]
        if kind in "Uwv":
            used.add(symbol)
        elif kind not in "WVu":
            defined.setdefault(path, set()).add(symbol)
    return defined, used


def files(source, endings):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(source, room)):
            yield from (os.path.join(folder, name) for name in names if name.endswith(endings))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()


def exported(source):
    """Names with default visibility on purpose."""
    said = re.compile(r'(?:TUTTI_API|visibility\("default"\)\)\)) [^;{(\n]*?(\w+) *[;(]')
    return {name for path in files(source, (".h", ".c")) for name in said.findall(read(path))}


def left_out(source, built):
    """Words of sources that are not in `built`, and of the texts beside them."""
    out = [path for path in files(source, (".c", ".cc", ".cu", ".S")) if os.path.normpath(path) not in built]
    folders = {os.path.dirname(path) for path in out if path.endswith((".c", ".cc"))}
    out += [path for path in files(source, (".inc",)) if os.path.dirname(path) in folders]
    return {word for path in out for word in re.findall(r"\w+", read(path))}


def main():
    build, listed, source = (os.path.abspath(path) for path in sys.argv[1:4])
    nm = shutil.which(os.environ.get("NM", "nm"))
    if not nm:
        print("skipped: there is no nm")
        return 77
    with open(listed, encoding="utf-8") as lines:
        library = {os.path.normpath(path): cycles.name_of(build, path) for path in lines.read().splitlines()}
    library = {path: name for path, name in library.items() if name}
    missing = [path for path in library if not os.path.exists(path)]
    if missing or not library:
        sys.exit(f"not built: {(missing or [listed])[0]}")
    built = {path: made_of for path, made_of in compiled(build).items() if os.path.exists(path)}
    defined, used = symbols(nm, sorted({*library, *built}))
    names, alone = set(), {}
    for path in library:
        for symbol in defined.get(path, ()):
            if re.fullmatch(r"[A-Za-z_]\w*", symbol) and not re.match(STANDARDS, symbol):
                names.add(symbol)
                if symbol not in used:
                    alone.setdefault(symbol, set()).add(library[path])
    if alone:
        spared = exported(source) | left_out(source, set(built.values()))
        alone = {symbol: those for symbol, those in alone.items() if symbol not in spared}
    for symbol in sorted(alone):
        print(f"{symbol} is used in {' and '.join(sorted(alone[symbol]))} alone: make it static")
    if not alone:
        print(f"{len(names)} names: each is exported or used by another source")
    return bool(alone)


if __name__ == "__main__":
    sys.exit(main())
