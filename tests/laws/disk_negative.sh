#!/bin/bash
# disk.py must see each kind of breach, over several lines too, and let pass what names nothing. usage: disk_negative.sh PYTHON3
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{src/team,include}
failed=0
look() { said=$("$python" -B -S "$here/disk.py" "$tree" "$tree/allowed" 2>&1); }
breach() { # text, line, call
    printf '%b\n' "$1" >"$tree/src/team/b.c"
    if look || [[ $said != *"src/team/b.c:$2: $3 "* ]]; then
        printf 'not seen: %s\nsaid: %s\n' "$1" "$said"
        failed=1
    fi
}
clean() {
    printf '%b\n' "$1" >"$tree/src/team/b.c"
    look || { printf 'a breach is seen where there is none: %s\n' "$said"; failed=1; }
}

: >"$tree/allowed"
breach 'int fd = open(path, O_CREAT | O_RDWR, 0600);' 1 open
breach 'int fd = open(path(a,\n    b),\n    O_RDWR |\n    O_CREAT, 0600);' 1 open
breach 'int fd = open(path, O_RDWR | O_TMPFILE, 0600);' 1 open
breach 'int fd = open(path, flags, 0600);' 1 open
breach '/* one\n   two */\nint fd = openat(folder,\n"x", O_WRONLY | O_CREAT);' 3 openat
for mode in w a r+ we ab; do
    breach "FILE *f = fopen(path,\n  \"$mode\");" 1 fopen
    breach "FILE *f = fdopen(fd, \"$mode\");" 1 fdopen
done
breach 'FILE *f = fopen(path, mode);' 1 fopen
for call in mkdir mkstemp shm_open mkfifo creat shmget sem_open tmpfile mq_open symlink mkdtemp bind; do
    breach "\\nint f(void)\\n{\\n    return $call\\n    (\"x\", 0600);\\n}" 4 "$call"
done
breach 'syscall(SYS_mkdir, "x", 0700);' 1 syscall
breach 'const char *place = "/dev/shm/x";' 1 /dev/shm
breach 'const char *place = "/tmp/x";' 1 /tmp

clean '/* open(path, O_CREAT) */ // mkdir("x")\nint fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);'
clean 'FILE *f = fopen("/proc/a", "re"); device->open(why, size); table.open(w, a); syscall(SYS_gettid); host_open(O_CREAT);'
clean 'int fd = memfd_create("mkdir", MFD_CLOEXEC); const char *s = "a // b"; dlopen(name, RTLD_LAZY);'

echo 'src/team/b.c mkdir the user asked for it' >"$tree/allowed"
clean 'mkdir("x", 0700);'
breach 'mkdir("x", 0700);\nmkfifo("x", 0700);' 2 mkfifo
printf 'int f(void);\n' >"$tree/src/team/b.c"
if look || [[ $said != *'allows nothing any more'* ]]; then
    echo "a line that allows nothing is not seen: $said"
    failed=1
fi
echo 'src/team/b.c mkdir' >"$tree/allowed"
if look || [[ $said != *'a reason is missing'* ]]; then
    echo "a missing reason is not seen: $said"
    failed=1
fi
exit $failed
