#!/usr/bin/env python3
"""Every call of an MPI is known: it has a row in src/mpi/real/calls.def, whose column `waits` says for whom it may wait, or a line
in LOCAL says why it never does. usage: calls.py COMPILER SOURCE-FOLDER LOCAL HEADER...
The calls are those that COMPILER, one of C, sees in each HEADER (an mpi.h, or mpi_abi.h), or, of an MPI that is installed without
headers, those that its library exports (HEADER is a .so). LOCAL has one name or pattern a line:
"pattern reason", * for any letters. What Tutti needs besides its rows (needs.def) is to be local. Prints every breach; status 1
where there is one, 77 where there is no header."""
import fnmatch
import os
import re
import subprocess
import sys

KINDS = "SEE TAKE IO RMA MEET PASS".split()
WORDS = ("LOCAL LOOKS ENGINE SENDS RECEIVES TAKES EXCHANGES REPLACES MEETS STANDS DETACHES ORDERED CREATES QUEUED").split()


def declared(compiler, header):
    """The functions of a header, without those of the profiling interface."""
    flags = ["-E", "-P", "-I" + os.path.dirname(header), "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-x", "c", header]
    told = subprocess.run([compiler] + flags, capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{compiler} cannot read {header}: {told.stderr.strip()}")
    names = set()
    for statement in told.stdout.split(";"):
        if not statement.lstrip().startswith("typedef"):
            found = re.match(r"[\s\w\*\"\(\),{}]*?\b(?:int|double|void|MPI_\w+)\s+\**\s*(MPIX?_\w+)\s*\(", statement)
            if found:
                names.add(found.group(1))
    return names


def exported(library):
    """The functions of a library, without those of the profiling interface."""
    told = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"nm cannot read {library}: {told.stderr.strip()}")
    return set(re.findall(r" [TW] (MPIX?_\w+)$", told.stdout, re.M))


def rows_of(compiler, source):
    """Name: (kind, waits), large-count forms too. As COMPILER expands the list: some rows are made from columns of other lists."""
    flags = ["-E", "-P", "-I" + os.path.join(source, "src"), "-I" + os.path.join(source, "include"), "-x", "c"]
    row = "(kind,waits,name,...)=TUTTI_ROW "
    flags += ["-DTUTTI_CALL" + row + "kind waits name;", "-DTUTTI_CALL_C" + row + "kind waits name; TUTTI_ROW kind waits name##_c;"]
    told = subprocess.run([compiler] + flags + [os.path.join(source, "src", "mpi", "real", "calls.def")], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{compiler} cannot read calls.def: {told.stderr.strip()}")
    return {name: (kind, waits) for kind, waits, name in re.findall(r"TUTTI_ROW (\w+) (\w+) (\w+);", told.stdout)}


def local_of(path):
    patterns = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split(None, 1)
            if words:
                if len(words) < 2:
                    sys.exit(f"{path}: a reason is missing: {line.strip()}")
                patterns.append(words[0])
    return patterns


def main():
    compiler, source, local_list = sys.argv[1:4]
    rows, patterns, breaches = rows_of(compiler, source), local_of(local_list), []
    here = os.path.basename(local_list)

    def local(name):
        return next((pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)), None)

    for name, (kind, waits) in rows.items():
        if kind not in KINDS or waits not in WORDS:
            breaches.append(f"calls.def: {name} is {kind}, {waits}: not words of that list")
        if kind == "MEET" and waits != "MEETS":
            breaches.append(f"calls.def: {name} is announced as MEET, and {waits}: it is to be MEETS")
        if local(name) and not name.startswith("MPIX_"):
            breaches.append(f"{name} has a row in calls.def, and {local(name)} in {here} says that it has none")
    with open(os.path.join(source, "src", "mpi", "real", "needs.def"), encoding="utf-8") as text:
        for name in re.findall(r"^TUTTI_(?:NEED|MAY)\((\w+),", text.read(), re.M):
            if not local(name):
                breaches.append(f"needs.def: {name} is called as it is, and not local by {here}")
    calls = 0
    for header in sys.argv[4:]:
        names = exported(header) if header.endswith(".so") else declared(compiler, header)
        calls += len(names)
        if len(names) < 300:
            breaches.append(f"{header}: {len(names)} calls are too few for an MPI: it is not read right")
        for name in sorted(names):
            if name not in rows and not local(name):
                breaches.append(f"{header}: {name} has no row in calls.def: add one, or a line to {here} where it never waits")
    for breach in breaches:
        print(breach)
    if not breaches and len(sys.argv) < 5:
        print("there is no header of an MPI")
        return 77
    if not breaches:
        print(f"{len(rows)} rows; {calls} calls of {len(sys.argv) - 4} headers are known")
    return len(breaches) > 0


if __name__ == "__main__":
    sys.exit(main())
