#!/usr/bin/env bash
# Runs all checks of a change: formatting, clippy, rustdoc, doctests, tests. What is published is checked by ci/packages.sh.
#
#   ./ci/test.sh [ARGUMENTS FOR cargo nextest run]
#
# Needs a stable Rust toolchain, and python3 to install the CUDA compiler. Needs no GPU, no CUDA and no root. Missing
# tools are installed into .toolchain of this project: cargo-nextest from crates.io, the CUDA compiler and Numba from PyPI,
# GoogleTest from Debian's packages. All steps run even if one fails; a failed step fails the script.
#
# A test fails if a program that it needs is missing. With RACETRAP_REQUIRE_TOOLS=0 it is skipped, and the summary counts
# the skipped tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/steps.sh
export RACETRAP_SKIPPED=$PWD/target/skipped-tests.txt
mkdir -p target
: >"$RACETRAP_SKIPPED"

step 'CUDA compiler' ci/cuda-toolkit.sh
step 'browser' ci/chromium.sh
step 'clients' ci/clients.sh
step 'cargo-nextest' install_nextest
step 'formatting' cargo fmt --check
step 'clippy' cargo clippy --locked --all-targets -- -D warnings
step 'rustdoc' env RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps
step 'doctests' cargo test --locked --doc --quiet
# Hostile inputs are among the tests: a core file would be as large as the memory (ci/hostile.sh).
ulimit -c 0
# Run the tests last, so that their summary is at the end of the output. Some only wait, so there is one more than processors.
step 'tests' cargo nextest run --locked --test-threads $(($(nproc) + 1)) "$@"

echo
skipped=$(wc -l <"$RACETRAP_SKIPPED")
if ((skipped)); then
    cat "$RACETRAP_SKIPPED"
    echo
fi
if ((${#failed[@]})); then
    printf 'ci/test.sh: FAILED after %d s: %s; %d tests skipped\n' $((SECONDS - began)) "$(IFS=,; echo "${failed[*]}")" "$skipped"
    exit 1
fi
printf 'ci/test.sh: all passed in %d s, %d tests skipped\n' $((SECONDS - began)) "$skipped"
