#!/usr/bin/env bash
# Runs tests with every launch on both engines, the fast one and the plain one, and compares memory, output, findings, counts and how each ended.
#
#   ci/engines.sh [ARGUMENTS FOR cargo nextest run]      those tests; what `ci/all.sh` runs of them, unless told
#
# Any test that launches something on the simulator will do: the catalogue, `judged`, homework, kernels alone, whole programs, conformance
# programs, mutants. A launch on which the engines do not agree ends with an error that no test takes for a result. RACETRAP_ENGINES is the
# number of warp-instructions up to which launches run on both (2,000,000 unless set); the summary counts those that were left out, and why.
# The comparison itself is crates/simt/src/launch/both.rs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.toolchain/bin:$PATH"
ulimit -c 0

RACETRAP_ENGINES_LOG=$(mktemp)
export RACETRAP_ENGINES_LOG RACETRAP_ENGINES=${RACETRAP_ENGINES:-2000000}
trap 'rm -f "$RACETRAP_ENGINES_LOG"' EXIT

status=0
if (($# == 0)); then
    set -- --no-fail-fast --features device,grade -E '
        binary(catalog) + binary(programs) + binary(library) + binary(evidence) & test(conformance)
        + binary(cli) & test(/^(judged|homework|check|exec|run)::/) + package(racetrap-check) + package(racetrap-catalog)'
fi
cargo nextest run --locked --status-level fail "$@" || status=$?

awk -F '\t' '
    { launches++; steps += $3 }
    $1 == "same" { same++; compared += $3 }
    $1 != "same" { others[$1]++ }
    END {
        printf "ci/engines.sh: %d of %d launches (%d of %d warp-instructions) the same on both engines\n", same, launches, compared, steps
        for (why in others) printf "  %d: %s\n", others[why], why
        # A run that compares nothing shows nothing.
        exit !(same > 0)
    }' "$RACETRAP_ENGINES_LOG" || status=1
if grep -q '^DIFFER' "$RACETRAP_ENGINES_LOG"; then
    status=1
fi
exit "$status"
