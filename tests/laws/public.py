#!/usr/bin/env python3
"""Every public call is described: it has a comment, and it is known whether the call is local or collective.
usage: public.py SOURCE-FOLDER
A call is an exported prototype of include/tutti/*.h, or a row of its MPIX lists. Calls that follow each other without an empty line share
the comment above them. Local or collective is stated by that comment, by the line of the section (---- text ----), or by the comment at
the head of the header or of a header that the HEADS table names. Prints every breach; status 1 if there is one."""
import glob
import os
import re
import sys

CALL = re.compile(r"^(?:TUTTI_API|TSHMEM_CALL|TSHMEM_HERE|TUTTI_MPIX_CALL\(|static inline (?:int|void|void \*) ?\*?(?=tshmem_|tutti_MPIX_))")
NAME = re.compile(r"\b(tutti_\w+|tshmem_\w+|MPIX_\w+)\s*[(,]")
SECTION = re.compile(r"^/\* ---- (.*) ---- \*/$")
STATED = re.compile(r"\b(local|collectives?|waits for)\b", re.I)
OF_ALL = re.compile(r"\b(all|each)\b(?:[^.]|\.\.\.){0,60}\b(local|collective)\b|\bLocal\. ", re.I)  # of the head of a header
HEADS = {"mpix_queue.def": "mpix_queue.h", "mpix_pcoll.def": "mpix_pcoll.h"}


def blocks(lines):
    """Pairs of a kind (comment, section, call, empty) and its text, with the line number."""
    at = 0
    while at < len(lines):
        begin, line = at, lines[at]
        section = SECTION.match(line)
        if section:
            yield begin, "section", section.group(1)
        elif line.startswith("/*"):
            while "*/" not in lines[at]:
                at += 1
            yield begin, "comment", " ".join(lines[begin:at + 1])
        elif CALL.match(line):
            while not re.search(r"[;{]|\)\)$", lines[at]):
                at += 1
            yield begin, "call", " ".join(lines[begin:at + 1])
        elif not line:
            yield begin, "empty", ""
        at += 1


def head_of(path):
    with open(path, encoding="utf-8") as text:
        comments = [text for _, kind, text in blocks(text.read().split("\n")) if kind == "comment"]
    return " ".join(comments[:2] if comments and comments[0].startswith("/* Part of") else comments[:1])


def main():
    folder = os.path.join(sys.argv[1], "include", "tutti")
    breaches, calls = [], 0
    for path in sorted(glob.glob(os.path.join(folder, "*.h")) + [path for path in glob.glob(os.path.join(folder, "mpix_*.def"))]):
        name = os.path.basename(path)
        head = head_of(os.path.join(folder, HEADS.get(name, name)))
        with open(path, encoding="utf-8") as text:
            lines = text.read().split("\n")
        section = comment = general = before = ""
        for line, kind, text in blocks(lines):
            if kind == "section":
                section, comment, general = text, "", ""
            elif kind == "comment":  # one behind another: the first is about all that follow
                general, comment = (comment if before == "comment" else general), text
            elif kind == "empty":
                comment = ""
            elif kind == "call":
                found = NAME.search(text)
                if not found:
                    continue
                calls += 1
                place = f"include/tutti/{name}:{line + 1}: {found.group(1)}"
                if not (comment or section or name in HEADS):
                    breaches.append(f"{place}: has no comment")
                elif not (any(STATED.search(part) for part in (comment, section, general)) or OF_ALL.search(head)):
                    breaches.append(f"{place}: its comment does not state whether it is local or collective")
            before = kind
    print("\n".join(breaches) if breaches else f"{calls} calls are described")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
