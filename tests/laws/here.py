#!/usr/bin/env python3
"""The address space is an argument everywhere in src/shmem but in the functions of the C API, which have none for it.
usage: here.py SOURCE-FOLDER
Prints every function that asks for the process's address space (tutti_shmem_here()) and is neither declared in include/
nor for the door, and every other use of its object (tutti_shmem_process); exit status 1 if there is any."""
import glob
import os
import re
import sys

# For the door, and of a process: what begins and ends with it.
DOOR = {"src/shmem/shmem.h", "src/shmem/teams_over.h"}
OF_PROCESS = {("src/shmem/life/exit.c", "shmem_at_exit"), ("src/shmem/life/exit.c", "loaded"),
              ("src/shmem/life/door.c", "poll_wire"), ("src/shmem/life/door.c", "door_say_where")}
OBJECT = {"src/shmem/here.h", "src/shmem/here.c"}
DEFINITION = re.compile(r"^[a-z][^;{}=\n]*?\b(\w+)\((?:[^;{}()]|\([^()]*\))*\)\n\{\n(.*?)^\}", re.M | re.S)


def names(files):
    found = set()
    for file in files:
        with open(file, encoding="utf-8") as text:
            found.update(re.findall(r"\b(t(?:utti_shmem|shmem)_\w+)\s*\(", text.read()))
    return found


def main():
    os.chdir(sys.argv[1])
    headers = [f for f in glob.glob("include/**", recursive=True) if os.path.isfile(f)]
    public = names(headers + [f for f in sorted(DOOR) if os.path.exists(f)])
    breaches = 0
    sources = sorted(glob.glob("src/**/*.[ch]", recursive=True))
    for file in sources:
        with open(file, encoding="utf-8") as source:
            text = source.read()
        if file in OBJECT:
            continue
        if "tutti_shmem_process" in text:
            print(f"{file}: the process's address space by its object")
            breaches += 1
        asked = text.count("tutti_shmem_here()")
        for match in DEFINITION.finditer(text):
            count = match.group(2).count("tutti_shmem_here()")
            asked -= count
            if count and match.group(1) not in public and (file, match.group(1)) not in OF_PROCESS:
                print(f"{file}: {match.group(1)}() asks for the process's address space, and is no function of the C API")
                breaches += 1
        if asked:
            print(f"{file}: the process's address space outside of functions")
            breaches += 1
    if not breaches:
        print(f"the address space is an argument in {len(sources)} sources")
    return breaches != 0


sys.exit(main())
