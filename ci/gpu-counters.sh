#!/usr/bin/env bash
# Measures shared-memory wavefronts and global-memory sectors with Nsight Compute, to compare them with the simulator.
#
#   ci/gpu-counters.sh RESULTS [PATTERN…]
#
# RESULTS is made, and gets the jobs, what `ncu` measured, and the comparison. Needs a GPU, `ncu`, and the binaries `racetrap` and
# `racetrap-device`: in PATH, or in the folder that RACETRAP_BIN names. The status is that of `racetrap dev counters compare`.
#
# To store the measurements afterwards:
#   racetrap dev counters compare RESULTS -o sanitizer/counters/GPU.json
set -uo pipefail

if (($# == 0)) || [[ $1 == -* ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
results=$1
shift
PATH=${RACETRAP_BIN:+$RACETRAP_BIN:}$PATH:/usr/local/cuda/bin
for program in racetrap racetrap-device ncu; do
    command -v "$program" >/dev/null || {
        printf 'gpu-counters: %s was not found\n' "$program" >&2
        exit 2
    }
done

mkdir -p "$results"
nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 >"$results/gpu.txt"
ncu --version | grep -i version >"$results/ncu.txt"
racetrap dev counters jobs "$results" "$@" >"$results/jobs.txt" || exit
metrics=$(racetrap dev counters metrics)

measure() { # JOB
    local stem=${1%.job}
    timeout --kill-after=5 120 ncu --csv --page raw --print-units base --metrics "$metrics" \
        --clock-control none --target-processes all --log-file "$stem.csv" \
        racetrap-device <"$1" >"$stem.reply" 2>"$stem.errors"
    rm -f "$stem.reply"
}
export -f measure
export metrics
find "$results" -name '*.job' | sort | xargs -P "${RACETRAP_WORKERS:-2}" -I {} bash -c 'measure "$1"' _ {}
racetrap dev counters compare "$results"
