#!/usr/bin/env bash
# Checks a change within minutes: formatting, unit and property tests, the catalogue, what was judged before, what the command prints, and a
# few whole programs. The rest is in ci/all.sh.
#
#   ./ci/test.sh [ARGUMENTS FOR cargo nextest run]
#
# Needs a stable Rust toolchain, and python3 to install the CUDA compiler. Needs no GPU, no CUDA and no root. Missing
# tools are installed into .toolchain of this project: cargo-nextest from crates.io, the CUDA compiler from PyPI. All steps run even if one
# fails; a failed step fails the script.
#
# A test fails if a program that it needs is missing. With RACETRAP_REQUIRE_TOOLS=0 it is skipped, and the summary counts
# the skipped tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/steps.sh

fetch 'CUDA compiler' ci/cuda-toolkit.sh
fetch 'cargo-nextest' install_nextest
fetch 'packages' cargo fetch --locked
step 'formatting' cargo fmt --check
# A core file of a test that runs out of memory would be as large as the memory.
ulimit -c 0
# Some tests only wait, so there is one more than processors. `--tests`: no examples.
step 'tests' cargo nextest run --locked --profile short --workspace --exclude racetrap-grade --tests --test-threads $(($(nproc) + 1)) "$@"

finish ci/test.sh
