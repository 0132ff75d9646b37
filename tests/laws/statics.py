#!/usr/bin/env python3
"""A static function has a name of its own: it carries its object's, and can be searched for and read in a backtrace.
usage: statics.py SOURCE-FOLDER
Prints every static function that two files of src/ define; status 1 if there is one. src/kernels is left out: bodies there
are compiled once for each instruction set and device. Names that a macro makes are left out too."""
import glob
import os
import re
import sys

DEFINITION = re.compile(r"^static\s[^;{}=\n]*?\b([a-z]\w*)\((?:[^;{}()]|\([^()]*\))*\)\n\{", re.M)


def main():
    os.chdir(sys.argv[1])
    where = {}
    for file in sorted(f for ending in ("c", "h", "inc") for f in glob.glob(f"src/**/*.{ending}", recursive=True)):
        if not file.startswith("src/kernels/"):
            with open(file, encoding="utf-8") as text:
                for name in DEFINITION.findall(text.read()):
                    where.setdefault(name, set()).add(file)
    several = {name: files for name, files in where.items() if len(files) > 1}
    for name, files in sorted(several.items()):
        print(f"{name}() is a function of {' and of '.join(sorted(files))}: put the object into its name")
    if not where:
        sys.exit("there is no static function")
    if not several:
        print(f"{len(where)} static functions: each has a name of its own")
    return bool(several)


sys.exit(main())
