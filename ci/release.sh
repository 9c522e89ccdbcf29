#!/usr/bin/env bash
# Builds an archive of racetrap for Linux machines without Rust.
#
#   ci/release.sh [FOLDER]
#
# The program is linked statically (musl), stripped, and below 20 MB. The library for `racetrap exec` has to be dynamic, for the programs
# that load it: it is built with this machine's C library, which should be an old one, and lies in lib/racetrap. Needs
# `rustup target add x86_64-unknown-linux-musl` and musl-gcc (Debian's package musl-tools).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-target/release-archive}
machine=$(uname -m)
target=$machine-unknown-linux-musl
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=racetrap-$version-$machine-linux

rustc --print target-libdir --target "$target" | xargs test -d || {
    printf 'release: no standard library for %s: rustup target add %s\n' "$target" "$target" >&2
    exit 1
}
cargo build --locked --profile dist --target "$target" --bin racetrap
cargo build --locked --profile dist -p racetrap-cuda

rm -rf "${folder:?}/$name"
mkdir -p "$folder/$name/bin" "$folder/$name/lib/racetrap" "$folder/$name/share/man/man1"
cp "target/$target/dist/racetrap" "$folder/$name/bin/"
cp target/dist/libracetrap_cuda.so "$folder/$name/lib/racetrap/"
cp README.md LICENSE-APACHE LICENSE-MIT "$folder/$name/"
racetrap=$folder/$name/bin/racetrap

size=$(stat -c %s "$racetrap")
((size < 20000000)) || {
    printf 'release: %s has %d bytes, which is not below 20 MB\n' "$racetrap" "$size" >&2
    exit 1
}
if ldd "$racetrap" 2>/dev/null | grep -q '=>'; then
    printf 'release: %s is not static\n' "$racetrap" >&2
    exit 1
fi
# The library is where the program looks for it: with it, a program that launches nothing is inconclusive (3); without it, an error (2).
status=0
"$racetrap" exec --quiet -- true 2>/dev/null || status=$?
((status == 3)) || {
    printf 'release: racetrap exec ends with status %d\n' "$status" >&2
    exit 1
}
"$racetrap" run histogram >/dev/null
"$racetrap" man "$folder/$name/share/man/man1" >/dev/null
for shell in bash zsh fish; do
    "$racetrap" completions "$shell" >"$folder/$name/share/racetrap.$shell"
done
tar -C "$folder" -czf "$folder/$name.tar.gz" "$name"
(cd "$folder" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
