#!/bin/bash
# Runs a command that starts an example under Tutti: its result must be right, and come from Tutti (TUTTI_STATS=1 says).
set -u
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
said=$("$@" 2>"$errors")
status=$?
printf '%s\n' "$said"
cat "$errors" >&2
[ $status -eq 0 ] || exit $status
[[ $said == *": right" ]] || { echo "the example does not say that its sum is right" >&2; exit 1; }
grep -qE '^tutti: MPIX?_Allreduce(_enqueue)? +accelerated +[1-9]' "$errors" || { echo "no MPI_Allreduce was accelerated" >&2; exit 1; }
