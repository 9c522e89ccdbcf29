#!/usr/bin/env bash
# Records what compute-sanitizer says about the programs of reports.cu, and what it does where it can't do its work.
#
#   crates/evidence/tests/recordings/programs/record.sh RESULTS [BINARY]
#
# RESULTS is made and gets RESULTS/NAME/ with records.xml, log.txt, run.json, output.txt (what the program printed) and command.txt.
# Needs a GPU and compute-sanitizer, and nvcc unless the program is there already (BINARY). It takes about half a minute. The
# options are those of the wrappers (sanitizer/common.sh).
set -uo pipefail

if (($# == 0)) || [[ $1 == -* ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
mkdir -p "$1"
results=$(cd "$1" && pwd)
binary=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../../../../.." || exit 2
PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin
limit=20
# Hazards are many and alike.
few=40

if [[ -z $binary ]]; then
    binary=$results/reports
    nvcc -arch=native -lineinfo -o "$binary" crates/evidence/tests/recordings/programs/reports.cu || exit
fi
compute-sanitizer --version >"$results/version.txt" || exit
version=$(sed -n 's/^Version \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p' "$results/version.txt")

record() { # NAME TOOL OPTIONS… -- PROGRAM ARGUMENTS…
    local folder=$results/$1 tool=$2 began=$SECONDS status
    local -a options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    mkdir -p "$folder"
    printf 'compute-sanitizer --tool %s %s %s\n' "$tool" "${options[*]}" "$(basename "$1") ${*:2}" >"$folder/command.txt"
    timeout --kill-after=5 "$limit" \
        compute-sanitizer --tool "$tool" "${options[@]}" \
        --target-processes all --max-connections 64 --error-exitcode 86 \
        --print-limit "${print_limit:-2000}" --strip-paths no --show-backtrace device \
        --xml --save "$folder/records.xml" --log-file "$folder/log.txt" \
        "$@" >"$folder/output.txt" 2>&1
    status=$?
    printf '{\n  "status": %d,\n  "time_limit": %d,\n  "seconds": %d,\n  "version": "%s"\n}\n' \
        "$status" "$limit" $((SECONDS - began)) "$version" >"$folder/run.json"
}

# Kills WHO (tool, program) with a signal as soon as the kernel runs.
record_killed() { # NAME WHO SIGNAL TOOL PROGRAM ARGUMENTS…
    local name=$1 who=$2 signal=$3 folder=$results/$1 pid='' i
    record "$name" "$4" -- "${@:5}" &
    local recorder=$!
    for i in {1..100}; do
        grep -qs launched "$folder/output.txt" && break
        kill -0 "$recorder" 2>/dev/null || break
        sleep 0.1
    done
    sleep 0.5
    # Ours alone: their command lines name this folder, or are children of the one that does.
    case $who in
    tool) pid=$(pgrep -f "^[^ ]*compute-sanitizer.*$folder/log.txt") ;;
    program) pid=$(pgrep -f "^$5 ${*:6}\$") ;;
    esac
    for i in $pid; do kill -s "$signal" "$i"; done
    wait "$recorder"
    # A program that its tool has left alone goes on.
    pid=$(pgrep -f "^$5 ${*:6}\$")
    for i in $pid; do kill -s KILL "$i"; done
}

many() { # waits where four run already
    while (($(jobs -rp | wc -l) >= ${RACETRAP_WORKERS:-4})); do wait -n; done
}

no_errors=(--report-api-errors no)
for name in misaligned_global misaligned_shared shared_out_of_bounds null_pointer atomic_out_of_bounds \
    traps asserts frees_twice overflows_its_stack after_free; do
    many
    record "memcheck/$name" memcheck "${no_errors[@]}" -- "$binary" "$name" &
done
for name in frees_what_is_no_allocation too_many_threads copies_too_much; do
    many
    record "memcheck-with-api-errors/$name" memcheck -- "$binary" "$name" &
done
many
record memcheck-with-leaks/leaks memcheck --leak-check full -- "$binary" leaks &
for name in warp_barrier_without_itself mbarrier_not_initialised; do
    many
    record "synccheck/$name" synccheck -- "$binary" "$name" &
done
for name in read_before_write write_after_read write_after_write asynchronous_copy_not_awaited; do
    for report in hazard all analysis; do
        many
        print_limit=$few record "racecheck-$report/$name" racecheck --racecheck-report "$report" -- "$binary" "$name" &
    done
done
many
record racecheck-analysis/traps racecheck --racecheck-report analysis -- "$binary" traps &
# Where nothing can be said.
many
CUDA_VISIBLE_DEVICES=99 record nothing/no-such-device memcheck "${no_errors[@]}" -- "$binary" write_one &
for tool in racecheck synccheck memcheck initcheck; do
    many
    record "nothing/$tool-no-call" "$tool" -- "$binary" no_call &
done
many
record nothing/leaves-with-7 memcheck "${no_errors[@]}" -- "$binary" leaves_with_7 &
many
record nothing/no-such-program memcheck "${no_errors[@]}" -- sanitizer/no-such-program &
many
record nothing/no-program memcheck "${no_errors[@]}" -- crates/evidence/tests/recordings/README.md &
many
record nothing/unknown-option memcheck --no-such-option -- "$binary" write_one &
many
limit=4 record nothing/never-ends memcheck "${no_errors[@]}" -- "$binary" never_ends &
wait
# One after the other: each looks for its own processes by their command lines.
record_killed nothing/tool-killed tool KILL memcheck "$binary" never_ends
record_killed nothing/tool-interrupted tool INT memcheck "$binary" never_ends
record_killed nothing/program-killed program KILL memcheck "$binary" never_ends
record_killed nothing/program-crashed program SEGV memcheck "$binary" never_ends
rm -f "$results/reports"
