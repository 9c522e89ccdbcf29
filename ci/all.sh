#!/usr/bin/env bash
# Checks what ci/test.sh leaves out: clippy, documentation and its examples, whole programs and those of other people's tools, courses, every
# command that a document shows, hostile input, pages in a browser, recompiling, both engines on all that tests run, more random cases, and what is published.
#
#   ./ci/all.sh
#
# Needs what ci/test.sh needs, and installs what else is missing as it does: Numba and CMake from PyPI, GoogleTest and Chromium from Debian's
# packages. All steps run even if one fails; a failed step fails the script. The wheel for Python has ci/wheel.sh.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/steps.sh

fetch 'CUDA compiler' ci/cuda-toolkit.sh
fetch 'browser' ci/chromium.sh
fetch 'clients' ci/clients.sh
fetch 'cargo-nextest' install_nextest
fetch 'packages' cargo fetch --locked
step 'clippy' cargo clippy --locked --all-targets --features device,grade -- -D warnings
# What a project depends on that tests its kernels with racetrap.
step 'library alone' cargo clippy --locked --package racetrap --lib --no-default-features --features catalog -- -D warnings
# The native part of the Python package, which is a project of its own; ci/wheel.sh builds and tests the package.
step 'Python part' cargo clippy --locked --manifest-path python/Cargo.toml --target-dir target/python -- -D warnings
step 'rustdoc' env RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps
step 'doctests' cargo test --locked --doc --quiet
ulimit -c 0
step 'tests' cargo nextest run --locked --profile long --features device,grade --test-threads $(($(nproc) + 1))
# Launches of these on the plain engine, too, up to this many warp-instructions.
step 'both engines' env RACETRAP_ENGINES=200000 ci/engines.sh
# The same cases each time, and four times as many as in ci/test.sh.
step 'random cases' env RACETRAP_RANDOM=4 PROPTEST_RNG_SEED=1 cargo nextest run --locked --profile random --features device,grade --status-level fail
step 'what is published' ci/packages.sh

finish ci/all.sh
