#!/usr/bin/env python3
"""Runs the unit tests of a sanitizer's build folder: sanitize_tests.py FOLDER JOBS

Tests run in groups, those of rooms whose threads share memory first and long ones last. FOLDER/passed.txt has the tests
that have passed, so that a run which was ended continues where it was; a test runs again if its program or a library is
newer than its line. A test that fails without a sanitizer's report runs once more, alone: machines are busy. A report
is final. Last line: "N passed, N failed, N skipped". Exit status: 0 if at least one passed and none failed.
"""
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOMS = "progress ring p2p lanes shmem part team coll sched bounce core".split()
REPORT = re.compile(r"(WARNING|ERROR): (Thread|Address|Leak)Sanitizer|: runtime error: ")
folder, jobs = sys.argv[1], int(sys.argv[2])
passed_file = os.path.join(folder, "passed.txt")


def changed(path):
    return os.path.getmtime(path) if os.path.isfile(path) else 0.0


class Test:
    def __init__(self, number, row, libraries):
        labels = next((p["value"] for p in row["properties"] if p["name"] == "LABELS"), [])
        inside = os.path.abspath(folder) + os.sep
        self.number, self.name, self.unit = number, row["name"], "unit" in labels
        self.newest = max([libraries] + [changed(part) for part in row.get("command", []) if part.startswith(inside)])
        room = next((n for n, room in enumerate(ROOMS) if self.name.startswith(room)), len(ROOMS))
        self.order = ("long" in labels, room, number)


def all_tests():
    shown = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, check=True)
    library = os.path.join(folder, "lib")
    newest = max([changed(os.path.join(library, name)) for name in os.listdir(library)], default=0.0)
    rows = json.loads(shown.stdout)["tests"]
    return sorted((t for t in (Test(n + 1, row, newest) for n, row in enumerate(rows)) if t.unit), key=lambda t: t.order)


def passed_before():
    if not os.path.exists(passed_file):
        return {}
    with open(passed_file, encoding="utf-8") as lines:
        return {name: float(when) for name, when in (line.split() for line in lines if len(line.split()) == 2)}


def run(group, at_once):
    """Of each test: its name, "run", "fail" or another status, what it printed."""
    results = os.path.abspath(os.path.join(folder, "group.xml"))
    if os.path.exists(results):
        os.remove(results)
    first = str(group[0].number)
    only = ",".join([first, first, "1"] + [str(t.number) for t in group[1:]])
    subprocess.run(["ctest", "--test-dir", folder, "-I", only, "-j", str(at_once), "--output-on-failure", "--output-junit", results],
                   check=False)
    return [(case.get("name"), case.get("status"), case.findtext("system-out") or "") for case in xml.parse(results).iter("testcase")]


def main():
    tests, before = all_tests(), passed_before()
    left = [t for t in tests if before.get(t.name, 0.0) <= t.newest]
    counts = {"passed": len(tests) - len(left), "failed": 0, "skipped": 0}
    print(f"{len(left)} of {len(tests)} tests are left", flush=True)
    again, failed, size, named = [], [], jobs * 16, {t.name: t for t in tests}
    groups = [(left[n:n + size], jobs * 2) for n in range(0, len(left), size)]
    while groups or again:
        if not groups:
            groups, again = [([t], 1) for t in again], []
            named = {}
        group, at_once = groups.pop(0)
        began = time.time()
        for name, status, output in run(group, at_once):
            if status == "run":
                counts["passed"] += 1
                with open(passed_file, "a", encoding="utf-8") as lines:
                    lines.write(f"{name} {began:.3f}\n")
            elif status == "fail" and (REPORT.search(output) or name not in named):
                failed.append(name)
            elif status == "fail":
                again.append(named[name])
            else:
                counts["skipped"] += 1
    counts["failed"] = len(failed)
    for name in failed:
        print("failed:", name)
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    return 1 if failed or not counts["passed"] else 0


sys.exit(main())
