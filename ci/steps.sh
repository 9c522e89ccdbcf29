# For scripts that run steps one after another, all of them even if one fails: `source` it.
#
#   fetch NAME COMMAND…       gets a tool, and says what it took: that is no part of the time of the checks
#   step NAME COMMAND…        runs a check, and says what it took
#   finish SCRIPT             says how it ended, and ends with status 1 if a step failed
#   (( ${#failed[@]} ))       whether a step failed; ${failed[*]} are their names

nextest_version=0.9.143
export PATH="$PWD/.toolchain/bin:$PATH"
export CARGO_NET_RETRY=${CARGO_NET_RETRY:-5}
# Unit tests take longer to optimise than to run.
export RUSTC_WORKSPACE_WRAPPER=$PWD/ci/rustc.sh
# Nobody looks for a line here. Packages of others have none in any build, so they are not built twice.
export CARGO_PROFILE_DEV_DEBUG=0
# Where nobody has built by hand, nothing is built a second time after an edit, so nothing is kept for that.
if [[ -n ${CI:-} ]] || ! compgen -G 'target/debug/incremental/*' >/dev/null; then
    export CARGO_INCREMENTAL=0
fi
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}
export RACETRAP_REQUIRE_TOOLS=${RACETRAP_REQUIRE_TOOLS:-1}

failed=()
began=$SECONDS
fetched=0

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

fetch() { # NAME COMMAND…
    local start=$SECONDS
    step "$@"
    fetched=$((fetched + SECONDS - start))
}

# Which tests were skipped, for `finish`; one script may call another.
if [[ -z ${RACETRAP_SKIPPED:-} ]]; then
    export RACETRAP_SKIPPED=$PWD/target/skipped-tests.txt
    mkdir -p target
    : >"$RACETRAP_SKIPPED"
fi

finish() { # SCRIPT
    local took skipped
    took="$((SECONDS - began - fetched)) s ($(spent) s of processor time), and $fetched s for tools before"
    skipped=$(wc -l <"$RACETRAP_SKIPPED")
    echo
    if ((skipped)); then
        cat "$RACETRAP_SKIPPED"
        echo
    fi
    if ((${#failed[@]})); then
        printf '%s: FAILED after %s: %s; %d tests skipped\n' "$1" "$took" "$(IFS=,; echo "${failed[*]}")" "$skipped"
        exit 1
    fi
    printf '%s: all passed in %s; %d tests skipped\n' "$1" "$took" "$skipped"
}

install_nextest() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest --version | head -n 1
        return
    fi
    cargo install cargo-nextest --version "$nextest_version" --locked --root .toolchain
}

deny_version=0.20.2

install_deny() {
    if cargo deny --version >/dev/null 2>&1; then
        cargo deny --version
        return
    fi
    # Debug builds need half the time, and look at one lock file.
    cargo install cargo-deny --version "$deny_version" --locked --debug --root .toolchain
}

command -v cargo >/dev/null || {
    echo "cargo was not found: install a stable Rust toolchain from https://rustup.rs" >&2
    exit 1
}
