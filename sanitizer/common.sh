# shellcheck shell=bash
# Shared code of the wrappers in this folder. cargo-nextest runs `sanitizer/TOOL TEST_BINARY ARGUMENTS…`; the test
# runs one case on the GPU, under compute-sanitizer, and `racetrap dev judge` compares what the tool wrote with what the case expects.
#
# The wrapper passes only if the judge passes. The test fails if the tool is missing, crashes, hangs, cannot use the GPU, or
# never starts the test, and if no case is named, or more than one. Only a list of tests (`--list`) goes past the tool; so does a
# test of a machine without a GPU, where the simulator judges.
#
# Environment, all optional:
#   RACETRAP_REQUIRE_GPU=1       without a GPU, fail instead of letting the simulator judge
#   RACETRAP_TIME_LIMIT=SECONDS  time limit for one case (default 60)
#   RACETRAP_RECORDINGS=FOLDER   keep the tool's output, for `racetrap dev evidence merge`
#   RACETRAP_CATALOG=FOLDER      the catalogue that has the case, if it is not racetrap's own
#   RACETRAP_PROGRAM=FILE        the racetrap that judges, if it is not beside the test binary or in PATH
# The wrapper sets RACETRAP_TOOL (the tool's name) and RACETRAP_RECEIPT (the receipt's path) for the test binary.

set -uo pipefail

# The temporary folder of a run, removed when the wrapper ends.
work=''

# The exit status that compute-sanitizer returns if it found something. Its default is 0.
readonly found_something=86

# Whether the test binary is only asked which tests it has. nextest does so before it runs any.
is_listing() { # ARGUMENTS…
    local argument
    for argument in "$@"; do
        [[ $argument == --list ]] && return 0
    done
    return 1
}

# The case that a test binary was asked to run, if it is exactly one. nextest passes the test's name, `--exact` and `--nocapture`.
case_of() { # ARGUMENTS…
    local argument name='' exact=''
    for argument in "$@"; do
        case $argument in
        --exact) exact=1 ;;
        --nocapture | --no-capture) ;;
        -*) return 1 ;;
        *)
            [[ -z $name ]] || return 1
            name=$argument
            ;;
        esac
    done
    [[ -n $name && -n $exact ]] && printf '%s\n' "$name"
}

# Whether a program is a test binary with that test: without a tool, nothing else may pass.
has_test() { # TEST_BINARY NAME
    "$1" --list --format terse --exact "$2" 2>/dev/null </dev/null | grep -qxF -- "$2: test"
}

has_gpu() {
    [[ -e /dev/nvidiactl || -e /dev/dxg ]]
}

find_sanitizer() {
    local folder
    if command -v compute-sanitizer; then
        return
    fi
    for folder in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
        if [[ -n $folder && -x $folder/bin/compute-sanitizer ]]; then
            printf '%s\n' "$folder/bin/compute-sanitizer"
            return
        fi
    done
    return 1
}

# The racetrap that was built with the test binary: TARGET/PROFILE/racetrap for TARGET/PROFILE/deps/TEST_BINARY.
find_racetrap() { # TEST_BINARY
    local candidate
    for candidate in "${RACETRAP_PROGRAM:-}" "${NEXTEST_BIN_EXE_racetrap:-}" "$(dirname "$1")/../racetrap" "$(dirname "$1")/racetrap"; do
        if [[ -n $candidate && -x $candidate ]]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    command -v racetrap
}

# Runs a test binary under a tool and lets the judge decide.
run_under() { # TOOL OPTIONS-OF-THE-TOOL… -- TEST_BINARY ARGUMENTS…
    local tool=$1 case_id sanitizer='' racetrap status verdict child began
    local -a options=() judge=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift

    if (($# == 0)); then
        printf 'error: there is nothing to run: sanitizer/%s TEST_BINARY CASE --exact\n' "$tool" >&2
        return 3
    fi
    if is_listing "${@:2}"; then
        exec "$@"
    fi
    if ! case_id=$(case_of "${@:2}"); then
        printf 'error: the arguments name no case, or more than one: sanitizer/%s TEST_BINARY CASE --exact\n' "$tool" >&2
        return 3
    fi
    if [[ $tool == races ]]; then
        sanitizer=$(find_racetrap "$1") || sanitizer=''
    else
        sanitizer=$(find_sanitizer) || sanitizer=''
    fi
    if [[ ${RACETRAP_REQUIRE_GPU:-} != 1 ]] && ! has_gpu; then
        if ! has_test "$1" "$case_id"; then
            printf 'error: there is no GPU, and %s has no test `%s` that the simulator could judge\n' "$1" "$case_id" >&2
            return 3
        fi
        exec env -u RACETRAP_TOOL "$@"
    fi
    if ! racetrap=$(find_racetrap "$1"); then
        printf 'error: racetrap was not found, neither beside %s nor in PATH\n' "$1" >&2
        return 3
    fi
    if [[ -z $sanitizer ]] && ! has_gpu; then
        printf 'error: RACETRAP_REQUIRE_GPU=1, but this machine has neither an NVIDIA GPU (no /dev/nvidiactl) nor compute-sanitizer\n' >&2
        return 3
    fi

    work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-$tool.XXXXXX") || return 3
    trap 'rm -rf "$work"' EXIT
    local limit=${RACETRAP_TIME_LIMIT:-60}
    status=127
    # Several wrappers may run at the same time, and each uses a port for each process that it follows: hence the connections.
    : >"$work/test.txt"
    began=$SECONDS
    if [[ -n $sanitizer ]]; then
        if [[ $tool == races ]]; then
            options=(exec --on gpu "${options[@]}" --format json --report "$work/records.xml" --exit-code "$found_something" --)
        else
            options=(--tool "$tool" "${options[@]}"
                --target-processes all --max-connections 64 --error-exitcode "$found_something"
                --print-limit 2000 --strip-paths no --show-backtrace device
                --xml --save "$work/records.xml" --log-file "$work/log.txt")
        fi
        RACETRAP_TOOL=$tool RACETRAP_RECEIPT=$work/receipt.json \
            timeout --kill-after=10 "$limit" \
            "$sanitizer" "${options[@]}" "$@" >"$work/test.txt" 2>&1 &
        child=$!
        # A signal that ends the wrapper also ends the tool: `timeout` forwards it.
        trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP
        # Suppress the shell's message about a crash; the judge prints a better one.
        { wait "$child"; } 2>/dev/null
        status=$?
        trap - TERM INT HUP
    fi

    local version='' seconds=$((SECONDS - began))
    [[ -n $sanitizer && $tool != races ]] && version=$(timeout --kill-after=1 20 "$sanitizer" --version 2>/dev/null </dev/null)
    judge=(--tool "$tool" --case "$case_id" --status "$status" --time-limit "$limit" --seconds "$seconds" --tool-version "$version"
        --records "$work/records.xml" --log "$work/log.txt" --receipt "$work/receipt.json")
    [[ -n ${RACETRAP_CATALOG:-} ]] && judge+=(--catalog "$RACETRAP_CATALOG")
    [[ -n ${RACETRAP_RECORDINGS:-} ]] && judge+=(--recordings "$RACETRAP_RECORDINGS")
    "$racetrap" dev judge "${judge[@]}"
    verdict=$?
    if ((verdict)); then
        printf '\n--- output of the test under %s (exit status %d)\n' "$tool" "$status"
        cat "$work/test.txt"
        printf '\n--- output of %s (first 200 lines)\n' "$tool"
        head -n 200 "$work/log.txt" 2>/dev/null
    fi
    return "$verdict"
}
