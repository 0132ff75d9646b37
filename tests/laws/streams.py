#!/usr/bin/env python3
"""Every call of the global address space on the host has a form in the order of a stream, NAME_on_stream, or a reason why it has
none. usage: streams.py COMPILER SOURCE-FOLDER LEFT-OUT
The names are those of tutti/shmem.h as COMPILER, one of C, sees it; generic ones, which are macros, stand for typed ones.
LEFT-OUT lists those without a form, one a line: "pattern reason", * for any letters. Prints every breach; status 1 if there
is one, or where a line of LEFT-OUT leaves nothing out."""
import fnmatch
import os
import re
import subprocess
import sys

from lists import read_list

FORM = "_on_stream"


def names_of(compiler, source):
    header = os.path.join(source, "include", "tutti", "shmem.h")
    told = subprocess.run([compiler, "-E", "-P", "-I" + os.path.join(source, "include"), header], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{compiler} cannot read {header}: {told.stderr.strip()}")
    return set(re.findall(r"\b(tshmem_\w+)\s*\(", told.stdout))


def main():
    compiler, source, list_of = sys.argv[1:4]
    left_out, bad = read_list(list_of), 0
    names = names_of(compiler, source)
    calls = sorted(name for name in names if not name.endswith(FORM))
    for call in calls:
        patterns = [pattern for pattern in left_out if fnmatch.fnmatchcase(call, pattern)]
        for pattern in patterns:
            left_out[pattern] += 1
        if call + FORM in names and patterns:
            print(f"{call} has a form in stream order, and {patterns[0]} in {os.path.basename(list_of)} says that it has none")
            bad += 1
        elif call + FORM not in names and not patterns:
            print(f"{call} has no form in stream order, {call}{FORM}: make one, or say in {os.path.basename(list_of)} why not")
            bad += 1
    for pattern, times in left_out.items():
        if not times:
            print(f"{os.path.basename(list_of)}: {pattern} leaves nothing out any more: the line can go")
            bad += 1
    if not bad:
        print(f"{len(calls)} calls, {sum(call + FORM in names for call in calls)} of them in stream order")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
