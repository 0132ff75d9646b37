#!/usr/bin/env python3
"""Nothing named on disk, in /dev/shm or among the sockets: no call in the sources makes a file, folder, pipe or object that
has a name. usage: disk.py SOURCE-FOLDER ALLOWED
ALLOWED lists what may be, one a line: "file call reason" (see disk.allowed). Prints every breach; status 1 if there is one,
or where a line of ALLOWED allows nothing."""
import os
import re
import sys

MAKERS = ("creat creat64 mkdir mkdirat mkdtemp mkstemp mkstemps mkstemp64 mkostemp mkostemps mktemp tmpfile tmpfile64 tmpnam "
          "tempnam mkfifo mkfifoat mknod mknodat symlink symlinkat link linkat rename renameat renameat2 shm_open shmget "
          "sem_open mq_open msgget semget bind").split()
OPENERS = "open open64 openat openat64 openat2 __open __openat".split()
STREAMS = "fopen fopen64 fdopen freopen freopen64".split()
SYSTEM = "syscall".split()
MAKING = re.compile(r"\b(?:SYS_|__NR_)(?:open|openat|openat2|creat|mkdir|mkdirat|mknod|mknodat|symlink|symlinkat|link|linkat"
                    r"|rename|renameat|renameat2|shmget|mq_open|bind)\b")
CALL = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(MAKERS + OPENERS + STREAMS + SYSTEM) + r")\s*\(")
PLACE = re.compile(r'"/(?:dev/shm|tmp|var/tmp|run|var/run)\b')


def without_comments(text):
    """Comments as blanks of as many lines; strings stay."""
    def blank(found):
        return found[0] if found[0][0] in "\"'" else re.sub(r"[^\n]", " ", found[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def arguments(text, at):
    """Of the call whose parenthesis opens before `at`."""
    found, depth, begin, quote = [], 1, at, ""
    while at < len(text):
        c = text[at]
        if quote:
            if c == "\\":
                at += 1
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif c == "," and depth == 1:
            found.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    return found + [text[begin:at].strip()]


def breach_of(call, given):
    """What is wrong with it, or None."""
    if call in MAKERS:
        return "makes something that has a name"
    if call in SYSTEM:
        return "makes something that has a name" if MAKING.search(given[0]) else None
    if call in OPENERS:
        flags = " ".join(given[2 if "at" in call else 1:])
        if re.search(r"\bO_(CREAT|TMPFILE)\b", flags):
            return "makes a file"
        return None if re.search(r"\bO_[A-Z]+\b", flags) else "has flags that cannot be seen here"
    mode = given[1] if len(given) > 1 else ""
    if not re.fullmatch(r'"[^"]*"', mode):
        return "has a mode that cannot be seen here"
    return "opens for writing" if re.search(r"[wa+]", mode) else None


def breaches(path):
    """(line, call or place, what is wrong)"""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = without_comments(file.read())
    for found in CALL.finditer(text):
        what = breach_of(found[1], arguments(text, found.end()))
        if what:
            yield text.count("\n", 0, found.start()) + 1, found[1], what
    for found in PLACE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[0].strip('"'), "is a place where names are left"


def main():
    root, allowed, bad = sys.argv[1], {}, 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split(None, 2)
            if words:
                if len(words) < 3:
                    sys.exit(f"{sys.argv[2]}: a reason is missing: {line.strip()}")
                allowed[words[0], words[1]] = 0
    for top in "src", "include":
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if not name.endswith((".c", ".h", ".inc", ".def", ".cu")):
                    continue
                short = os.path.relpath(path, root)
                for line, call, what in breaches(path):
                    if (short, call) in allowed:
                        allowed[short, call] += 1
                    else:
                        print(f"{short}:{line}: {call} {what}: nothing may be named on disk")
                        bad += 1
    for (short, call), times in allowed.items():
        if not times:
            print(f"{os.path.basename(sys.argv[2])}: {short} {call} allows nothing any more: the line can go")
            bad += 1
    if not bad:
        print("nothing is named but what may be")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
