#!/usr/bin/env bash
# Runs all checks: formatting, clippy, rustdoc, doctests, tests.
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

nextest_version=0.9.143
export PATH="$PWD/.toolchain/bin:$PATH"
export CARGO_NET_RETRY=${CARGO_NET_RETRY:-5}
# Nothing is built twice in a fresh clone.
[[ -z ${CI:-} ]] || export CARGO_INCREMENTAL=0
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}
export RACETRAP_REQUIRE_TOOLS=${RACETRAP_REQUIRE_TOOLS:-1}
export RACETRAP_SKIPPED=$PWD/target/skipped-tests.txt
mkdir -p target
: >"$RACETRAP_SKIPPED"

failed=()
began=$SECONDS

# Seconds of processor time of all that has ended: on a busy machine, what there is to compare.
spent() {
    local fields
    read -r -a fields </proc/$$/stat
    printf '%d' $(((fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

step() { # NAME COMMAND…
    local name=$1 start=$SECONDS before
    before=$(spent)
    shift
    printf '\n==> %s: %s\n' "$name" "$*"
    if "$@"; then
        printf '<== %s: passed in %d s (%d s of processor time)\n' "$name" $((SECONDS - start)) $(($(spent) - before))
    else
        printf '<== %s: FAILED after %d s\n' "$name" $((SECONDS - start))
        failed+=("$name")
    fi
}

install_nextest() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest --version | head -n 1
        return
    fi
    cargo install cargo-nextest --version "$nextest_version" --locked --root .toolchain
}

command -v cargo >/dev/null || {
    echo "cargo was not found: install a stable Rust toolchain from https://rustup.rs" >&2
    exit 1
}

step 'CUDA compiler' ci/cuda-toolkit.sh
step 'browser' ci/chromium.sh
step 'clients' ci/clients.sh
step 'cargo-nextest' install_nextest
step 'formatting' cargo fmt --check
step 'clippy' cargo clippy --locked --all-targets -- -D warnings
step 'rustdoc' env RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps
step 'doctests' cargo test --locked --doc --quiet
# Both build without optimisation, in folders of their own.
step 'installation' ci/install.sh
step 'a new project' ci/new-project.sh
step 'hostile input' ci/hostile.sh
# Run the tests last, so that their summary is at the end of the output.
if (($#)); then
    step 'tests' cargo nextest run --locked "$@"
else
    # Without those that the step before has run.
    step 'tests' cargo nextest run --locked -E 'not (binary(cli) and test(/^(budgets|hostile|strangers)::/))'
fi

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
