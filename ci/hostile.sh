#!/usr/bin/env bash
# Tries every hostile input: PTX, CUDA source, names and arguments from strangers. Each has to end within its time limit, in 2 GiB of
# memory, with one of the documented exit statuses, and without running, reading or showing what is none of its business.
#
#   ./ci/hostile.sh [ARGUMENTS FOR cargo nextest run]
#
# `ci/test.sh` and `ci/all.sh` run them among all tests. The inputs are in tests/cli/hostile.rs and strangers.rs (what is said) and tests/cli/budgets.rs
# (what it takes); a new one is a line there. What mutates PTX at random, for as long as you like, is crates/check/tests/fuzz.rs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.toolchain/bin:$PATH"
# The tests watch memory and time; these limits hold even for what escapes them. A core file would be as large as the memory.
ulimit -c 0
exec cargo nextest run --locked --test cli "$@" -E 'test(/^(budgets|hostile|strangers)::/)'
