#!/usr/bin/env python3
"""Relative links of the documents lead to files and headings that exist, and docs/results holds only what documents cite.
usage: links.py SOURCE-FOLDER
Looks at all *.md files. A heading's anchor is formed as GitHub forms it. A file of docs/results is cited by a link to it or to its folder;
machine.txt and README.md describe a folder and need no link; a README.md there lists files that exist. Prints every breach; status 1 if
there is one."""
import os
import re
import sys

LINK = re.compile(r"\[[^][]*\]\(([^()\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
SKIPPED = {"build", ".git", "node_modules"}


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("build"))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def anchors(path):
    found, seen = set(), {}
    for heading in re.findall(r"^#+ +(.*?)\s*$", read(path), re.M):
        anchor = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        again = seen.get(anchor, 0)
        seen[anchor] = again + 1
        found.add(f"{anchor}-{again}" if again else anchor)
    return found


def main():
    root = os.path.realpath(sys.argv[1])
    breaches, cited = [], set()
    for path in documents(root):
        place = os.path.relpath(path, root)
        text = read(path)
        for match in LINK.finditer(CODE.sub(lambda code: " " * len(code.group(0)), text)):
            link = match.group(1)
            if re.match(r"[a-z]+:", link):
                continue
            line = text.count("\n", 0, match.start()) + 1
            name, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(target):
                breaches.append(f"{place}:{line}: {link}: there is no such file")
                continue
            cited.add(target)
            if anchor and target.endswith(".md") and anchor not in anchors(target):
                breaches.append(f"{place}:{line}: {link}: there is no such heading")
    results = os.path.join(root, "docs", "results")
    for folder, _, files in os.walk(results):
        for name in sorted(files):
            if name not in ("machine.txt", "README.md") and not {os.path.join(folder, name), folder} & cited:
                breaches.append(f"{os.path.relpath(os.path.join(folder, name), root)}: no document cites it")
        text = read(os.path.join(folder, "README.md")) if folder != results and "README.md" in files else ""
        for item in re.findall(r"^- (.*?):", text, re.M):
            for name in re.findall(r"(?<![\w/.-])[\w-]+\.(?:txt|json|cu|c)\b", item):
                if name not in files:
                    breaches.append(f"{os.path.relpath(folder, root)}/README.md: {name}: there is no such file")
        if folder != results and "machine.txt" not in files:
            breaches.append(f"{os.path.relpath(folder, root)}: has no machine.txt")
    print("\n".join(breaches))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
