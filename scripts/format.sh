#!/bin/bash
# Formats the C sources in place; with --check says what is not formatted and fails.
set -u
cd "$(dirname "$0")/.." || exit
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run -Werror)
find src tools bench tests examples include scripts -name '*.[ch]' -print0 2>/dev/null | xargs -0 -r -n 8 -P "$(nproc)" clang-format "${mode[@]}"
