#!/usr/bin/env bash
# Runs the benchmark's kernels under racetrap and their OpenCL twins under POCL, which compiles them to native
# code of this machine's processor and detects nothing, and prints the times of one launch and their ratios.
#
#   benches/pocl.sh [CORES]      CORES: default all of this machine, two at most
#
# Both measure kernel time alone, the shortest of many launches in several rounds. Needs POCL, a C compiler and OpenCL's headers;
# on Debian and Ubuntu:
#   apt-get install pocl-opencl-icd ocl-icd-opencl-dev gcc
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cores=${1:-$(($(nproc) < 2 ? $(nproc) : 2))}
repeats=50
# Both take turns, so that other load on the machine meets both.
rounds=3
kernels='histogram_1mi_elements_32x256 histogram
hillis_steele_64x1024_10_steps scan
matmul_tiled_n_128 matmul'

missing=()
ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 || missing+=(pocl-opencl-icd)
command -v cc >/dev/null || missing+=(gcc)
echo '#include <CL/cl.h>' | cc -E - >/dev/null 2>&1 || missing+=(ocl-icd-opencl-dev)
if ((${#missing[@]})); then
    echo "pocl.sh: install first: apt-get install ${missing[*]}" >&2
    exit 2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -o "$scratch/host" benches/oclgrind/host.c -lOpenCL

pocl_ms() { # KERNEL
    OCL_ICD_FILENAMES=$(ls /etc/OpenCL/vendors/pocl*.icd | head -1) POCL_MAX_PTHREAD_COUNT=$cores \
        "$scratch/host" benches/oclgrind/kernels.cl "$1" "$repeats"
}

smaller() { # A B: the smaller of two times; either may be missing
    awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b != "" && b + 0 < a + 0) ? b : a }'
}

racetrap_ms() { # BENCHMARK plain|races
    awk -v group="$1" -v kind="$2" -v cores="$cores" '
        { gsub(/[│├─╰]/, " ") }
        $1 ~ "^" group { inside = 1; next }
        /^ *[a-z_0-9]+ / && $1 !~ /^(plain|races)$/ && $1 !~ /^[0-9]+$/ { inside = 0 }
        inside && $1 ~ /^(plain|races)$/ { now = $1 }
        inside && now == kind && $1 == cores {
            scale = $3 == "s" ? 1000 : $3 == "ms" ? 1 : 0.001
            print $2 * scale
            exit
        }' "$scratch/racetrap"
}

declare -A theirs ours
for ((round = 1; round <= rounds; round++)); do
    echo "pocl.sh: round $round of $rounds" >&2
    cargo bench --quiet --package racetrap-detect --bench kernels -- --color never >"$scratch/racetrap" 2>"$scratch/errors" || {
        cat "$scratch/errors" >&2
        exit 1
    }
    while read -r benchmark kernel; do
        theirs[$kernel]=$(smaller "${theirs[$kernel]-}" "$(pocl_ms "$kernel")")
        for kind in plain races; do
            ours[$kernel-$kind]=$(smaller "${ours[$kernel-$kind]-}" "$(racetrap_ms "$benchmark" "$kind")")
        done
    done <<<"$kernels"
done

row='%-34s %-14s %12s %14s %8s\n'
# shellcheck disable=SC2059
printf "$row" "kernel ($cores cores)" '' 'POCL, ms' 'racetrap, ms' 'ratio'
while read -r benchmark kernel; do
    for kind in plain races; do
        # shellcheck disable=SC2059
        printf "$row" "$benchmark" "$kind" "${theirs[$kernel]}" "${ours[$kernel-$kind]}" \
            "$(awk -v a="${theirs[$kernel]}" -v b="${ours[$kernel-$kind]}" 'BEGIN { if (a > 0) printf "%.1f", b / a; else print "?" }')"
    done
done <<<"$kernels"
