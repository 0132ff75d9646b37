#!/usr/bin/env python3
"""Every wrapped call that gets a request of the program is made by a test of persistent sends: a start of such a send may be unknown to
the MPI (begins_claimed in src/mpi/request/request.h), until the call that completes the request or looks at it has handed the send
over. usage: requests.py COMPILER SOURCE-FOLDER LIST
A row of src/mpi/real/calls.def gets a request if a parameter is an MPI_Request, or an array of them, or if the first one points to an
MPI_Request. The test is tests/mpi/rts/persistent_random.c, with the list of completion calls in tests/mpi/kit/completion.c. A line of
LIST gives the reason why it need not make a call: "pattern reason", * for any letters. Prints every breach; status 1 if there is one, or
where a line leaves nothing out."""
import fnmatch
import os
import re
import subprocess
import sys

from lists import read_list

TESTS = ("tests/mpi/rts/persistent_random.c", "tests/mpi/kit/completion.c")


def rows_of(compiler, source):
    """Name: the parameters."""
    flags = ["-E", "-P", "-I" + os.path.join(source, "src"), "-I" + os.path.join(source, "include"), "-x", "c"]
    row = "(kind,waits,name,errors,buffers,parameters,...)=TUTTI_ROW name #parameters;"
    flags += ["-DTUTTI_CALL" + row, "-DTUTTI_CALL_C" + row]
    told = subprocess.run([compiler] + flags + [os.path.join(source, "src", "mpi", "real", "calls.def")], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{compiler} cannot read calls.def: {told.stderr.strip()}")
    return dict(re.findall(r'TUTTI_ROW (\w+) "([^"]*)";', told.stdout))


def gets_request(parameters):
    """1 if a request of the program goes into the call."""
    each = [re.sub(r"\s+", " ", one).strip() for one in parameters.strip("() ").split(",")]
    return any(re.fullmatch(r"(const )?MPI_Request (\w+|\w+ ?\[\d*\])", one) for one in each) or bool(
        re.fullmatch(r"MPI_Request ?\* ?\w+", each[0]))


def main():
    compiler, source, list_of = sys.argv[1:4]
    left_out, named, bad = read_list(list_of), set(), 0
    for test in TESTS:
        with open(os.path.join(source, test), encoding="utf-8") as text:
            named.update(re.findall(r"\b(MPIX?_\w+)", re.sub(r'"[^"\n]*"|/\*.*?\*/', "", text.read(), flags=re.S)))
    rows = sorted(name for name, parameters in rows_of(compiler, source).items() if gets_request(parameters))
    for name in rows:
        patterns = [pattern for pattern in left_out if fnmatch.fnmatchcase(name, pattern)]
        for pattern in patterns:
            left_out[pattern] += 1
        if name not in named and not patterns:
            print(f"{name} gets a request, and no persistent send meets it in {TESTS[0]}")
            bad += 1
        if patterns and name in named:
            print(f"{name} is made by {TESTS[0]}, and {list_of} leaves it out")
            bad += 1
    for pattern, n in left_out.items():
        if n == 0:
            print(f"{list_of}: {pattern} leaves nothing out")
            bad += 1
    print(f"requests.py: {len(rows)} calls get requests, {sum(left_out.values())} of them in the list")
    return 1 if bad or not rows else 0


sys.exit(main())
