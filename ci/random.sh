#!/usr/bin/env bash
# Runs the tests that draw their cases on cases that nobody has seen, for a while.
#
#   ci/random.sh [SECONDS]         3600 unless told; whole rounds of some minutes each
#
# `ci/test.sh` draws the same cases each time. Here every round draws others, and 20 times as many (RACETRAP_RANDOM): promises about
# schedules, detectors and weak schedules against the axioms of the memory model, reversal, arithmetic, parsing, claims of
# `diff` against what executes, and `check` on mutated PTX and CUDA. A test that fails prints its seed and the smallest case that it found;
# PROPTEST_RNG_SEED (with the same RACETRAP_RANDOM), RACETRAP_DIFF_SEED and RACETRAP_FUZZ_SEED repeat it. Stops after the first round that
# fails.
set -euo pipefail
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
