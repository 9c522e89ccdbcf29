#!/usr/bin/env bash
# Runs the tests that draw their cases on cases that nobody has seen, for a while.
#
#   ci/random.sh [SECONDS]                                3600 unless told; whole rounds of some minutes each
#   ci/random.sh --engines BINARY [SECONDS [PROCESSES]]   the comparison of both engines alone, from a test program that is there already,
#                                                         several side by side: as many as processors unless told
#
# `ci/test.sh` draws the same cases each time. Here every round draws others, and 20 times as many (RACETRAP_RANDOM): promises about
# schedules, detectors and weak schedules against the axioms of the memory model, reversal, arithmetic, parsing, claims of
# `diff` against what executes, and `check` on mutated PTX and CUDA. A test that fails prints its seed and the smallest case that it found;
# PROPTEST_RNG_SEED (with the same RACETRAP_RANDOM), RACETRAP_DIFF_SEED and RACETRAP_FUZZ_SEED repeat it. Stops after the first round that
# fails.
#
# BINARY is `target/*/deps/session-*`, which `cargo test --no-run --package racetrap-session --test session` builds and names. It needs no
# file beside itself, and this script nothing but bash, so that both can be copied to a machine that has neither Rust nor this project. Each
# process draws from a seed of its own, 100 programs a round (RACETRAP_RANDOM=1), and says so when they have passed: what was compared is known
# even if somebody stops all of it. After SECONDS, no round begins.
set -euo pipefail

# One process: rounds until time is up. Prints a line for each that passes, and all of one that fails.
compare_engines() { # BINARY SECONDS TIMES
    local seed said
    while ((SECONDS < $2)); do
        seed=$((RANDOM << 30 | RANDOM << 15 | RANDOM))
        if ! said=$(RACETRAP_RANDOM=$3 PROPTEST_RNG_SEED=$seed "$1" --exact engines::both_engines_do_the_same --nocapture 2>&1); then
            printf '%s\nci/random.sh: RACETRAP_RANDOM=%d PROPTEST_RNG_SEED=%d fails\n' "$said" "$3" "$seed"
            return 1
        fi
        [[ $said == *'1 passed'* ]] || {
            printf '%s\nci/random.sh: no such test\n' "$said"
            return 1
        }
        printf 'seed %d passed\n' "$seed"
    done
}

if [[ ${1:-} == --engines ]]; then
    binary=$(realpath "$2")
    limit=${3:-3600}
    processes=${4:-$(nproc)}
    times=${RACETRAP_RANDOM:-1}
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    all=()
    for ((k = 0; k < processes; k++)); do
        RANDOM=$(od -An -N2 -tu2 /dev/urandom)
        compare_engines "$binary" "$limit" "$times" > >(tee "$scratch/$k") &
        all+=($!)
    done
    failed=0
    for id in "${all[@]}"; do
        wait "$id" || failed=$((failed + 1))
    done
    rounds=$(cat "$scratch"/* | grep -c '^seed .* passed$' || true)
    printf 'ci/random.sh: %d programs the same on both engines, %d of %d processes found a difference, %d s, about %d processor-seconds\n' \
        $((rounds * 100 * times)) "$failed" "$processes" "$SECONDS" $((SECONDS * processes))
    exit $((failed > 0))
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.toolchain/bin:$PATH"
limit=${1:-3600}

round=0
while ((SECONDS < limit || round == 0)); do
    round=$((round + 1))
    seed=$((RANDOM << 15 | RANDOM))
    printf 'ci/random.sh: round %d, %d of %d s\n' "$round" "$SECONDS" "$limit"
    RACETRAP_RANDOM=${RACETRAP_RANDOM:-20} RACETRAP_DIFF_SEED=fresh RACETRAP_FUZZ_SECONDS=120 RACETRAP_FUZZ_SEED=$seed \
        cargo nextest run --locked --profile random --status-level fail -p racetrap-ptx -p racetrap-detect \
        -p racetrap-simt -p racetrap-session -p racetrap-mutate -p racetrap-ptxdiff -p racetrap-catalog -p racetrap-check
done
printf 'ci/random.sh: %d rounds passed in %d s\n' "$round" "$SECONDS"
