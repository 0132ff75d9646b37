#!/usr/bin/env python3
"""Every name of OpenSHMEM is there: <shmem.h> declares each function of the standard with the standard's types, the generic names
take each type, <pshmem.h> declares the same functions as pshmem_NAME, and the library exports both, the first ones weak.
usage: standard.py LIST LIBRARY COMPILER FLAG...
COMPILER is one of C or of C++ (told by its FLAG -x c or -x c++); FLAGs name the headers' folders. LIST: see its head. LIBRARY may be
-, then it is not looked at. Prints what is missing; status 1 if anything is, 77 without nm."""
import re
import shutil
import subprocess
import sys
import tempfile

INTEGERS = [("int", "int"), ("long", "long"), ("longlong", "long long"), ("uint", "unsigned int"), ("ulong", "unsigned long"),
            ("ulonglong", "unsigned long long"), ("int32", "int32_t"), ("int64", "int64_t"), ("uint32", "uint32_t"),
            ("uint64", "uint64_t"), ("size", "size_t"), ("ptrdiff", "ptrdiff_t")]
SMALL = [("uchar", "unsigned char"), ("ushort", "unsigned short"), ("int8", "int8_t"), ("int16", "int16_t"),
         ("uint8", "uint8_t"), ("uint16", "uint16_t")]
REAL = [("float", "float"), ("double", "double"), ("longdouble", "long double")]
SHORT = [("short", "short")]
SETS = {
    "RMA": INTEGERS + SMALL + REAL + SHORT + [("char", "char"), ("schar", "signed char")],
    "AMO": INTEGERS,
    "BITWISE": [row for row in INTEGERS if row[0].startswith("u") or row[0] in ("int32", "int64")],
    "BITS": SMALL + [row for row in INTEGERS if row[0].startswith("u") or row[0] in ("int32", "int64", "size")],
    "OLD": INTEGERS[:3],
    "FLOATING": REAL[:2],
    "REAL": REAL,
    "SHORT": SHORT,
    "SHORTS": SHORT + [("ushort", "unsigned short")],
    "COMPLEX": [("complexf", "float _Complex"), ("complexd", "double _Complex")],
    "SIZES": [(bits, None) for bits in ("8", "16", "32", "64", "128")],
    "-": [(None, None)],
}
SYNCS = ["BARRIER_", "BCAST_", "COLLECT_", "REDUCE_", "ALLTOALL_", "ALLTOALLS_", ""]
# Usable in #if, and what they are at least.
NUMBERS = {"MAJOR_VERSION": "== 1", "MINOR_VERSION": ">= 5", "MAX_NAME_LEN": ">= 32", "SYNC_VALUE": "<= 0",
           "REDUCE_MIN_WRKDATA_SIZE": ">= 1", **{name + "SYNC_SIZE": ">= 1" for name in SYNCS}}
OTHERS = ("THREAD_SINGLE THREAD_FUNNELED THREAD_SERIALIZED THREAD_MULTIPLE MALLOC_ATOMICS_REMOTE MALLOC_SIGNAL_REMOTE SIGNAL_SET "
          "SIGNAL_ADD CMP_EQ CMP_NE CMP_GT CMP_GE CMP_LT CMP_LE TEAM_NUM_CONTEXTS "
          "CTX_SERIALIZED CTX_PRIVATE CTX_NOSTORE CTX_SESSION_BATCH CTX_SESSION_TOTAL_OPS").split()


