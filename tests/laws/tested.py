#!/usr/bin/env python3
"""Every wrapped call of MPI is made by a test. usage: tested.py COMPILER SOURCE-FOLDER UNTESTED
A row of src/mpi/real/calls.def that names a buffer is drawn by tests/mpi/every, in all kinds of memory. What that test leaves out
(its list `others`) and each other row, with its large-count form, is named by another test, or a line of UNTESTED gives the reason:
"pattern reason", * for any letters. Prints every breach; status 1 if there is one, or where a line leaves nothing out."""
import fnmatch
import glob
import os
import re
import subprocess
import sys

from lists import read_list

ENDINGS = (".c", ".h", ".inc", ".def", ".py", ".sh", ".f90", ".cpp")


def rows_of(compiler, source):
    """Name: the column of buffers; large-count forms too."""
    flags = ["-E", "-P", "-I" + os.path.join(source, "src"), "-I" + os.path.join(source, "include"), "-x", "c"]
    row = "(kind,waits,name,errors,buffers,...)=TUTTI_ROW name "
    form = "TUTTI_ROW name #buffers;"
    flags += ["-DTUTTI_CALL" + row.replace("TUTTI_ROW name ", form), "-DTUTTI_CALL_C" + row.replace("TUTTI_ROW name ", form + " TUTTI_ROW name##_c #buffers;")]
    told = subprocess.run([compiler] + flags + [os.path.join(source, "src", "mpi", "real", "calls.def")], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{compiler} cannot read calls.def: {told.stderr.strip()}")
    return dict(re.findall(r'TUTTI_ROW (\w+) "([^"]*)";', told.stdout))


def main():
    compiler, source, list_of = sys.argv[1:4]
    every = os.path.join(source, "tests", "mpi", "every")
    left_out, bad = read_list(list_of), 0
    with open(os.path.join(every, "every.c"), encoding="utf-8") as text:
        others = set(re.findall(r'\{"(MPI_\w+)", "', text.read()))
    named = set()
    for file in glob.glob(os.path.join(source, "tests", "**", "*"), recursive=True):
        if file.endswith(ENDINGS) and not file.startswith(every + os.sep):
            with open(file, encoding="utf-8", errors="replace") as text:
                named.update(re.findall(r"\bP?(MPIX?_\w+)", text.read()))
    rows = rows_of(compiler, source)
    for name, buffers in sorted(rows.items()):
        drawn = buffers != "NO_BUFFER" and re.sub("_c$", "", name) not in others
        patterns = [pattern for pattern in left_out if fnmatch.fnmatchcase(name, pattern)]
        for pattern in patterns:
            left_out[pattern] += 1
        if not drawn and name not in named and not patterns:
            print(f"{name} is made by no test")
            bad += 1
        if patterns and (drawn or name in named):
            print(f"{name} is made by a test, and {list_of} leaves it out")
            bad += 1
    for pattern, n in left_out.items():
        if n == 0:
            print(f"{list_of}: {pattern} leaves nothing out")
            bad += 1
    print(f"tested.py: {len(rows)} calls, {sum(left_out.values())} of them in the list")
    return 1 if bad or not rows else 0


sys.exit(main())
