#!/usr/bin/env python3
"""What a lock guards is used with the lock held, and each lock that is taken is given back, by Clang's analysis of the words of
src/core/lock.h. usage: locks.py CLANG SOURCE-FOLDER COMMANDS [FILE...]
Looks at the sources of COMMANDS (compile_commands.json) that name TUTTI_HOLDS or TUTTI_GUARDED, a lock, or a function of a header that
needs one; FILE: at these alone. A call
that leaves atomic operations out asks tutti_door_alone() each time, or passes on what its caller has asked. Prints every breach; status
1 if there is one, 77 if CLANG cannot make the analysis."""
import json
import os
import re
import shlex
import subprocess
import sys

WORDS = re.compile(r"\bTUTTI_(?:HOLDS|GUARDED)\(|\btutti_(?:lock_(?:take|try)\w*|fiber_take|spares_\w+)\(")
ALONE = re.compile(r"\b(tutti_(?:lock_take_alone|lock_try_alone|spares_take|spares_give|endpoint_announce|endpoint_announce_rest|endpoint_saw))\(")


def arguments(text, at):
    """Of a call, whose bracket opens at `at`."""
    depth, each, begin = 0, [], at + 1
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if (text[i] == "," and depth == 1) or depth == 0:
            each.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            return each
    return each


def unasked(source):
    """Calls whose last argument says without a question that no other thread is there."""
    breaches = []
    for folder, _, names in os.walk(os.path.join(source, "src")):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith((".c", ".h", ".inc")):
                continue
            with open(path, encoding="utf-8") as lines:
                text = lines.read()
            for call in ALONE.finditer(text):
                last = arguments(text, call.end() - 1)[-1]
                if last not in ("tutti_door_alone()", "alone", "int alone", "0"):
                    line = text.count("\n", 0, call.start()) + 1
                    breaches.append(f"{os.path.relpath(path, source)}:{line}: {call.group(1)}() does not ask tutti_door_alone()")
    return breaches


def holders(source):
    """Functions of headers that are called with a lock held."""
    names = set()
    for folder, _, files in os.walk(os.path.join(source, "src")):
        for name in files:
            if name.endswith(".h"):
                with open(os.path.join(folder, name), encoding="utf-8") as text:
                    names.update(re.findall(r"\b(\w+)\([^;{}]*\)\s*TUTTI_HOLDS\(", text.read()))
    return names


def commands_of(path, source, only):
    """File: flags of the compiler that matter."""
    found, held = {}, holders(source)
    with open(path, encoding="utf-8") as text:
        for entry in json.load(text):
            file = os.path.join(entry["directory"], entry["file"])
            if file in found or (only and file not in only) or not (only or file.startswith(os.path.join(source, "src") + os.sep)):
                continue
            with open(file, encoding="utf-8") as lines:
                text_of = lines.read()
                if not WORDS.search(text_of) and not held.intersection(re.findall(r"\b(\w+)\(", text_of)):
                    continue
            words, flags = shlex.split(entry["command"]), []
            for i, word in enumerate(words):
                if re.match(r"-(I|D|std=)", word):
                    flags.append(word)
                elif word == "-isystem":
                    flags += [word, words[i + 1]]
            found[file] = (entry["directory"], flags)
    return found


def main():
    clang, source, commands = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3]
    only = {os.path.realpath(file) for file in sys.argv[4:]}
    checks = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
    asked = subprocess.run([clang, "-x", "c", "-", *checks], input="", capture_output=True, text=True)
    if asked.returncode != 0:
        print(f"{clang} makes no such analysis: {asked.stderr.strip()}")
        return 77
    breaches, files = [] if only else unasked(source), commands_of(commands, source, only)
    for file, (folder, flags) in sorted(files.items()):
        told = subprocess.run([clang, *checks, *flags, file], cwd=folder, capture_output=True, text=True)
        if told.returncode != 0:
            breaches.append(told.stderr.strip())
    for breach in breaches:
        print(breach)
    if not files:
        print("no source names a lock")
    elif not breaches:
        print(f"locks.py: {len(files)} sources")
    return 1 if breaches or not files else 0


if __name__ == "__main__":
    sys.exit(main())
