#!/usr/bin/env bash
# What is published, and what `cargo install` makes of it.
#
#   ci/install.sh
#
# Packs all crates that are published, unpacks them into a clean folder, and installs racetrap from there: with no CUDA, no configuration
# of this checkout, and no variables but those of the shell. It builds without optimisation, for speed; the real `cargo install` differs in
# nothing else. Not done here: the upload, and the build of the static binaries (ci/release.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export CARGO_TERM_COLOR=never

fail() {
    printf 'install: FAILED: %s\n' "$*" >&2
    exit 1
}

echo '==> cargo package'
# Without the build of each crate: all are built below, from what was packed.
rm -rf target/package
cargo package --workspace --exclude racetrap-testing --allow-dirty --no-verify --quiet
work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
for crate in target/package/*.crate; do
    tar -xzf "$crate" -C "$work"
done
large=$(find target/package -maxdepth 1 -name '*.crate' -size +10M)
# crates.io takes no larger ones.
[[ -z $large ]] || fail "too large to be published: $large"

echo '==> cargo install'
cd "$work"
mkdir .cargo
{
    printf '[profile.dev]\nopt-level = 0\ndebug = false\n[profile.dev.package."*"]\nopt-level = 0\ndebug = false\n'
    echo '[patch.crates-io]'
    for folder in racetrap-*; do
        [[ -f $folder/Cargo.toml ]] || continue
        name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$folder/Cargo.toml" | head -n 1)
        [[ $name == racetrap ]] || printf '%s = { path = "%s" }\n' "$name" "$work/$folder"
    done
} >.cargo/config.toml
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
env -i PATH="$PATH" HOME="$HOME" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" \
    CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-$(nproc)}" CARGO_TARGET_DIR="$root/target/outside" RACETRAP_EMBED=1 \
    cargo install --debug --path "racetrap-$version" --root "$work/installed" --quiet
[[ -x installed/bin/racetrap ]] || fail 'no racetrap'
[[ ! -e installed/bin/racetrap-device ]] || fail 'racetrap-device needs CUDA, and was not asked for'

echo '==> what is installed'
# Alone, in another place, and without any compiler.
mkdir elsewhere
mv installed/bin/racetrap elsewhere/
cd elsewhere
alone=(env -i HOME="$work/elsewhere" XDG_CACHE_HOME="$work/elsewhere/cache" PATH=/usr/bin:/bin)
"${alone[@]}" ./racetrap --version
"${alone[@]}" ./racetrap run histogram >run.txt || { cat run.txt; fail 'racetrap run'; }
grep -q 'false alarms 0/' run.txt || fail 'racetrap run says nothing'
"${alone[@]}" ./racetrap doctor >doctor.txt
grep -q 'racetrap setup' doctor.txt || fail 'doctor does not name `racetrap setup`'
# The drop-in library is in the program.
"${alone[@]}" ./racetrap exec -- /bin/true >exec.txt 2>&1 || true
grep -q 'no kernel' exec.txt || { cat exec.txt; fail 'racetrap exec does not start'; }
"${alone[@]}" ./racetrap new project >/dev/null
"${alone[@]}" ./racetrap test --catalog project --locked >test.txt || { cat test.txt; fail 'racetrap test'; }
"${alone[@]}" ./racetrap man man >/dev/null
[[ -s man/racetrap-check.1 ]] || fail 'no manual page'

printf 'install: passed in %d s\n' "$SECONDS"
