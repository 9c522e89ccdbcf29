#!/usr/bin/env bash
# The pre-commit hook: checks each of the given files. Arguments that begin with `-` are options of `racetrap check`; with none,
# all kernels are checked.
set -uo pipefail
options=() files=()
for argument in "$@"; do
    case $argument in
    -*) options+=("$argument") ;;
    *) files+=("$argument") ;;
    esac
done
((${#options[@]})) || options=(--all)
worst=0
for file in "${files[@]}"; do
    racetrap check "./$file" "${options[@]}" || worst=1
done
exit "$worst"
