#!/usr/bin/env bash
# Builds and runs the programs of tests/programs with a library in which AddressSanitizer watches what Rust's code does to memory: its own, and
# that of the program, which every allocation of the process is told to. Each error is printed with its stack.
#
#   ci/asan.sh [PROGRAM.cu…]     all of tests/programs, where none is named
#
# No part of ci/test.sh: the library is built once more, in some minutes. Needs a CUDA compiler, and gcc's libasan (Debian: libasan8), whose
# interface is that of rustc's instrumentation. rustc's own stays off: stable compilers take the option with RUSTC_BOOTSTRAP alone.
#
# Not seen: what the standard library does without calling back (it is not instrumented, but it allocates by the same allocator); device memory, which
# lies in one mapping, and has its own checks; leaks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'asan: %s\n' "$*" >&2
    exit 2
}

target=${ASAN_TARGET:-$PWD/target/asan}
host=$(rustc -vV | sed -n 's/^host: //p')
racetrap=$PWD/target/debug/racetrap
runtime=$(readlink -f "$(gcc -print-file-name=libasan.so)")
[[ -f $runtime ]] || fail 'gcc has no libasan'

if [[ -z ${ASAN_NO_BUILD:-} ]]; then
    cargo build --locked
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo build --locked -p racetrap-cuda --target "$host" --target-dir "$target"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# racetrap takes the library that lies beside it. Programs are linked with the plain one: what the other one calls is in libasan.
cp "$racetrap" "$work/racetrap"
cp "$target/$host/debug/libracetrap_cuda.so" "$work/"

# The library handles SIGSEGV and SIGTRAP itself (`context::host_access`). What copies memory goes on after a report.
options=detect_leaks=0:handle_segv=0:handle_sigtrap=0:allow_user_segv_handler=1:detect_stack_use_after_return=1
options+=:halt_on_error=0:exitcode=99:log_path=$work/asan

# The reports in a file, but for those of registered memory whose pages are copied as they are, with what lies beside it.
reports() {
    awk '
        function flush() {
            if (report ~ /ERROR: AddressSanitizer/ && !meant) printf "%s", report
            report = ""; meant = 0
        }
        /^=+$/ { flush() }
        / in (adopt|disown) .*crates\/context\/src\/arena\.rs:/ { meant = 1 }
        { report = report $0 "\n" }
        END { flush() }' "$1"
}

# Words behind `//~ WORD` in a source.
directives() {
    sed -n "s#^//~ $2 \\?##p" "$1"
}

sources=("$@")
[[ $# -gt 0 ]] || sources=(tests/programs/*.cu tests/programs/rdc/main.cu tests/programs/releases/{groups,nodes}.cu)
runs=0 errors=0
for source in "${sources[@]}"; do
    read -ra flags <<<"$(directives "$source" nvcc | tr '\n' ' ')"
    mapfile -t with < <(directives "$source" with | sed 's#^#tests/programs/#')
    if ! "$racetrap" build -- nvcc "${flags[@]}" -o "$work/program" "$source" "${with[@]}" >"$work/said" 2>&1; then
        cat "$work/said" >&2
        fail "$source can't be built"
    fi
    while read -r how arguments; do
        device=()
        read -ra arguments <<<"${arguments%%:*}"
        if [[ $how == on ]]; then
            device=(--device "${arguments[0]}")
            arguments=("${arguments[@]:1}")
        fi
        runs=$((runs + 1)) status=0
        # `env` puts libasan in front of everything, and leaves racetrap alone.
        (cd tests/programs/releases && timeout "${ASAN_SECONDS:-120}" "$work/racetrap" exec --quiet "${device[@]}" -- \
            env "LD_PRELOAD=$runtime" "ASAN_OPTIONS=$options" "$work/program" "${arguments[@]}") >"$work/said" 2>&1 </dev/null || status=$?
        [[ -z ${ASAN_VERBOSE:-} ]] || printf '%s %s: %s\n' "$source" "${arguments[*]}" "$status"
        for log in "$work"/asan.*; do
            [[ -f $log ]] || continue
            told=$(reports "$log")
            rm "$log"
            [[ -n $told ]] || continue
            errors=$((errors + 1))
            printf '%s %s: status %s\n%s\n' "$source" "${arguments[*]}" "$status" "$told"
        done
        # 124: not in time; from 128 on: a signal. 99 alone is libasan's.
        if [[ $status -eq 124 || $status -ge 128 ]]; then
            errors=$((errors + 1))
            printf '%s %s: status %s\n' "$source" "${arguments[*]}" "$status"
            tail -n 20 "$work/said"
        fi
    done < <(grep -E '^//~ (run|on)\b' "$source" | sed -E 's#^//~ (run|on) ?#\1 #; s#^(run) *:#\1 :#')
done
echo "$runs runs, $errors with errors"
[[ $errors -eq 0 ]]
