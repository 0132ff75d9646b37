#!/usr/bin/env python3
"""Idioms that make a text hard to read, counted in four kinds of text; each count is stored and may only fall.
usage: idioms.py SOURCE-FOLDER LIST [write]
LIST has a line for each idiom: its counts in documents, public headers, messages and comments, then a regular expression. Documents
are README.md, CONTRIBUTING.md and docs/*.md; headers are the comments and texts of include/; messages are the string literals of src/, tools/ and bench/ (also
the texts of settings and of --help); comments are those of the rooms in ROOMS, of tools/ and bench/, and the heads of tests. A count above the stored one is a breach, printed with
its places. A count below is one too, until `write` has stored it, so that it cannot rise again. `write` raises no count. Status 1 if there is a breach."""
import glob
import os
import re
import sys

KINDS = ("documents", "headers", "messages", "comments")
ROOMS = ("core", "progress", "bounce", "rules", "dtype", "device", "team", "sched", "ring", "kernels", "openshmem", "shmem", "coll", "p2p", "mpi/message", "mpi/move", "mpi/io", "mpi/reduce", "mpi/comm", "mpi/real",
         "mpi/request", "mpi/call", "mpi/type", "mpi/front", "mpi/bounce", "mpi/rma", "mpi/queue")  # a room is added when its comments have been rewritten
GENERATED = re.compile(r"words_(push|pop)\.h$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
GAP = re.compile(r"\s{2,}")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')


def blank(match):
    """As many lines, no text."""
    return re.sub(r"[^\n]", " ", match.group(0))


def joined(text):
    """One text from several lines of a comment or document: idioms may be broken over two lines; offsets stay."""
    return re.sub(r"\n[ \t]*(\*(?!/)|//|#)?", lambda gap: " " * len(gap.group(0)), text)


def sources(root, folders, endings):
    for folder in folders:
        for ending in endings:
            yield from glob.glob(os.path.join(root, folder, "**", "*." + ending), recursive=True)


def texts(root, kind):
    """Path, the file's text for line numbers, and the text to be searched, of the same offsets."""
    if kind == "documents":
        paths = [os.path.join(root, name) for name in ("README.md", "CONTRIBUTING.md")] + glob.glob(os.path.join(root, "docs", "*.md"))
    elif kind == "headers":
        paths = sources(root, ["include"], ("h", "def", "inc", "fh"))
    elif kind == "messages":
        paths = sources(root, ["src", "tools", "bench"], ("c", "h", "inc", "def"))
    else:
        paths = list(sources(root, [os.path.join("src", room) for room in ROOMS], ("c", "h", "inc", "def")))
        paths += sources(root, ["tools", "bench"], ("c", "h", "inc", "def"))
        paths += sources(root, ["tests"], ("c", "sh", "py"))
    for path in sorted(path for path in paths if os.path.exists(path) and not GENERATED.match(os.path.basename(path))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        place = os.path.relpath(path, root)
        if kind == "messages" or kind == "headers":
            yield place, text, strings(text, kind == "headers")
        elif kind == "comments":
            yield place, text, head_or_comments(place, text)
        else:
            yield place, text, joined(text)


def strings(text, comments):
    """The string literals, adjacent ones as one text; with the comments or without."""
    kept = [" "] * len(text)
    for match in COMMENT.finditer(text) if comments else ():
        kept[match.start():match.end()] = joined(match.group(0))
    plain = re.sub(r'(?<!\\)"(\s*)"', lambda gap: re.sub(r"[^\n]", " ", gap.group(0)), COMMENT.sub(blank, text))
    for match in STRING.finditer(plain):
        kept[match.start(1):match.end(1)] = match.group(1).replace("\n", " ")
    return "".join(kept)


def head_or_comments(place, text):
    """Of a test its first comment alone."""
    if place.endswith((".sh", ".py")):
        head = re.match(r"(#[^\n]*\n)+", text)
        return joined(text[:head.end()]) if head else ""
    if place.startswith("tests"):
        head = COMMENT.search(text)
        return " " * head.start() + joined(head.group(0)) if head and not text[:head.start()].strip() else ""
    kept = [" "] * len(text)
    for match in COMMENT.finditer(text):
        kept[match.start():match.end()] = joined(match.group(0))
    return "".join(kept)


def main():
    root, listed, write = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["write"]
    with open(listed, encoding="utf-8") as file:
        lines = file.read().splitlines()
    # Beside each text the same without long gaps: most of it is blank, and most idioms are not there.
    searched = {kind: [(place, text, plain, GAP.sub(" ", plain)) for place, text, plain in texts(root, kind)] for kind in KINDS}
    bad, out = 0, []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            out.append(line)
            continue
        *stored, idiom = line.split(None, len(KINDS))
        counts = []
        for kind, most in zip(KINDS, map(int, stored)):
            pattern = re.compile(idiom, re.I)
            places = [f"{place}:{text.count(chr(10), 0, match.start()) + 1}: {kind}: \"{' '.join(match.group(0).split())}\""
                      for place, text, plain, short in searched[kind] if pattern.search(short) for match in pattern.finditer(plain)]
            counts.append(min(most, len(places)) if write else most)
            if len(places) > most:
                bad = 1
                print("\n".join(places))
                print(f"{kind}: {len(places)} times {idiom}, at most {most} (see the list for better words)")
            elif len(places) < most and not write:
                bad = 1
                print(f"{kind}: only {len(places)} times {idiom}, {most} are stored: run {os.path.basename(sys.argv[0])} ... write")
        out.append(" ".join(f"{count:4d}" for count in counts) + "  " + idiom)
    if write:
        with open(listed, "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")
    return bad


if __name__ == "__main__":
    sys.exit(main())
