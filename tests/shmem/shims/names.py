#!/usr/bin/env python3
"""Every name of another library is in the header that stands in its place, or is left out with a reason.
usage: names.py LIST "LEFT-OUT ..." "HEADER ..." COMPILER FLAG...
LIST: one name a line. "= SET word ..." makes a set, "{SET}" stands for each of its words, "{a|b}" for a and for b. LEFT-OUT: lines of
"pattern reason", * for any letters, ? before those that may be there. COMPILER is one of C++ or nvcc, which compiles a file that mentions all names. Prints the names
that are missing, those that are left out and there all the same, and lines of LEFT-OUT without a name; status 1 if there are any."""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile


def expand(line, sets):
    match = re.search(r"\{([^}]*)\}", line)
    if not match:
        return [line]
    words = match.group(1).split("|") if "|" in match.group(1) else sets[match.group(1)]
    return [name for word in words for name in expand(line[: match.start()] + word + line[match.end() :], sets)]


def names_of(path):
    sets, names = {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line.startswith("="):
                words = line.split()
                sets[words[1]] = words[2:]
            elif line:
                names += expand(line, sets)
    return names


def compile_all(lines, headers, command):
    """What the compiler says of a file with these lines behind the headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "names.cu" if "nvcc" in command[0] else "names.cc")
        with open(path, "w", encoding="utf-8") as out:
            for header in headers:
                out.write(f"#include <{header}>\n")
            out.write("".join(lines))
        return subprocess.run(command + [path, "-o", os.path.join(folder, "out")], capture_output=True, text=True, check=False)


def main():
    names, headers, command = names_of(sys.argv[1]), sys.argv[3].split(), sys.argv[4:]
    patterns = []
    for path in sys.argv[2].split():
        with open(path, encoding="utf-8") as lines:
            patterns += [line.split(None, 1)[0] for line in lines if line.split("#")[0].strip()]
    matches = {pattern: set(fnmatch.filter(names, pattern.lstrip("?"))) for pattern in patterns}
    bad = [f"{pattern} leaves nothing out" for pattern in patterns if not matches[pattern]]
    maybe = set().union(*(matches[pattern] for pattern in patterns if pattern.startswith("?")))
    out = set().union(*matches.values()) - maybe
    wanted = [name for name in names if name not in out and name not in maybe]
    for which, form, what in (wanted, "namespace names {{ using ::{}; }}\n", "is missing"), (sorted(out), "extern int {};\n", "is there, and left out"):
        told = compile_all([form.format(name) for name in which], headers, command)
        text = told.stderr + told.stdout
        if told.returncode != 0:
            bad += [f"{name} {what}" for name in which if re.search(rf"\b{name}\b", text)] or [text]
    print("\n".join(bad + [f"{len(wanted)} names, {len(out)} left out"]))
    return 1 if bad else 0


sys.exit(main())
