#!/usr/bin/env python3
"""Plain words in the headers of the address space are no macros of the program: a program may have defined DOUBLE, value or max
before it includes tutti/shmem.h, which sets such macros aside (tutti/words_push.h) and puts them back (tutti/words_pop.h).
usage: words.py INCLUDE-FOLDER [write | COMPILER FLAG...]
Compares the two lists with the words of tutti/shmem.h and of what it includes; `write` makes the lists. A word is a name without
one of the prefixes of Tutti, which is no keyword and no name of the C library. With a COMPILER: a program that has every word as a
macro compiles with tutti/shmem.h, and with <shmem.h>, whose names are declared without any word and need no list. Prints every
breach; status 1 if there is one."""
import os
import re
import subprocess
import sys
import tempfile

BEGIN = "tutti/shmem.h"
KNOWN = set("""auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while template class decltype
    define defined undef include ifdef ifndef elif endif error pragma push_macro pop_macro size_t ptrdiff_t uintptr_t int8_t int16_t
    int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL SIZE_MAX stddef stdint dlfcn cuda_fp16 cuda_bf16 h dlsym float2 double2
    num_contexts total_ops""".split())
OPERATORS = ("and", "or", "xor")  # of C++, where they are no macros
PREFIX = re.compile(r"(TSHMEM|tshmem|TUTTI|tutti|MPI)(_|$)|_")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')


def headers(include, name, seen):
    """The header, and what it includes of Tutti's."""
    with open(os.path.join(include, name), encoding="utf-8") as text:
        seen[name] = COMMENT.sub(" ", text.read())
    for other in re.findall(r'#\s*include\s+"([^"]+)"', seen[name]):
        if other not in seen and not other.startswith("tutti/words_"):
            headers(include, other, seen)
    return seen


def words_of(text):
    names = re.findall(r"(?<![\w.])[A-Za-z_]\w*", TEXT.sub(" ", text))
    return {name for name in names if name not in KNOWN and not PREFIX.match(name)}


def pragmas(kind, words):
    """A few in a line."""
    lines, line = [], ""
    for word in words:
        one = f'_Pragma("{kind}_macro(\\"{word}\\")")'
        if len(line) + len(one) >= 120:
            lines.append(line)
            line = ""
        line += (" " if line else "") + one
    return "\n".join(lines + [line]) + "\n"


def undef(word):
    return f"#ifndef __cplusplus\n#undef {word}\n#endif\n" if word in OPERATORS else f"#undef {word}\n"


def lists(words):
    head = "/* Plain words of the headers of the address space, which may be macros of the program: see words_p%s.h.\n" \
           " * Made by tests/laws/words.py: do not change it by hand. */\n/* clang-format off */\n"
    return {"push": head % "op" + pragmas("push", words) + "".join(undef(word) for word in words),
            "pop": head % "ush" + pragmas("pop", words)}


PROGRAM = """
static long x_[4];
int main(void)
{
    shmem_put(x_, x_, 1, 0);
    shmem_ctx_long_put_nbi(SHMEM_CTX_DEFAULT, x_, x_, 1, 0);
    shmem_put(SHMEM_CTX_DEFAULT, x_, x_, 1, 0);
    shmem_wait_until(x_, SHMEM_CMP_EQ, 0);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, x_, x_, 1);
    shmem_sync(SHMEM_TEAM_WORLD);
    shmem_sync(0, 0, 1, x_);
    return (int)shmem_atomic_fetch_add(x_, 1, 0) + tshmem_my_pe();
}
"""


def compiled(include, words, compiler, flags):
    """The words are macros that fit nowhere, from before the headers until the end."""
    cxx = "c++" in flags
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write("".join(f"#include <{name}>\n" for name in ("stddef.h", "stdint.h", "stdlib.h", "string.h")))
        source.write("".join(f"#define {word} 3 +\n" for word in words if not cxx or word not in OPERATORS))
        source.write("#include <tutti/shmem.h>\n#include <pshmem.h>\n#include <shmem.h>\n" + PROGRAM)
        source.flush()
        folders = ["-I", os.path.join(include, "tutti", "openshmem"), "-I", include]
        done = subprocess.run([compiler, *flags, *folders, "-fsyntax-only", source.name], capture_output=True, text=True)
    print("\n".join(done.stderr.splitlines()[:40]))
    return done.returncode != 0


def main():
    include, write, compiler = sys.argv[1], sys.argv[2:] == ["write"], sys.argv[2:]
    seen = headers(include, BEGIN, {})
    words = sorted(set().union(*(words_of(text) for text in seen.values())))
    if compiler and not write:
        return compiled(include, words, compiler[0], compiler[1:])
    bad = 0
    for kind, text in lists(words).items():
        path = os.path.join(include, "tutti", f"words_{kind}.h")
        if write:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            continue
        with open(path, encoding="utf-8") as given:
            has = given.read()
        if has == text:
            continue
        bad = 1
        listed = set(re.findall(r'_macro\(\\"(\w+)\\"\)', has))
        for word in sorted(set(words) ^ listed):
            where = ", ".join(name for name, content in seen.items() if word in words_of(content))
            print(f"{word} is {'a word of ' + where if where else 'no word of the headers'}, tutti/words_{kind}.h says otherwise")
        print(f"tutti/words_{kind}.h is stale: run tests/laws/words.py {include} write")
    return bad


if __name__ == "__main__":
    sys.exit(main())