def expanded(path):
    """Kind, result, name and arguments of every prototype."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            _, kind, sets, prototype = [word.strip() for word in line.split("|")]
            result, name, arguments = re.fullmatch(r"(.*?)(\w+)\((.*)\)", prototype).groups()
            for word, type_ in (row for one in sets.split("+") for row in SETS[one]):
                if type_ is None:
                    yield kind, result, re.sub(r"S(?=_|$)", word or "S", name), arguments
                else:
                    def with_type(text, type_=type_):
                        return re.sub(r"\bT\b", type_, text)
                    yield kind, with_type(result), re.sub(r"_T_", f"_{word}_", name), with_type(arguments)


def program(rows, cxx):
    lines = ["#include <pshmem.h>", "#include <shmem.h>", "#include <shmemx.h>"]
    for name, holds in NUMBERS.items():
        lines += [f"#if !(SHMEM_{name} {holds})", f"#error SHMEM_{name}", "#endif",
                  f"#if !(_SHMEM_{name} {holds})", f"#error _SHMEM_{name}", "#endif"]
    for name in OTHERS:
        lines += [f"#if defined SHMEM_{name} && SHMEM_{name} < 1000", "#else", f"#error SHMEM_{name}", "#endif"]
    lines += ["static const char *vendor = SHMEM_VENDOR_STRING _SHMEM_VENDOR_STRING;",
              "static const shmem_ctx_t contexts[2] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};",
              "static const shmem_team_t teams[3] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};",
              "typedef char team_is_as_wide_as_a_pointer[sizeof(shmem_team_t) == sizeof(void *) ? 1 : -1];",
              "static const shmem_team_config_t config = {1};", "static const shmem_ctx_session_config_t session = {SIZE_MAX};"]
    for number, (kind, result, name, arguments) in enumerate(rows):
        if kind == "function" and name != "shmem_sync4":
            for declared in (name, "p" + name):  # it is there, and has these types
                lines.append(f"{result} (*{declared[0]}{number})({arguments}) = {declared};")
    for number, (kind, result, name, arguments) in enumerate(rows):
        if kind == "generic" or name == "shmem_sync4":
            types = [one.strip() for one in arguments.split(",")]
            given = ", ".join(f"{one} a{at}" for at, one in enumerate(types))
            call = f"{name.rstrip('4')}({', '.join(f'a{at}' for at in range(len(types)))})"
            lines += [f"{result} use_{number}({given});", f"{result} use_{number}({given})",
                      f"{{ {'' if result.strip() == 'void' else 'return '}{call}; }}"]
    lines += ["int main(void)", "{", "return !vendor || !contexts[0] || teams[0] == teams[2] || !config.num_contexts || !session.total_ops;", "}"]
    text = "\n".join(lines) + "\n"
    if cxx:  # has no such words in the strict standard
        text = re.sub(r"(float|double) _Complex", lambda found: f"tshmem_complex{found[1][0]}_t", text)
    return text


def exported(library, rows):
    nm = shutil.which("nm")
    if not nm:
        print("skipped: there is no nm")
        sys.exit(77)
    told = subprocess.run([nm, "-D", "--defined-only", "-P", library], capture_output=True, text=True, check=True).stdout
    has = {line.split()[0]: line.split()[1] for line in told.splitlines()}
    bad = 0
    for name in sorted({row[2] for row in rows if row[0] == "function" and row[2] != "shmem_sync4"} |
                       {name for name in has if re.match(r"shmem_", name)}):
        if has.get(name) != "W" or has.get("p" + name) != "T":
            print(f"{library}: {name} is {has.get(name, 'missing')}, p{name} is {has.get('p' + name, 'missing')}; W and T are right")
            bad = 1
    print(f"{sum(name.startswith('shmem_') for name in has)} functions begin with shmem_")
    return bad


def main():
    listed, library, compiler = sys.argv[1:4]
    flags = sys.argv[4:]
    rows = list(dict.fromkeys(expanded(listed)))
    bad = exported(library, rows) if library != "-" else 0
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(program(rows, "c++" in flags))
        source.flush()
        done = subprocess.run([compiler, *flags, "-fsyntax-only", source.name], capture_output=True, text=True)
        print("\n".join((done.stdout + done.stderr).splitlines()[:40]))
    print(f"{len(rows)} prototypes of the standard: {compiler} {' '.join(flags)}")
    return bad or done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
