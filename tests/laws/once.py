#!/usr/bin/env python3
"""A function or object with external linkage is defined in one source of the library alone, by the symbols of the object files.
usage: once.py BUILD OBJECTS
OBJECTS lists the object files in the build folder BUILD, one a line. A source that is built several times (front ends,
instruction sets) counts once. Names of the MPI are not looked at: they are the standard's; nor are the compiler's, which have a dot.
Prints every name that is defined twice; status 1 if there is one, 77 without nm."""
import os
import re
import shutil
import sys

import cycles


def main():
    build, listed = sys.argv[1:3]
    nm = shutil.which(os.environ.get("NM", "nm"))
    if not nm:
        print("skipped: there is no nm")
        return 77
    with open(listed, encoding="utf-8") as lines:
        objects = {path: cycles.name_of(build, path) for path in lines.read().splitlines()}
    objects = {path: name for path, name in objects.items() if name}
    missing = [path for path in objects if not os.path.exists(path)]
    if missing or not objects:
        sys.exit(f"not built: {(missing or [listed])[0]}")
    where = {}
    for name, those in cycles.symbols(nm, objects)[0].items():
        for symbol in those:
            if re.fullmatch(r"[A-Za-z_]\w*", symbol) and not re.match(r"P?MPIX?_|p?mpix?_", symbol):
                where.setdefault(symbol, set()).add(name)
    twice = {symbol: names for symbol, names in where.items() if len(names) > 1}
    for symbol in sorted(twice):
        print(f"{symbol} is defined in {' and '.join(sorted(twice[symbol]))}: a name is defined once")
    if not twice:
        print(f"{len(where)} names: each is defined once")
    return bool(twice)


if __name__ == "__main__":
    sys.exit(main())
