#!/bin/bash
# Installs what a job needs and this machine lacks: setup.sh demo|check|lint. Does nothing where all is there.
set -u
job=${1:?which job: demo, check or lint}
here=$(cd "$(dirname "$0")" && pwd)
case $job in
demo) jobs="demo" ;;
check) jobs="demo check" ;;
lint) jobs="demo check lint" ;;
*)
    echo "setup: no job is called '$job'; there are demo, check and lint" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    for tool in cc cmake mpicc; do
        if ! command -v $tool >/dev/null; then
            echo "setup: $tool is missing, and only Debian's and Ubuntu's package manager is known here." >&2
            echo "setup: install the counterparts of scripts/packages.txt by hand." >&2
            exit 1
        fi
    done
    exit 0
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' 2>/dev/null | awk '$2 == "ii" { print $1 }')
required=() optional=()
while read -r who need package _; do
    case $who in '' | '#'*) continue ;; esac
    if [[ " $jobs " == *" $who "* ]] && ! grep -qxF "$package" <<<"$installed"; then
        if [ "$need" = required ]; then required+=("$package"); else optional+=("$package"); fi
    fi
done <"$here/packages.txt"
[ ${#required[@]} -eq 0 ] && [ ${#optional[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    command="apt-get update && apt-get install -y --no-install-recommends ${required[*]} ${optional[*]}"
    if [ ${#required[@]} -eq 0 ]; then
        echo "setup: going on without ${optional[*]}; to have all, run as root: $command"
        exit 0
    fi
    # A machine without these packages may still have the tools from elsewhere.
    missing=()
    for tool in cc cmake; do command -v $tool >/dev/null || missing+=("$tool"); done
    command -v mpicc >/dev/null || command -v mpicc.openmpi >/dev/null || missing+=(mpicc)
    if [ ${#missing[@]} -eq 0 ]; then
        echo "setup: packages are missing, trying with the tools that are here; to have all, run as root: $command"
        exit 0
    fi
    echo "setup: ${missing[*]} missing. Run as root: $command" >&2
    exit 1
fi

# One apt-get run for all where it succeeds; the optional ones by themselves, so that one that cannot be had stops nothing.
get() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 -qq "$@" >"$log" 2>&1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: installing ${required[*]} ${optional[*]}"
apt-get update -qq >"$log" 2>&1 || { echo "setup: apt-get update failed:" >&2; tail -n 5 "$log" >&2; }
if [ ${#required[@]} -gt 0 ] && ! get "${required[@]}"; then
    echo "setup: apt-get install failed:" >&2
    tail -n 15 "$log" >&2
    exit 1
fi
for package in "${optional[@]}"; do
    get "$package" || echo "setup: $package cannot be had here; going on without it"
done
exit 0
