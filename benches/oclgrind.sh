#!/usr/bin/env bash
# Runs the benchmark's kernels under racetrap and their OpenCL twins under Oclgrind, on this
# machine, and prints the times of one launch and their ratios side by side.
#
#   benches/oclgrind.sh [CORES]      CORES: default all of this machine, two at most
#
# Both measure kernel time alone, the shortest of several launches, with race detection and without.
# Needs Oclgrind, a C compiler and OpenCL's headers; on Debian and Ubuntu:
#   apt-get install oclgrind ocl-icd-opencl-dev gcc
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cores=${1:-$(($(nproc) < 2 ? $(nproc) : 2))}
repeats=3

missing=()
command -v oclgrind >/dev/null || missing+=(oclgrind)
command -v cc >/dev/null || missing+=(gcc)
echo '#include <CL/cl.h>' | cc -E - >/dev/null 2>&1 || missing+=(ocl-icd-opencl-dev)
if ((${#missing[@]})); then
    echo "oclgrind.sh: install first: apt-get install ${missing[*]}" >&2
    exit 2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -o "$scratch/host" benches/oclgrind/host.c -lOpenCL

oclgrind_ms() { # KERNEL [OPTIONS]
    local kernel=$1
    shift
    oclgrind --num-threads "$cores" --max-wgsize 1024 "$@" "$scratch/host" benches/oclgrind/kernels.cl "$kernel" "$repeats"
}

echo "oclgrind.sh: building and running racetrap's benchmark" >&2
cargo bench --quiet --package racetrap-detect --bench kernels -- --color never >"$scratch/racetrap" 2>"$scratch/errors" || {
    cat "$scratch/errors" >&2
    exit 1
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

row='%-34s %-14s %12s %12s %8s\n'
# shellcheck disable=SC2059
printf "$row" "kernel ($cores cores)" '' 'Oclgrind, ms' 'racetrap, ms' 'ratio'
while read -r benchmark kernel; do
    for kind in plain races; do
        options=()
        [[ $kind == races ]] && options=(--data-races)
        theirs=$(oclgrind_ms "$kernel" "${options[@]}")
        ours=$(racetrap_ms "$benchmark" "$kind")
        # shellcheck disable=SC2059
        printf "$row" "$benchmark" "$kind" "$theirs" "$ours" \
            "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { if (b > 0) printf "%.0f", a / b; else print "?" }')"
    done
done <<'EOF'
histogram_1mi_elements_32x256 histogram
hillis_steele_64x1024_10_steps scan
matmul_tiled_n_128 matmul
EOF
