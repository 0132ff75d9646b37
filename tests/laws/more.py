#!/usr/bin/env python3
"""tests/more.txt against the tests of a build: more.py LIST TESTS, where TESTS is what `ctest --show-only=json-v1` prints.
The row that is kept for a row that `make check` leaves out is a test of the same program, and is not left out itself.
Prints every breach; exit status 1 if any."""
import json
import re
import sys

MPI = re.compile(r"[.](openmpi5?|mpich5?|mpiabi|impi|impiabi)(?=$|[.][a-z]+$)")


def program(test):
    """Name of the program that a test runs, without its MPI; the programs of forked PEs have a name without mpi-."""
    command = [word for word in test.get("command", []) if "/tests/" in word or "/examples/" in word or "/bench/" in word]
    names = {MPI.sub("", word.rsplit("/", 1)[-1]) for word in command if not word.endswith(".so") and "=" not in word}
    programs = {re.sub("^mpi-", "", name) for name in names if not name.endswith(".sh")}
    return programs or names  # a script that runs the command


def main():
    tests = {test["name"]: test for test in json.load(open(sys.argv[2]))["tests"]}
    rows = [line.split() for line in open(sys.argv[1]) if line[0] not in "#\n"]
    out = {row[0] for row in rows}
    breaches = []
    if len(out) != len(rows):
        breaches.append("a row stands twice")
    for row in rows:
        if len(row) != 2:
            breaches.append(f"{' '.join(row)}: not two names")
            continue
        left, kept = row
        if kept in out:
            breaches.append(f"{left}: {kept} is left out too")
        if left not in tests:
            if not MPI.search(left) or any(MPI.sub("", name) == MPI.sub("", left) for name in tests):
                continue  # its MPI is missing
            breaches.append(f"{left}: there is no such test under any MPI")
        elif kept in tests and not program(tests[left]) & program(tests[kept]):
            breaches.append(f"{left}: {kept} is a test of another program")
    print("\n".join(breaches), end="\n" if breaches else "")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
