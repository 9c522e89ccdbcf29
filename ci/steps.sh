# For scripts that run steps one after another, all of them even if one fails: `source` it.
#
#   step NAME COMMAND…        runs it, and says what it took
#   (( ${#failed[@]} ))       whether a step failed; ${failed[*]} are their names

nextest_version=0.9.143
export PATH="$PWD/.toolchain/bin:$PATH"
export CARGO_NET_RETRY=${CARGO_NET_RETRY:-5}
# In a fresh clone, nothing is built twice, nobody looks for a line, and unit tests take longer to optimise than to run.
[[ -z ${CI:-} ]] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 RUSTC_WORKSPACE_WRAPPER=$PWD/ci/rustc.sh
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}
export RACETRAP_REQUIRE_TOOLS=${RACETRAP_REQUIRE_TOOLS:-1}

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
