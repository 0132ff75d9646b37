#!/usr/bin/env python3
"""Runs each test of a build folder and writes which take long: costs.py BUILD [ctest options] >tests/costs/costs.txt
A line a test, without the name of its MPI: the most seconds of the processor that it took under one of them, where that is LEAST or
more, or a fifth of the seconds that it waited. Such a test runs TURNS times, and the least counts, so that other work on the machine
shows little. It takes an hour. What a test that fails took is not known; it is named on the other output.
The table says which tests `make quick` leaves out. As an order it matters little: with the times of a check on two cores, tests in
this order end after 541 seconds, in the order of their true times after 541, with each cost wrong by up to e^2 after 541, and in
random orders after 539 to 541; no order could end before 535."""
import json
import os
import subprocess
import sys
import time

LEAST = 0.4
TURNS = 3
MPIS = ("openmpi", "openmpi5", "mpich", "mpich5", "mpiabi", "impi", "impiabi")


def measured(test):
    """Status; seconds of the processor with all children, or a fifth of those that it waited."""
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    environment = dict(os.environ)
    environment.update(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
    begin = time.monotonic()
    process = subprocess.Popen(test["command"], env=environment, cwd=properties.get("WORKING_DIRECTORY"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = used.ru_utime + used.ru_stime
    return process.returncode, max(cost, (time.monotonic() - begin - cost) / 5)


def main():
    said = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1", *sys.argv[2:]], check=True, stdout=subprocess.PIPE)
    most = {}
    for test in json.loads(said.stdout)["tests"]:
        if test["name"].startswith("laws") and not test["name"].endswith(".negative"):
            continue  # part of each run
        status, cost = measured(test)
        for _ in range(TURNS - 1):
            if cost >= LEAST:
                status, again = measured(test)
                cost = min(cost, again)
        name, _, last = test["name"].rpartition(".")
        name = name if last in MPIS else test["name"]
        if status in (124, 137):
            print(f"{test['name']}: status {status}", file=sys.stderr)
        most[name] = max(most.get(name, 0), cost)
    print("# Tests that take long: seconds of the processor, and the test without the name of its MPI. scripts/costs.py writes it.")
    for name, cost in sorted(most.items()):
        if cost >= LEAST:
            print(f"{cost:5.1f} {name}")


if __name__ == "__main__":
    main()
