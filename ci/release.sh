#!/usr/bin/env bash
# Builds an archive of racetrap for Linux machines without Rust, unpacks it elsewhere, and uses it there.
#
#   ci/release.sh [FOLDER]
#
# The program is linked statically (musl), stripped, and below 20 MB. The library for `racetrap exec` has to be dynamic, for the programs
# that load it: it is built with this machine's C library, which should be an old one, and lies in lib/racetrap. Beside them: completions,
# the manual, README and licences.
#
# Needs musl-gcc (Debian's package musl-tools) and `rustup target add x86_64-unknown-linux-musl`; without that, ci/musl-from-debian.sh makes
# a toolchain of Debian's packages. With the CUDA compiler (ci/cuda-toolkit.sh) it also runs whole programs with what it has packed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-target/release-archive}
machine=$(uname -m)
target=$machine-unknown-linux-musl
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=racetrap-$version-$machine-linux
# Without the version: a release's address has it, and `latest` is one.
archive=racetrap-$machine-linux.tar.gz
scene=$PWD/tests/documented/scene
export NO_COLOR=1

fail() {
    printf 'release: %s\n' "$*" >&2
    exit 1
}

build() {
    cargo build --locked --profile dist -p racetrap-cuda
    local standard=()
    if ! rustc --print target-libdir --target "$target" | xargs test -d; then
        printf 'release: no standard library for %s (rustup target add %s); trying Debian'"'"'s\n' "$target" "$target" >&2
        # shellcheck source=ci/musl-from-debian.sh
        source ci/musl-from-debian.sh || fail "no toolchain for $target"
    fi
    cargo build --locked --profile dist --target "$target" --features grade --bin racetrap "${standard[@]}"
}

# What makes an ELF file depend on the machine: a loader, and libraries.
is_static() { # FILE
    local headers dynamic
    headers=$(readelf --program-headers --wide "$1") || return 1
    dynamic=$(readelf --dynamic --wide "$1") || return 1
    [[ $headers == *LOAD* && $headers != *INTERP* && $dynamic != *NEEDED* ]]
}

pack() {
    rm -rf "${folder:?}/$name"
    mkdir -p "$folder/$name/bin" "$folder/$name/lib/racetrap" "$folder/$name/share/man/man1"
    cp "target/$target/dist/racetrap" "$folder/$name/bin/"
    cp target/dist/libracetrap_cuda.so "$folder/$name/lib/racetrap/"
    cp README.md LICENSE-APACHE LICENSE-MIT "$folder/$name/"
    local racetrap=$folder/$name/bin/racetrap size shell
    size=$(stat -c %s "$racetrap")
    ((size < 20000000)) || fail "$racetrap has $size bytes, which is not below 20 MB"
    is_static "$racetrap" || fail "$racetrap is not static"
    "$racetrap" man "$folder/$name/share/man/man1" >/dev/null
    for shell in bash zsh fish; do
        "$racetrap" completions "$shell" >"$folder/$name/share/racetrap.$shell"
    done
    tar -C "$folder" -czf "$folder/$archive" "$name"
    (cd "$folder" && sha256sum "$archive" | tee "$archive.sha256")
    printf 'release: the program has %d bytes; the library needs %s\n' "$size" \
        "$(readelf --version-info --wide "$folder/$name/lib/racetrap/libracetrap_cuda.so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)"
}

# Runs what was unpacked, with nothing of this user's: [STATUS] ARGUMENTS OF racetrap
expect() {
    local wanted=$1 got=0
    shift
    env -i HOME="$work/home" PATH="$PATH" "${toolkit[@]}" "$work/$name/bin/racetrap" "$@" >"$work/out.txt" 2>&1 || got=$?
    ((got == wanted)) || {
        cat "$work/out.txt" >&2
        fail "racetrap $* ends with status $got, not $wanted"
    }
}
says() {
    grep -qF -- "$1" "$work/out.txt" || {
        cat "$work/out.txt" >&2
        fail "does not say: $1"
    }
}

try_out() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/racetrap-release.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    toolkit=()
    mkdir "$work/home"
    cp "$folder/$archive"* "$work"
    (cd "$work" && sha256sum --quiet -c "$archive.sha256" && tar -xzf "$archive")
    cp "$scene"/*.cu "$scene"/*.ptx "$work"
    cd "$work"
    expect 0 --version
    says "racetrap $version"
    expect 0 check kernel.ptx
    says 'clean kernel.ptx: scan(int*, int)'
    expect 0 run histogram
    expect 0 grade --schema
    [[ -s $name/share/man/man1/racetrap-check.1 && -s $name/share/racetrap.fish ]] || fail 'no manual or completions'
    # The library is where the program looks for it: with it, a program that launches nothing is inconclusive (3); without it, an error (2).
    expect 3 exec --quiet -- true
    in_an_empty_root
    programs
}

# A root with the program and a kernel in it, and nothing else: no C library, no /proc, no /tmp.
in_an_empty_root() {
    mkdir -p empty/bin
    cp "$name/bin/racetrap" empty/bin/
    cp both.ptx empty/
    local enter=(chroot empty) got=0
    ((EUID == 0)) || enter=(unshare --user --map-root-user chroot empty)
    "${enter[@]}" /bin/racetrap check both.ptx --entry plain --block 64 >out.txt 2>&1 || got=$?
    ((got == 1)) || {
        cat out.txt >&2
        fail "in an empty root, racetrap check ends with status $got"
    }
    says 'error[data-race]'
}

# Whole programs: built here, run with what was unpacked.
programs() {
    local nvcc
    if nvcc=$(command -v nvcc || ls "$scene/../../../.toolchain/cuda/bin/nvcc" 2>/dev/null); then
        toolkit=(CUDA_PATH="$(dirname "$(dirname "$nvcc")")")
    else
        echo 'release: no nvcc (ci/cuda-toolkit.sh): no whole program was run' >&2
        return
    fi
    expect 0 build -- nvcc -o prog prog.cu
    expect 0 build -- nvcc -o reverse reverse.cu
    # From here on without a compiler.
    toolkit=(CUDA_PATH=)
    expect 0 exec -- ./prog 1024
    says 6285312
    says 'clean ./prog: 12 launches of 1 kernel'
    expect 1 exec -- ./reverse
    says 'error[data-race]'
    echo 'release: whole programs run'
}

build
pack
try_out
printf 'release: %s passed in %d s\n' "$folder/$archive" "$SECONDS"
