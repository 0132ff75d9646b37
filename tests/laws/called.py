#!/usr/bin/env python3
"""What tests call, something else calls too: a function that a header of src/ declares and a test names is named outside the tests,
besides its declarations and its definition. What only such functions call is found as well.
usage: called.py SOURCE-FOLDER LEFT_OUT
LEFT_OUT: lines "pattern reason", * for any letters. Prints every breach; status 1 if there is one, or where a line leaves nothing
out."""
import fnmatch
import os
import re
import sys

from lists import read_list

ENDINGS = (".c", ".h", ".inc", ".def", ".cu", ".S", ".cc", ".cpp", ".f90")
ROOMS = ("src", "include", "tools", "bench", "examples", "python", "scripts")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# The beginning of a declaration or definition: it stands at the margin.
BEGINNING = re.compile(r"^(?!typedef\b)[A-Za-z_][\w *]*?\b(\w+)\(", re.M)
DEFINITION = re.compile(r"^[A-Za-z_][^;{}=\n]*?\b(\w+)\((?:[^;{}()]|\([^()]*\))*\)\n\{\n.*?^\}", re.M | re.S)


def texts(source, rooms):
    """Path -> text without comments."""
    found = {}
    for room in rooms:
        for folder, _, names in os.walk(os.path.join(source, room)):
            for path in (os.path.join(folder, name) for name in names if name.endswith(ENDINGS)):
                with open(path, encoding="utf-8", errors="replace") as text:
                    found[path] = COMMENT.sub(" ", text.read())
    return found


def words(found):
    return {word for text in found.values() for word in re.findall(r"\w+", text)}


def main():
    source, list_of = sys.argv[1:3]
    left_out, bad = read_list(list_of), 0
    library, tested = texts(source, ROOMS), words(texts(source, ("tests",)))
    src = os.path.join(source, "src") + os.sep
    declared = {name: os.path.relpath(path, source) for path, text in library.items() if path.startswith(src) and path.endswith(".h")
                for name in BEGINNING.findall(text)}
    spared = {name: [pattern for pattern in left_out if fnmatch.fnmatchcase(name, pattern)] for name in declared}
    alone = set()
    while True:
        named = words({path: BEGINNING.sub("", text) for path, text in library.items()})
        found = {name for name in declared if name in tested and name not in named and name not in alone}
        for pattern in (pattern for name in found for pattern in spared[name]):
            left_out[pattern] += 1
        found = {name for name in found if not spared[name]}
        if not found:
            break
        alone |= found
        library = {path: DEFINITION.sub(lambda m: "" if m.group(1) in alone else m.group(), text) for path, text in library.items()}
    for name in sorted(alone):
        print(f"{declared[name]}: only tests call {name}()")
        bad += 1
    for pattern in (pattern for pattern, n in left_out.items() if n == 0):
        print(f"{list_of}: {pattern} leaves nothing out")
        bad += 1
    if not bad:
        print(f"{len(declared)} functions: each that a test calls is called elsewhere too, but for the patterns in the list")
    return 1 if bad or not declared else 0


sys.exit(main())
