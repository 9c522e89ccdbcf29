#!/usr/bin/env bash
# What is published, and what `cargo install` makes of it.
#
#   ci/install.sh
#
# Packs all crates that are published, unpacks them into a folder outside of this checkout (RACETRAP_OUTSIDE, or one below TMPDIR), and
# installs racetrap from there: with no CUDA, no configuration of this checkout, and no variables but those of the shell. It builds without
# optimisation, for speed, and therefore asks for the library of `racetrap exec` by RACETRAP_EMBED=1, which optimised builds carry by
# themselves; the real `cargo install` differs in nothing else. Not done here: the upload, and the static binaries (ci/release.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export CARGO_TERM_COLOR=never
outside=${RACETRAP_OUTSIDE:-${TMPDIR:-/tmp}/racetrap-outside-$(id -u)}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

fail() {
    printf 'install: FAILED: %s\n' "$*" >&2
    exit 1
}

echo '==> cargo package'
mkdir -p "$outside"
[[ -O $outside ]] || fail "$outside belongs to somebody else"
rm -rf "$root/target/package" "$outside/packed" "$outside/installed"
mkdir "$outside/packed"
# Without a build of each crate: all are built below, from what was packed.
cargo package --locked --workspace --exclude racetrap-testing --allow-dirty --no-verify --quiet
# crates.io takes no larger ones.
large=$(find target/package -maxdepth 1 -name '*.crate' -size +10M)
[[ -z $large ]] || fail "too large to be published: $large"
for crate in target/package/*.crate; do
    # With their old times, cargo would not see that files have changed.
    tar -xmzf "$crate" -C "$outside/packed"
done

echo '==> cargo install'
cd "$outside/packed"
mkdir .cargo
{
    printf '[profile.dev]\nopt-level = 0\ndebug = false\n[profile.dev.package."*"]\nopt-level = 0\ndebug = false\n'
    # What racetrap itself optimises in this profile.
    sed -n '/^\[profile\.dev\.package\]$/,/^\[profile\.release\]$/s/^\([a-z0-9_-]*\)\.opt-level = [1-3]$/[profile.dev.package.\1]\nopt-level = 0/p' "$root/Cargo.toml"
    echo '[patch.crates-io]'
    for folder in racetrap-*; do
        name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$folder/Cargo.toml" | head -n 1)
        printf '%s = { path = "%s" }\n' "$name" "$PWD/$folder"
    done
} >.cargo/patched.toml
# What a project outside of racetrap would find in the registry (ci/new-project.sh); racetrap itself is what is installed.
grep -v '^racetrap = ' .cargo/patched.toml >.cargo/config.toml
# The versions that racetrap is tested with.
cp "$root/Cargo.lock" "racetrap-$version/Cargo.lock"
(cd "racetrap-$version" && cargo metadata --format-version 1 >/dev/null)
clean=(env -i PATH="$PATH" HOME="$HOME" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
    CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-$(nproc)}" CARGO_TARGET_DIR="$root/target/outside" RACETRAP_EMBED=1)
"${clean[@]}" cargo install --locked --debug --path "racetrap-$version" --root "$outside/installed" --quiet
[[ -x $outside/installed/bin/racetrap ]] || fail 'no racetrap'
[[ ! -e $outside/installed/bin/racetrap-device ]] || fail 'racetrap-device needs CUDA, and was not asked for'

echo '==> the feature device'
# The build script of `cust` says what it misses, and takes the way that racetrap names.
device() { # COMMAND…
    (cd "racetrap-$version" && "${clean[@]}" "$@" cargo build --locked --features device --bin racetrap-device) >"$outside/device.txt" 2>&1
}
if [[ -z $(compgen -G '/usr/local/cuda*') && ! -d /opt/cuda ]]; then
    device && fail 'the feature device needs no CUDA any more: say so in `racetrap doctor`'
    grep -q 'Could not find a cuda installation' "$outside/device.txt" || { cat "$outside/device.txt"; fail 'another message'; }
fi
device CUDA_LIBRARY_PATH=/ || { cat "$outside/device.txt"; fail 'CUDA_LIBRARY_PATH=/ does not let racetrap-device be built'; }

echo '==> what is installed'
# Alone, in another place, and without any compiler.
work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$outside/installed/bin/racetrap" "$work"
cd "$work"
alone=(env -i HOME="$work" PATH=/usr/bin:/bin ./racetrap)
"${alone[@]}" --version
"${alone[@]}" run histogram/shared >run.txt || { cat run.txt; fail 'racetrap run'; }
grep -q 'false alarms 0/' run.txt || fail 'racetrap run says nothing'
"${alone[@]}" doctor >doctor.txt
grep -q 'racetrap setup' doctor.txt || fail 'doctor does not name racetrap setup'
grep -q 'CUDA_LIBRARY_PATH=/ cargo install --path . --features device' doctor.txt || fail 'doctor does not say how to get racetrap-device'
# The drop-in library is in the program.
"${alone[@]}" exec -- /bin/true >exec.txt 2>&1 || true
[[ -s $(echo .cache/racetrap/library-*/libracetrap_cuda.so) ]] || { cat exec.txt; fail 'racetrap exec has no library'; }
"${alone[@]}" new project >/dev/null
"${alone[@]}" test --catalog project --locked >test.txt || { cat test.txt; fail 'racetrap test'; }
"${alone[@]}" man man >/dev/null
[[ -s man/racetrap-check.1 ]] || fail 'no manual page'

printf 'install: passed in %d s\n' "$SECONDS"
