#!/usr/bin/env bash
# Runs the catalogue on a GPU, from a folder made by ci/gpu-archive.sh.
#
#   ci/gpu-run.sh FOLDER [PROFILE…] [-- ARGUMENTS FOR cargo nextest run]
#
# Profiles: races (racetrap's checks in the kernels), gpu (results only), racecheck, synccheck, memcheck, initcheck; the default is all six.
# Further arguments select tests: `-- scan`, `-- --partition count:1/4`. Needs an NVIDIA driver and, for the last four profiles,
# compute-sanitizer; needs neither Rust nor a network. Exit status: 0 if all profiles passed, 1 if a test failed or a
# profile exceeded its time limit.
#
# Results of an earlier run of the same profile are deleted first, because they may belong to other kernels. Give each
# partial run (`--partition`, a few cases) its own results folder.
#
# Environment, all optional:
#   RACETRAP_RESULTS=FOLDER          folder for logs, JUnit reports, receipts and recordings (default FOLDER/results)
#   RACETRAP_PROFILE_LIMIT=SECONDS   time limit for each profile (default 900)
#   RACETRAP_REQUIRE_GPU=0           without a GPU, let the simulator judge instead of failing
set -uo pipefail

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}

(($#)) || usage
[[ $1 == -* ]] && usage
if [[ ! -f $1/tests.tar.zst ]]; then
    printf 'gpu-run: %s has no tests.tar.zst: create it with ci/gpu-archive.sh\n' "$1" >&2
    exit 2
fi
folder=$(cd "$1" && pwd)
shift

profiles=()
while (($#)); do
    case $1 in
    --)
        shift
        break
        ;;
    races | gpu | racecheck | synccheck | memcheck | initcheck) profiles+=("$1") ;;
    *)
        printf 'gpu-run: no profile %s\n' "$1" >&2
        usage
        ;;
    esac
    shift
done
((${#profiles[@]})) || profiles=(races gpu racecheck synccheck memcheck initcheck)

results=${RACETRAP_RESULTS:-$folder/results}
limit=${RACETRAP_PROFILE_LIMIT:-900}
mkdir -p "$results"
results=$(cd "$results" && pwd)
export RACETRAP_REQUIRE_GPU=${RACETRAP_REQUIRE_GPU:-1}
export NO_COLOR=1 CARGO_TERM_COLOR=never
[[ -d $folder/bin ]] && PATH=$folder/bin:$PATH
# compute-sanitizer is often installed but not in PATH.
for toolkit in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
    [[ -n $toolkit && -d $toolkit/bin ]] && PATH=$PATH:$toolkit/bin
done

{
    date -u +%FT%TZ
    uname -srm
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader || echo 'no nvidia-smi'
    compute-sanitizer --version || echo 'no compute-sanitizer'
    cat "$folder/revision.txt"
} >"$results/machine.txt" 2>&1
cat "$results/machine.txt"
: >"$results/summary.txt"

# Wrappers, kernels and cases are found relative to this folder.
cd "$folder" || exit 2
failed=0
for profile in "${profiles[@]}"; do
    printf '\n==> %s\n' "$profile"
    began=$SECONDS
    rm -f "target/nextest/$profile/junit.xml" "$results/$profile.log" "$results/$profile.xml"
    # Recordings are stored in recordings/VERSION/TOOL/CASE.
    rm -rf "$results/receipts/$profile" "$results/recordings/"*"/$profile"
    # On an interrupt, nextest ends its tests and writes its report.
    RACETRAP_RECEIPT_DIR=$results/receipts/$profile \
        RACETRAP_RECORDINGS=$results/recordings \
        timeout --signal=INT --kill-after=60 "$limit" \
        ./cargo-nextest nextest run --archive-file tests.tar.zst --workspace-remap . \
        --profile "$profile" "$@" 2>&1 | tee "$results/$profile.log"
    status=${PIPESTATUS[0]}
    cp "target/nextest/$profile/junit.xml" "$results/$profile.xml" 2>/dev/null
    case $status in
    0) outcome=passed ;;
    124 | 137) outcome="FAILED: not ended after $limit s" ;;
    *) outcome="FAILED with status $status" ;;
    esac
    ((status)) && failed=1
    printf '%-10s %5d s  %s\n' "$profile" $((SECONDS - began)) "$outcome" | tee -a "$results/summary.txt"
done

printf '\nresults in %s\n' "$results"
cat "$results/summary.txt"
exit "$failed"
